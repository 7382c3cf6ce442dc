/**
 * Assigns shards to the members of a consumer group evenly, give or take one, and takes a shard only from a member with too
 * many.
 */
import type { PartitionAssigner } from 'kafkajs'
import { groupAssigner } from '../group/group-protocol.ts'

/** The shards of each member, given those that each claims to hold; of two that claim the same one, the first by id counts. */
export function assignShards(
  members: ReadonlyMap<string, readonly number[]>,
  count: number,
): Map<string, number[]> {
  const free = new Set(Array.from({ length: count }, (_, shard) => shard))
  const holding = [...members]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([id, held]) => ({ id, shards: [...new Set(held)].filter((shard) => free.delete(shard)) }))
    .toSorted((one, other) => other.shards.length - one.shards.length)
  // The members that hold most may hold one more than the others.
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

/** kafkajs's assigner for that rule; `held` is read at every join. */
export function shardAssigner(count: number, held: () => readonly number[]): PartitionAssigner {
  return groupAssigner({
    name: 'bridge-lanes',
    metadata: held,
    assign: (metadata) =>
      assignShards(new Map([...metadata].map(([id, bytes]) => [id, readHeld(bytes)])), count),
  })
}

/** The shards in a member's metadata; none where another version or program wrote something unreadable. */
export function readHeld(userData: Buffer | undefined): number[] {
  try {
    const held: unknown = JSON.parse(`${userData}`)
    return Array.isArray(held) ? held.filter((shard) => Number.isInteger(shard)) : []
  } catch {
    return []
  }
}
