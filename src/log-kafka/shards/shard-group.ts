/**
 * Which shards should be this process's: those that a consumer group gives it. Owns staying in the group. Refuses to be a
 * lock: what the group says is a hint, and the shard's own records say who owns it (`valid-records.ts`).
 */
import type { Logger } from '../../obs/logger.ts'
import { type GroupPlace, SESSION_MS, type StandingMembership, stayMember } from '../group/group-member.ts'
import { shardAssigner } from './shard-assigner.ts'

/** What sharing needs. */
export interface ShardShare extends GroupPlace {
  logger: Logger
  count: number
  /** The shards that this process holds now. */
  held(): readonly number[]
  /** Told of the shards that should be this process's from now on. The others go to members that may be waiting for them. */
  assigned(shards: readonly number[]): void
  /**
   * Told that no shard is this process's, at once, and why: others may have them already. `heardMs`: when the group was last
   * heard, ms since 1970.
   */
  expelled(reason: string, heardMs: number): void
}

/** Says which shards should be this process's, until the signal aborts; then lets others have them. Never rejects. */
export type ShareShards = (parts: ShardShare, signal: AbortSignal) => Promise<void>

/** Shares shards in a consumer group. While the group is not heard for a session, none is this process's. */
export const shareInGroup: ShareShards = async (parts, signal) => {
  const { clock, assigned, expelled } = parts
  let formerId: string | null = null
  let heardMs = clock.now()
  let cancelLease = (): void => undefined
  /** What the last join gave; null where it counts no longer. */
  let given: readonly number[] | null = null
  /** `assigned` was told of it, and silence has not taken it back. */
  let isTold = false

  const heard = (): void => {
    heardMs = clock.now()
    cancelLease()
    const silent = (): void => {
      isTold = false
      expelled('the group has not answered for a session', heardMs)
    }
    cancelLease = clock.after(SESSION_MS, silent)
    // The answer proves the member and its last join: what was lost in silence is given again by no other join.
    if (isTold || given === null) return
    isTold = true
    assigned(given)
  }
  const membership: StandingMembership = {
    assigner: shardAssigner(parts.count, parts.held),
    formerId: () => formerId,
    joined(memberId, shards) {
      formerId = memberId
      given = shards
      isTold = false
      heard()
    },
    heard,
    // Others are joining, which may take as long as the slowest of them; the group knows that this one lives.
    rebalancing() {
      given = null
      cancelLease()
    },
    ended(reason) {
      given = null
      cancelLease()
      expelled(reason, heardMs)
    },
  }
  const place = {
    ...parts,
    events: { away: 'shards.group_away', back: 'shards.group_back' },
    doing: 'sharing shards',
  }
  await stayMember(place, membership, signal)
  cancelLease()
}
