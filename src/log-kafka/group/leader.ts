/**
 * Elects the leader: the member of a consumer group to which the only partition of a dedicated topic is assigned. This is no
 * lock: two processes may believe for a moment that they lead. Only fencing by transactional id (`writer/claim.ts`) prevents
 * that both write.
 */
import type { ReplicaStanding, Term } from '../../log/events.ts'
import { abortable } from '../client/with-timeout.ts'
import { GroupMember, type GroupPlace } from './group-member.ts'
import { leaderAssigner } from './leader-assigner.ts'

/** Decides when this process should lead. */
export type Elections = Pick<GroupElections, 'campaign' | 'stillHolds' | 'close'>

/** Opens elections in a group over a topic with one partition, to which nothing is ever written. */
export type OpenElections = (place: GroupPlace) => Elections

/** Elections in a consumer group. Nothing connects before the first campaign. */
export const groupElections: OpenElections = (place) => new GroupElections(place)

const COMPLETE: ReplicaStanding = { missing: 0, untilComplete: async () => undefined }

/** The partition, from the join that assigned it until it is lost. */
interface Tenure {
  lost: AbortController
  /** A member that rejoined under another id has lost it in between. */
  memberId: string
}

class GroupElections {
  readonly #place: GroupPlace
  readonly #member: GroupMember
  #sinceMs = 0
  #replica: ReplicaStanding = COMPLETE
  /** What the last join reported of the replica. */
  #reportedMissing = 0
  /** It waits for the replica, to rejoin then. */
  #isWaiting = false
  #tenure: Tenure | null = null
  #won = Promise.withResolvers<Tenure>()
  #candidacy: { leaving: AbortController; left: Promise<void> } | null = null
  #isClosed = false

  constructor(place: GroupPlace) {
    this.#place = place
    const assigner = leaderAssigner(() => {
      this.#reportedMissing = this.#replica.missing
      return { holds: this.stillHolds(), sinceMs: this.#sinceMs, missing: this.#reportedMissing }
    })
    const events = {
      unavailable: 'leader.group_unavailable',
      recovered: 'leader.group_recovered',
      rebalancing: 'leader.rebalancing',
    } as const
    this.#member = new GroupMember({ ...place, events, doing: 'standing for leader' }, assigner, {
      assigned: (memberId, partitions) => this.#onAssigned(memberId, partitions.includes(0)),
      lost: (reason) => this.#lose(reason),
    })
  }

  /**
   * Resolves when this process should lead; it is a candidate from this call until the term is ended or the signal
   * aborts. During a term, another call resolves with the same one. `replica` is that of this process.
   * @throws the signal's reason
   */
  async campaign(signal: AbortSignal, replica: ReplicaStanding = COMPLETE): Promise<Term> {
    signal.throwIfAborted()
    this.#replica = replica
    if (!this.#isClosed) this.#join()
    try {
      let tenure = await abortable(signal, this.#won.promise)
      while (tenure !== this.#tenure) tenure = await abortable(signal, this.#won.promise)
      return {
        lost: tenure.lost.signal,
        end: async () => {
          if (this.#tenure === tenure) await this.#leave()
        },
      }
    } catch (error) {
      await this.#leave()
      throw error
    }
  }

  /** False when the group has been silent for so long that another member may hold the partition. */
  stillHolds(): boolean {
    this.#member.checkSession()
    return this.#tenure !== null
  }

  /** Leaves the group for good. Callable twice. */
  close(): Promise<void> {
    this.#isClosed = true
    return this.#leave()
  }

  #onAssigned(memberId: string, isLeader: boolean): void {
    if (this.#tenure !== null && this.#tenure.memberId !== memberId) {
      this.#lose('the group has forgotten this process')
    }
    if (!isLeader) {
      this.#lose('the group has given the partition to another process')
      return this.#rejoinOnceComplete()
    }
    if (this.#tenure !== null) return
    this.#tenure = { lost: new AbortController(), memberId }
    this.#place.logger.info('leader.elected', { name: memberId })
    this.#won.resolve(this.#tenure)
  }

  #lose(reason: string): void {
    if (this.#tenure === null) return
    const { lost } = this.#tenure
    this.#tenure = null
    this.#won = Promise.withResolvers<Tenure>()
    this.#place.logger.info('leader.lost', { reason })
    lost.abort()
  }

  /** Rejoins once a replica is complete that was not at the last join, so that an incomplete leader gives way. */
  #rejoinOnceComplete(): void {
    const leaving = this.#candidacy?.leaving.signal
    if (this.#reportedMissing === 0 || leaving === undefined || this.#isWaiting) return
    this.#isWaiting = true
    void this.#replica.untilComplete(leaving).then(() => {
      this.#isWaiting = false
      if (!leaving.aborted && this.#tenure === null && this.#reportedMissing > 0) this.#member.rejoin()
    })
  }

  #join(): void {
    if (this.#candidacy !== null && !this.#candidacy.leaving.signal.aborted) return
    this.#sinceMs = this.#place.clock.now()
    const leaving = new AbortController()
    const before = this.#candidacy?.left ?? Promise.resolve()
    this.#candidacy = { leaving, left: before.then(() => this.#member.run(leaving.signal)) }
  }

  async #leave(): Promise<void> {
    if (this.#candidacy === null) return
    const { leaving, left } = this.#candidacy
    // In this order: a response that comes now must not begin another term.
    leaving.abort()
    this.#lose('this process steps down')
    await left
  }
}
