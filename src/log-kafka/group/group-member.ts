/**
 * Keeps this process in a consumer group whose members divide partitions without reading them: joins, sends heartbeats,
 * leaves, and rejoins after failures. Leader election and the assignment of shards use such groups.
 */
import type { Consumer, ConsumerGroupJoinEvent, PartitionAssigner } from 'kafkajs'
import { messageOf } from '../../errors.ts'
import { type Clock, sleep } from '../../lifecycle/clock.ts'
import type { LogEvent } from '../../obs/log-events.ts'
import type { Logger } from '../../obs/logger.ts'
import type { KafkaSession, OpenSession } from '../client/client.ts'
import { isUnknownTopic, unavailable } from '../client/faults.ts'
import { abortable, withTimeout } from '../client/with-timeout.ts'

/** Silence after which the brokers assign the partitions to other members, ms; their usual minimum. */
export const SESSION_MS = 6_000
/** kafkajs sends heartbeats between fetches, so one is due at the first end of a fetch after this, ms. */
const HEARTBEAT_MS = 300
/** Longest wait of a fetch, and so of a member that leaves, ms. */
const FETCH_WAIT_MS = 200
/**
 * How long a rebalance waits for members that do not answer, ms: ten heartbeats. A restarted broker waits as long for its
 * former members that `#removeFormer` did not reach; polling is to resume within five seconds.
 */
const REBALANCE_MS = 3_000
const REMOVE_RETRY_MS = 100
/**
 * Silence of the group after which the member rejoins, ms. A slow join waits for the session of a crashed member and for
 * the next rebalance. kafkajs may wait for ever for a response on a closed connection.
 */
const LONGEST_SILENCE_MS = 2 * SESSION_MS + REBALANCE_MS
/** Low, so that recovered brokers soon have members. */
const REJOIN_MS = 500
/** Leaving takes 0.2–0.3 s; otherwise the session's timeout ends the membership. */
const LEAVE_LIMIT_MS = 2_000

/** A group, and the topic whose partitions its members divide. */
export interface GroupPlace {
  openSession: OpenSession
  clock: Clock
  logger: Logger
  groupId: string
  topic: string
  /** Makes the topic again where it was deleted: nobody can join without it. */
  createTopic?: () => Promise<void>
}

/** The purpose of a membership, for logs. */
export interface GroupPurpose {
  /** Log events of the first failure, of the next join, and of a rebalance. */
  events: { unavailable: LogEvent; recovered: LogEvent; rebalancing: LogEvent }
  /** What the member does in the group, e.g. "standing for leader". */
  doing: string
}

/** Receives the partitions of a member. */
export interface AssignmentListener {
  /** The group has assigned these partitions; after a `lost` by silence it confirms the same ones again. */
  assigned(memberId: string, partitions: readonly number[]): void
  /** Other members may hold the partitions now. `heardMs`: when the group last answered, ms since 1970. */
  lost(reason: string, heardMs: number): void
}

/** One member of a group. Its partitions count as lost when the group has not answered for a session. */
export class GroupMember {
  readonly #place: GroupPlace & GroupPurpose
  readonly #assigner: PartitionAssigner
  readonly #listener: AssignmentListener
  /** The id of the last membership, which the brokers may still know. */
  #memberId: string | null = null
  #heardMs: number
  /** The partitions of the last join; null while others join, and outside the group. */
  #assignment: readonly number[] | null = null
  /** The listener knows of the assignment, and silence has not ended it. */
  #isConfirmed = false
  #isFailing = false
  /** The connection of the present membership, and when it ends. */
  #connection: { session: KafkaSession; ended: AbortSignal } | null = null
  #cancelLease = (): void => undefined

  constructor(place: GroupPlace & GroupPurpose, assigner: PartitionAssigner, listener: AssignmentListener) {
    this.#place = place
    this.#assigner = assigner
    this.#listener = listener
    this.#heardMs = place.clock.now()
  }

