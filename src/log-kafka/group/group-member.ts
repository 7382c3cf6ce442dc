/**
 * A member of a consumer group whose members share partitions without reading them. Owns joining, beating and leaving, and
 * coming back after faults.
 * Refuses to know what holding a partition means: `leader.ts` and `shard-group.ts` do.
 */
import type { Consumer, PartitionAssigner } from 'kafkajs'
import { messageOf } from '../../errors.ts'
import { type Clock, sleep } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import type { KafkaSession, OpenSession } from '../client/client.ts'
import { unavailable } from '../client/faults.ts'
import { abortable, withTimeout } from '../client/with-timeout.ts'

/** Silence after which the brokers give the partitions to other members, ms; their usual minimum. */
export const SESSION_MS = 6_000
/** kafkajs beats between fetches, so a beat comes at the first end of a fetch after this, ms. */
const HEARTBEAT_MS = 300
/** Who leaves waits for the end of one, ms. */
const FETCH_WAIT_MS = 200
/**
 * How long a rebalance waits for members that do not answer, ms: ten beats. A broker that comes back waits as long for
 * the members that it had, where they could not be taken out; polling is to go on within five seconds.
 */
const REBALANCE_MS = 3_000
/** Between two tries to take out the member that this process was, ms. */
const TAKE_OUT_PAUSE_MS = 100
/**
 * Who hears nothing from the group for so long begins anew, ms. A join that takes long waits for the session of a member
 * that died in it, and then for the next rebalance. kafkajs may wait for ever for an answer on a connection that has ended.
 */
const LONGEST_SILENCE_MS = 2 * SESSION_MS + REBALANCE_MS
/** Low, because brokers that are back should have members soon. */
const REJOIN_MS = 500
/** Leaving takes 0.2–0.3 s; the session's end does it otherwise. */
const LEAVE_LIMIT_MS = 2_000

/** Where the group is. */
export interface GroupPlace {
  openSession: OpenSession
  clock: Clock
  groupId: string
  /** Whose partitions are shared. */
  topic: string
}

/** What a member asks and tells. */
export interface Membership {
  /** Who gets which partition. */
  assigner: PartitionAssigner
  /** Under which id this process was a member before and did not leave; null where it was none. */
  formerId(): string | null
  /** The group has answered a join: the partitions that this member holds. */
  joined(memberId: string, partitions: readonly number[]): void
  /** The group has answered a beat. */
  heard(): void
  /** Others are joining; the next word is `joined`. */
  rebalancing(): void
}

/** How a member tells of faults that last. */
export interface GroupWords {
  logger: Logger
  /** Of the first fault, and of the first join after it. */
  events: { away: string; back: string }
  /** What it does in the group, for the operator. */
  doing: string
}

/** What somebody asks and tells who stays in the group over faults. */
export interface StandingMembership extends Membership {
  /** It is a member no longer, and why. */
  ended(reason: string): void
}

/** Is a member of the group, anew after each fault, until the signal aborts. Never rejects. */
export async function stayMember(
  place: GroupPlace & GroupWords,
  membership: StandingMembership,
  leaving: AbortSignal,
): Promise<void> {
  const { clock, logger, events, doing, groupId } = place
  /** The group cannot be reached, and the log knows. */
  let failing = false
  const joined: Membership['joined'] = (memberId, partitions) => {
    if (failing) logger.info(events.back, { name: groupId })
    failing = false
    membership.joined(memberId, partitions)
  }
  while (!leaving.aborted) {
    try {
      await beMember(place, { ...membership, joined }, leaving)
    } catch (error) {
      if (!failing) logger.warn(events.away, { error: unavailable(doing, error) })
      failing = true
      membership.ended(messageOf(error))
      await sleep(clock, REJOIN_MS, leaving)
    }
  }
}

/**
 * Is a member of the group until the signal aborts, then leaves it.
 * @throws whatever ended the membership before
 */
export async function beMember(
  { openSession, clock, groupId, topic }: GroupPlace,
  membership: Membership,
  leaving: AbortSignal,
): Promise<void> {
  const session = openSession()
  const consumer = session.kafka.consumer({
    groupId,
    sessionTimeout: SESSION_MS,
    rebalanceTimeout: REBALANCE_MS,
    heartbeatInterval: HEARTBEAT_MS,
    maxWaitTimeInMs: FETCH_WAIT_MS,
    allowAutoTopicCreation: false,
    partitionAssigners: [membership.assigner],
    retry: { restartOnFailure: async () => false },
  })
  const over = Promise.withResolvers<never>()
  over.promise.catch(() => undefined)
  let cancelSilence = (): void => undefined
  const hearing = (): void => {
    cancelSilence()
    const silent = (): void => over.reject(new Error(`nothing was heard for ${LONGEST_SILENCE_MS / 1000} s`))
    cancelSilence = clock.after(LONGEST_SILENCE_MS, silent)
  }
  hearing()
  consumer.on(consumer.events.CRASH, ({ payload }) => over.reject(payload.error))
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    if (leaving.aborted) return
    hearing()
    membership.joined(payload.memberId, payload.memberAssignment[topic] ?? [])
  })
  consumer.on(consumer.events.HEARTBEAT, () => {
    hearing()
    membership.heard()
  })
  consumer.on(consumer.events.REBALANCING, () => {
    hearing()
    membership.rebalancing()
  })
  const ended = new AbortController()
  const formerId = membership.formerId()
  if (formerId !== null) void takeOut(formerId, { session, clock, groupId }, ended.signal)
  const begun = begin(consumer, topic)
  const leave = async (): Promise<void> => {
    // kafkajs only leaves when it has joined: else the others would wait for a member that is gone.
    await Promise.race([begun, over.promise])
    await consumer.stop()
  }
  try {
    await abortable(leaving, Promise.race([over.promise, begun.then(() => over.promise)]))
  } catch (error) {
    if (!leaving.aborted) throw error
    // What fails here ends with the session, and the group forgets this member when its own time is over.
    await withTimeout(clock, LEAVE_LIMIT_MS, new AbortController().signal, leave()).catch(() => undefined)
  } finally {
    cancelSilence()
    ended.abort()
    session.end()
    stopLooking(consumer, begun)
  }
}

/**
 * Ends a consumer whose session has ended. kafkajs may have taken a member that the group forgot, and whose next join failed,
 * for one that has joined: it then looks for something to fetch five times a second, asks no broker, and so hears of no end.
 */
function stopLooking(consumer: Consumer, begun: Promise<void>): void {
  begun.then(() => consumer.stop()).catch(() => undefined)
}

/**
 * Takes the member that this process was out of the group, beside the joining: brokers that come back remember it, and
 * the group would wait a session for it. Never throws: where it does not succeed, the wait does the same.
 */
async function takeOut(
  formerId: string,
  { session, clock, groupId }: { session: KafkaSession; clock: Clock; groupId: string },
  ended: AbortSignal,
): Promise<void> {
  const untilMs = clock.now() + SESSION_MS
  while (!ended.aborted && clock.now() < untilMs) {
    try {
      return await session.partitions.leaveGroup(groupId, formerId)
    } catch {
      // Kafka is away, or its group is not there yet: whoever joins says so.
      await sleep(clock, TAKE_OUT_PAUSE_MS, ended)
    }
  }
}

/** Joins; resolves when the group has answered, or the consumer has crashed. */
async function begin(consumer: Consumer, topic: string): Promise<void> {
  await consumer.connect()
  await consumer.subscribe({ topic })
  await consumer.run({ autoCommit: false, eachBatch: async () => undefined })
  // Whoever holds a partition only beats, as those do who hold none.
  consumer.pause([{ topic }])
}
