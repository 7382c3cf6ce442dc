/**
 * Which lanes should be this process's: those that a consumer group gives it. Owns staying in the group. Refuses to be a
 * lock: what the group says is a hint, and the lane's own records say who owns it (`lane-fold.ts`).
 */
import { messageOf } from '../../errors.ts'
import { sleep } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import { unavailable } from './faults.ts'
import { beMember, type GroupPlace, SESSION_MS } from './group-member.ts'
import { laneAssigner } from './lane-assigner.ts'

/** Low, because brokers that are back should have owners soon. */
const REJOIN_MS = 500

/** What sharing needs. */
export interface LaneShare extends GroupPlace {
  logger: Logger
  count: number
  /** The lanes that this process holds now. */
  held(): readonly number[]
  /** Told of the lanes that should be this process's from now on, and why where it is none of them any more. */
  assigned(lanes: readonly number[], reason: string): void
}

/** Says which lanes should be this process's, until the signal aborts; then lets others have them. Never rejects. */
export type ShareLanes = (parts: LaneShare, signal: AbortSignal) => Promise<void>

/** Shares lanes in a consumer group. While the group is not heard for a session, none is this process's. */
export const shareInGroup: ShareLanes = async (parts, signal) => {
  const { clock, logger, assigned } = parts
  let formerId: string | null = null
  let cancelLease = (): void => undefined
  let failing = false

  const heard = (): void => {
    cancelLease()
    cancelLease = clock.after(SESSION_MS, () => assigned([], 'the group has not answered for a session'))
  }
  const membership = {
    assigner: laneAssigner(parts.count, parts.held),
    formerId: () => formerId,
    joined(memberId: string, lanes: readonly number[]) {
      if (failing) logger.info('lanes.group_back', { name: parts.groupId })
      failing = false
      formerId = memberId
      heard()
      assigned(lanes, 'the group has given it to another process')
    },
    heard,
    // Others are joining, which may take as long as the slowest of them; the group knows that this one lives.
    rebalancing: () => cancelLease(),
  }
  while (!signal.aborted) {
    try {
      await beMember(parts, membership, signal)
    } catch (error) {
      if (!failing) logger.warn('lanes.group_away', { error: unavailable('sharing lanes', error) })
      failing = true
      assigned([], messageOf(error))
      await sleep(clock, REJOIN_MS, signal)
    } finally {
      cancelLease()
    }
  }
}