  /** Stays in the group until the signal aborts, and rejoins after each failure. Never rejects. */
  async run(leaving: AbortSignal): Promise<void> {
    const { clock, logger, events, doing } = this.#place
    while (!leaving.aborted) {
      try {
        await this.#stay(leaving)
      } catch (error) {
        if (!this.#isFailing) logger.warn(events.unavailable, { error: unavailable(doing, error) })
        this.#isFailing = true
        this.#suspend()
        this.#listener.lost(messageOf(error), this.#heardMs)
        if (isUnknownTopic(error)) await this.#createTopic(leaving)
        await sleep(clock, REJOIN_MS, leaving)
      }
    }
    this.#suspend()
  }

  /** Reports the loss of the partitions if the session is over but its timer is late, because the clock was set. */
  checkSession(): void {
    if (this.#place.clock.now() - this.#heardMs >= SESSION_MS) this.#expire()
  }

  /**
   * Lets the group read this member's metadata again: leaves it, and kafkajs joins as soon as it hears of that. Does
   * nothing while a join is under way, which sends the metadata anyway.
   */
  rejoin(): void {
    if (this.#connection === null || this.#memberId === null || this.#assignment === null) return
    const { session, ended } = this.#connection
    void this.#remove(this.#memberId, session, ended)
  }

  /** Is a member until the signal aborts, then leaves. Throws whatever ended the membership before. */
  async #stay(leaving: AbortSignal): Promise<void> {
    const { openSession, clock, groupId, topic, logger, events } = this.#place
    const session = openSession()
    const consumer = session.kafka.consumer({
      groupId,
      sessionTimeout: SESSION_MS,
      rebalanceTimeout: REBALANCE_MS,
      heartbeatInterval: HEARTBEAT_MS,
      maxWaitTimeInMs: FETCH_WAIT_MS,
      allowAutoTopicCreation: false,
      partitionAssigners: [this.#assigner],
      retry: { restartOnFailure: async () => false },
    })
    const failed = Promise.withResolvers<never>()
    failed.promise.catch(() => undefined)
    let cancelSilence = (): void => undefined
    const restartSilence = (): void => {
      cancelSilence()
      const silent = new Error(`nothing was heard for ${LONGEST_SILENCE_MS / 1000} s`)
      cancelSilence = clock.after(LONGEST_SILENCE_MS, () => failed.reject(silent))
    }
    /** Handles a response of the group, unless this member leaves. */
    const onResponse =
      <E>(handle: (event: E) => void) =>
      (event: E): void => {
        if (leaving.aborted) return
        restartSilence()
        handle(event)
      }
    restartSilence()
    consumer.on(consumer.events.CRASH, ({ payload }) => failed.reject(payload.error))
    const onJoin = ({ payload }: ConsumerGroupJoinEvent): void =>
      this.#onJoined(payload.memberId, payload.memberAssignment[topic] ?? [])
    consumer.on(consumer.events.GROUP_JOIN, onResponse(onJoin))
    consumer.on(
      consumer.events.HEARTBEAT,
      onResponse(() => this.#onHeard()),
    )
    const onRebalancing = (): void => {
      logger.debug(events.rebalancing)
      // A join takes as long as the slowest member; the group knows that this one is alive.
      this.#suspend()
    }
    consumer.on(consumer.events.REBALANCING, onResponse(onRebalancing))
    const ended = new AbortController()
    this.#connection = { session, ended: ended.signal }
    // Restarted brokers remember this process's former membership, and the group would wait a session for it.
    if (this.#memberId !== null) void this.#remove(this.#memberId, session, ended.signal)
    const joined = join(consumer, topic)
    const leave = async (): Promise<void> => {
      // kafkajs leaves only after it has joined; without leaving, the others wait for this member.
      await Promise.race([joined, failed.promise])
      await consumer.stop()
    }
    try {
      await abortable(leaving, Promise.race([failed.promise, joined.then(() => failed.promise)]))
    } catch (error) {
      if (!leaving.aborted) throw error
      // A failure ends with the session, and the group removes this member when its session is over.
      await withTimeout(clock, LEAVE_LIMIT_MS, new AbortController().signal, leave()).catch(() => undefined)
    } finally {
      cancelSilence()
      this.#connection = null
      ended.abort()
      session.end()
      // kafkajs may take a consumer for joined that is not: it would look for something to fetch for ever.
      joined.then(() => consumer.stop()).catch(() => undefined)
    }
  }

  /** Never throws: without the topic the next join fails too, and this is tried again. */
  async #createTopic(leaving: AbortSignal): Promise<void> {
    const { createTopic } = this.#place
    if (createTopic !== undefined) await abortable(leaving, createTopic()).catch(() => undefined)
  }

  #onJoined(memberId: string, partitions: readonly number[]): void {
    const { logger, events, groupId } = this.#place
    if (this.#isFailing) logger.info(events.recovered, { name: groupId })
    this.#isFailing = false
    this.#memberId = memberId
    this.#assignment = partitions
    this.#isConfirmed = false
    this.#onHeard()
  }

  /** A response proves the membership and the last assignment, also after a silence. */
  #onHeard(): void {
    const { clock } = this.#place
    this.#heardMs = clock.now()
    this.#cancelLease()
    this.#cancelLease = clock.after(SESSION_MS, () => this.#expire())
    if (this.#isConfirmed || this.#assignment === null) return
    this.#isConfirmed = true
    this.#listener.assigned(this.#memberId ?? '', this.#assignment)
  }

  #expire(): void {
    this.#cancelLease()
    this.#isConfirmed = false
    this.#listener.lost('the group has not answered for a session', this.#heardMs)
  }

  #suspend(): void {
    this.#cancelLease()
    this.#assignment = null
    this.#isConfirmed = false
  }

  /** Removes a membership of this process from the group. Never throws: the group's own time limits have the same result. */
  async #remove(memberId: string, { partitions }: KafkaSession, ended: AbortSignal): Promise<void> {
    const { clock, groupId } = this.#place
    const untilMs = clock.now() + SESSION_MS
    while (!ended.aborted && clock.now() < untilMs) {
      try {
        return await partitions.leaveGroup(groupId, memberId)
      } catch {
        // Kafka is unavailable, or has not loaded the group yet; the join reports it.
        await sleep(clock, REMOVE_RETRY_MS, ended)
      }
    }
  }
}

/** Joins; resolves when the group has answered, or the consumer has crashed. */
async function join(consumer: Consumer, topic: string): Promise<void> {
  await consumer.connect()
  await consumer.subscribe({ topic })
  await consumer.run({ autoCommit: false, eachBatch: async () => undefined })
  // Members only send heartbeats.
  consumer.pause([{ topic }])
}
