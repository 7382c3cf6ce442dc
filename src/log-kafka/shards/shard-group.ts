/**
 * Assigns shards, which are sets of rows with one writing process at a time, to processes through a consumer group. The
 * assignment is a hint: the records in a shard's partition decide which process owns it (`valid-records.ts`).
 */
import { GroupMember, type GroupPlace } from '../group/group-member.ts'
import { shardAssigner } from './shard-assigner.ts'

/** A group over the shards of one topic, and what receives the assignments. */
export interface ShardAssignment extends GroupPlace {
  count: number
  /** The shards that this process holds now. */
  held(): readonly number[]
  /** These shards, and no others, are assigned to this process. Other processes may be waiting for the rest. */
  assigned(shards: readonly number[]): void
  /**
   * No shard is assigned to this process any more; others may acquire them at once. `heardMs`: when the group last
   * answered, ms since 1970.
   */
  expelled(reason: string, heardMs: number): void
}

/** Reports which shards are assigned to this process until the signal aborts, then lets others have them. Never rejects. */
export type AssignShards = (parts: ShardAssignment, signal: AbortSignal) => Promise<void>

/** Assigns shards in a consumer group. While the group is silent for a session, none is assigned. */
export const assignInGroup: AssignShards = (parts, signal) => {
  const events = {
    unavailable: 'shards.group_unavailable',
    recovered: 'shards.group_recovered',
    rebalancing: 'shards.rebalancing',
  } as const
  const member = new GroupMember(
    { ...parts, events, doing: 'sharing shards' },
    shardAssigner(parts.count, parts.held),
    {
      assigned: (_memberId, shards) => parts.assigned(shards),
      lost: parts.expelled,
    },
  )
  return member.run(signal)
}
