/**
 * Which member of the group gets which lanes. Owns the rule: everybody gets as many as the others, give or take one, and a
 * lane leaves its holder only where that has too many. Pure.
 */
import type { PartitionAssigner } from 'kafkajs'
import { groupAssigner } from '../group/group-protocol.ts'

/** The lanes of each member, given what each says that it holds; of two who say it of one lane, the first by id counts. */
export function shareLanes(
  members: ReadonlyMap<string, readonly number[]>,
  count: number,
): Map<string, number[]> {
  const free = new Set(Array.from({ length: count }, (_, lane) => lane))
  const holding = [...members]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([id, said]) => ({ id, lanes: [...new Set(said)].filter((lane) => free.delete(lane)) }))
    .toSorted((one, other) => other.lanes.length - one.lanes.length)
  // Those who hold most may hold one more than the others.
  const fair = (place: number): number =>
    Math.floor(count / members.size) + (place < count % members.size ? 1 : 0)
  for (const [place, { lanes }] of holding.entries()) {
    for (const lane of lanes.splice(fair(place))) free.add(lane)
  }
  const waiting = [...free].sort((one, other) => one - other)
  for (const [place, { lanes }] of holding.entries()) {
    lanes.push(...waiting.splice(0, fair(place) - lanes.length))
  }
  return new Map(holding.map(({ id, lanes }) => [id, lanes]))
}

/** kafkajs's assigner by that rule; `held` is asked at every join. */
export function laneAssigner(count: number, held: () => readonly number[]): PartitionAssigner {
  return groupAssigner({
    name: 'bridge-lanes',
    say: held,
    share: (said) => shareLanes(new Map([...said].map(([id, text]) => [id, readHeld(text)])), count),
  })
}

/** Members of another version, or of another program, may write anything: what is not readable holds nothing. */
export function readHeld(userData: Buffer | undefined): number[] {
  try {
    const said: unknown = JSON.parse(String(userData))
    return Array.isArray(said) ? said.filter((lane) => Number.isInteger(lane)) : []
  } catch {
    return []
  }
}
