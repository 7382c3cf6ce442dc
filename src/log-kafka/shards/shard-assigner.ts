/**
 * Which member of the group gets which shards. Owns the rule: everybody gets as many as the others, give or take one, and a
 * shard leaves its holder only where that has too many. Pure.
 */
import type { PartitionAssigner } from 'kafkajs'
import { groupAssigner } from '../group/group-protocol.ts'

/** The shards of each member, given what each says that it holds; of two who say it of one shard, the first by id counts. */
export function shareShards(
  members: ReadonlyMap<string, readonly number[]>,
  count: number,
): Map<string, number[]> {
  const free = new Set(Array.from({ length: count }, (_, shard) => shard))
  const holding = [...members]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([id, said]) => ({ id, shards: [...new Set(said)].filter((shard) => free.delete(shard)) }))
    .toSorted((one, other) => other.shards.length - one.shards.length)
  // Those who hold most may hold one more than the others.
  const fair = (place: number): number =>
    Math.floor(count / members.size) + (place < count % members.size ? 1 : 0)
  for (const [place, { shards }] of holding.entries()) {
    for (const shard of shards.splice(fair(place))) free.add(shard)
  }
  const waiting = [...free].sort((one, other) => one - other)
  for (const [place, { shards }] of holding.entries()) {
    shards.push(...waiting.splice(0, fair(place) - shards.length))
  }
  return new Map(holding.map(({ id, shards }) => [id, shards]))
}

/** kafkajs's assigner by that rule; `held` is asked at every join. */
export function shardAssigner(count: number, held: () => readonly number[]): PartitionAssigner {
  return groupAssigner({
    name: 'bridge-lanes',
    say: held,
    share: (said) => shareShards(new Map([...said].map(([id, text]) => [id, readHeld(text)])), count),
  })
}

/** Members of another version, or of another program, may write anything: what is not readable holds nothing. */
export function readHeld(userData: Buffer | undefined): number[] {
  try {
    const said: unknown = JSON.parse(String(userData))
    return Array.isArray(said) ? said.filter((shard) => Number.isInteger(shard)) : []
  } catch {
    return []
  }
}
