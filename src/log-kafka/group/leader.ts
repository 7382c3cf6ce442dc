/**
 * Who should lead: the member of a consumer group that holds the one partition of its topic. Owns the beginning
 * and the end of terms. Refuses to be a lock: two processes may believe that they lead for a moment, and only
 * the transactional id (`claim.ts`) keeps the second from writing.
 */

import type { Term } from '../../log/events.ts'
import type { Logger } from '../../obs/logger.ts'
import { abortable } from '../client/with-timeout.ts'
import { type GroupPlace, SESSION_MS, type StandingMembership, stayMember } from './group-member.ts'
import { leaderAssigner } from './leader-assigner.ts'

/** Decides when this process should lead. */
export interface Elections {
  /**
   * Resolves when this process should lead; it is a candidate from the call on, until the term is ended or the signal
   * aborts. While a term stands, another call gives the same.
   * @throws the signal's reason
   */
  campaign(signal: AbortSignal): Promise<Term>
  /** False when this process has not heard from the group for so long that another member may hold the partition. */
  stillHolds(): boolean
  /** Leaves the group for good. Callable twice. */
  close(): Promise<void>
}

/** What elections are made of; the topic has one partition, and nothing is ever written to it. */
export interface ElectionParts extends GroupPlace {
  logger: Logger
}

/** Opens elections. */
export type OpenElections = (parts: ElectionParts) => Elections

/** The partition, from the join that gave it until it is lost. */
interface Tenure {
  lost: AbortController
  /** A member that came back under another id has lost it in between. */
  memberId: string
}

/** Elections in a consumer group. Nothing connects before the first campaign. */
export function groupElections(parts: ElectionParts): Elections {
  const { clock, logger } = parts
  let sinceMs = 0
  let tenure: Tenure | null = null
  let heardMs = 0
  /** This process as the member that got the partition in the last join; null where it did not, or that counts no longer. */
  let givenTo: string | null = null
  let formerId: string | null = null
  let cancelLease = (): void => undefined
  let won = Promise.withResolvers<Tenure>()
  let candidacy: { leaving: AbortController; left: Promise<void> } | null = null
  let closed = false

  const recent = (): boolean => clock.now() - heardMs < SESSION_MS
  const lose = (reason: string): void => {
    cancelLease()
    if (tenure === null) return
    const { lost } = tenure
    tenure = null
    won = Promise.withResolvers<Tenure>()
    logger.info('leader.lost', { reason })
    lost.abort()
  }
  /** An answer proves the member and its last join: a term that only ended in silence is followed by another. */
  const heard = (): void => {
    heardMs = clock.now()
    cancelLease()
    if (givenTo === null) return
    cancelLease = clock.after(SESSION_MS, () => lose('the group has not answered for a session'))
    if (tenure !== null) return
    tenure = { lost: new AbortController(), memberId: givenTo }
    logger.info('leader.won', { name: givenTo })
    won.resolve(tenure)
  }
  const joined = (memberId: string, partitions: readonly number[]): void => {
    formerId = memberId
    givenTo = partitions.includes(0) ? memberId : null
    if (tenure !== null && tenure.memberId !== memberId) lose('the group has forgotten this process')
    if (givenTo === null) lose('the group has given the partition to another process')
    heard()
  }
  const membership: StandingMembership = {
    assigner: leaderAssigner(() => {
      if (!recent()) lose('the group has not been heard for a session')
      return { holds: tenure !== null, sinceMs }
    }),
    formerId: () => formerId,
    joined,
    heard,
    // Others are joining, which may take as long as the slowest of them; the group knows that this one lives.
    rebalancing() {
      logger.debug('leader.rebalancing')
      givenTo = null
      cancelLease()
    },
    ended(reason) {
      givenTo = null
      lose(reason)
    },
  }
  const place = {
    ...parts,
    events: { away: 'leader.group_away', back: 'leader.group_back' },
    doing: 'standing for leader',
  }
  const leave = async (): Promise<void> => {
    if (candidacy === null) return
    const { leaving, left } = candidacy
    givenTo = null
    lose('this process steps down')
    leaving.abort()
    await left
  }
  const stand = (): void => {
    if (candidacy !== null && !candidacy.leaving.signal.aborted) return
    sinceMs = clock.now()
    const leaving = new AbortController()
    const before = candidacy?.left ?? Promise.resolve()
    candidacy = { leaving, left: before.then(() => stayMember(place, membership, leaving.signal)) }
  }

  return {
    async campaign(signal) {
      signal.throwIfAborted()
      if (!closed) stand()
      try {
        let mine = await abortable(signal, won.promise)
        while (mine !== tenure) mine = await abortable(signal, won.promise)
        return {
          lost: mine.lost.signal,
          end: async () => {
            if (tenure === mine) await leave()
          },
        }
      } catch (error) {
        await leave()
        throw error
      }
    },
    stillHolds() {
      if (!recent()) lose('the group has not been heard for a session')
      return tenure !== null
    },
    close() {
      closed = true
      return leave()
    },
  }
}
