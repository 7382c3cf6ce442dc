/**
 * The log on Kafka, which many processes share. Owns what every part needs: topics made, the live tail of the state, the
 * tables; and its end. Refuses to elect a leader: the elections it is given do.
 */
import { BridgeError, messageOf } from '../errors.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { sleep } from '../lifecycle/clock.ts'
import type { Seam } from '../log/fault-hook.ts'
import type { Journal } from '../log/journal.ts'
import type { Log } from '../log/log.ts'
import type { Shards } from '../log/shards.ts'
import type { Table } from '../log/tables.ts'
import { fencedError } from '../log-shared/local-writer.ts'
import { REJECTED_WINDOW_BYTES } from '../log-shared/rejected-window.ts'
import type { Logger } from '../obs/logger.ts'
import { boundedRead } from './client/bounded-read.ts'
import { type KafkaConnection, kafkaSessions } from './client/client.ts'
import { nonRetriable, unavailable } from './client/faults.ts'
import { PlainWriter } from './client/plain-writer.ts'
import { statusRecord } from './client/records.ts'
import { abortable } from './client/with-timeout.ts'
import { groupElections, type OpenElections } from './group/leader.ts'
import { followTopic } from './reading/follow.ts'
import { oldestSequence } from './reading/offset-lookup.ts'
import { readRejected, readRejectedHashes } from './reading/rejected.ts'
import { shareInGroup } from './shards/shard-group.ts'
import { createKafkaShards } from './shards/shards.ts'
import { createKafkaJournal } from './tables/journal.ts'
import { createAsking, serveQuestions } from './tables/requests.ts'
import { createTables } from './tables/table.ts'
import { ensureTopics, SAFE_REPLICAS, type TopicSettings } from './topics/topic-setup.ts'
import {
  ALL,
  ANSWERS,
  codeTopics,
  journalPlan,
  LEADER,
  QUESTIONS,
  REJECTED,
  STATE,
  STATUS,
  shardsPlan,
  startTopics,
  TABLES,
  type TopicPlan,
  topicName,
} from './topics/topics.ts'
import { claimLog } from './writer/claim.ts'
import { readEnd } from './writer/log-end.ts'
import { createStateTail } from './writer/state-tail.ts'

/** What a log on Kafka is opened with. */
export interface KafkaLogOptions {
  connection: KafkaConnection
  topics: TopicSettings
  /** Codes whose topics exist from the start. */
  knownCodes: { fca: readonly string[]; native: readonly string[] }
  /** The kind upstream writes for its own categories, e.g. `Native`. */
  nativeKind: string
  clock: Clock
  logger: Logger
  /** How processes agree on the leader; by default in a consumer group. */
  openElections?: OpenElections
  seam?: Seam
}

/** A log on Kafka, and whether it can be used yet. */
export interface KafkaLog extends Log {
  /** What keeps it from beginning; null once its topics are there. */
  readonly waitingFor: string | null
  /** When a follower last had an answer of Kafka, ms since 1970, where that is too long ago; null while all is well. */
  readonly silentSinceMs: number | null
}

/** Pause between two tries to begin while Kafka is away, ms: low, so that its return is noticed soon. */
const RETRY_MS = 1_000
/** A fetch without anything new is answered each second. This long without: longer than a leader's move takes, ms. */
const SILENT_MS = 10_000

/**
 * Opens the log. It begins in the background: while Kafka is away everything that is asked of it waits, and
 * `waitingFor` says why. Where the brokers answer that this bridge will never be let in, everything throws `kafka`.
 */
export function openKafkaLog(options: KafkaLogOptions): KafkaLog {
  const { clock, logger, nativeKind, seam = {}, openElections = groupElections } = options
  const { prefix } = options.topics
  const openSession = kafkaSessions(options.connection, logger)
  const closing = new AbortController()
  const closed = closing.signal
  const open = (): void => closed.throwIfAborted()
  const reading = { openSession, clock, logger }
  const named = (topic: string): string => topicName(prefix, topic)
  const known = codeTopics(options.knownCodes)
  const makeTopics = (topics: readonly TopicPlan[]): Promise<number> => {
    const parts = { openSession, clock, settings: options.topics, named: options.connection.brokers.length }
    return ensureTopics(parts, topics, closed)
  }

  let answeredMs = Number.POSITIVE_INFINITY
  const following = {
    ...reading,
    onResponse: () => {
      answeredMs = clock.now()
    },
  }
  let waitingFor: string | null = 'Kafka has not answered yet'
  /** Resolves with the fewest copies of the topics when they are there, or when the log is closed. */
  const untilMade = async (topics: readonly TopicPlan[]): Promise<number | null> => {
    /** The hint of the fault that was logged last. */
    let told: string | null = null
    while (!closed.aborted) {
      try {
        const replicas = await makeTopics(topics)
        if (told !== null) logger.info('log.available')
        return replicas
      } catch (error) {
        if (closed.aborted) return null
        if (waitingFor !== null) waitingFor = messageOf(error)
        const fatal = nonRetriable(error)
        if (fatal !== null) throw fatal
        // Its message may name another broker each time; its hint changes with what is wrong.
        const { hint = '' } = unavailable('beginning', error)
        if (hint !== told) logger.warn('log.unavailable', { error })
        told = hint
        await sleep(clock, RETRY_MS, closed)
      }
    }
    return null
  }
  const begin = async (): Promise<void> => {
    const replicas = await untilMade(startTopics(known).map(onePartition))
    if (replicas === null) return
    if (replicas < SAFE_REPLICAS) logger.warn('log.replication', { warning: fewReplicas(replicas) })
    waitingFor = null
  }
  const begun = begin()
  // Whoever asks for something hears of it.
  begun.catch(ignore)
  const ready = (signal: AbortSignal): Promise<void> => abortable(signal, begun)

  const running: Promise<void>[] = []
  /** Runs from the first call on. */
  const started = (run: (signal: AbortSignal) => Promise<void>): (() => void) => {
    let asked = false
    return () => {
      if (!asked) running.push(begun.then(() => run(closed), ignore))
      asked = true
    }
  }
  const tail = createStateTail(reading, named(STATE))
  const tables = createTables({ ...reading, open, closed }, named(TABLES))
  const questionTopics = { questions: named(QUESTIONS), answers: named(ANSWERS) }
  const asking = createAsking({ ...reading, closed }, questionTopics)
  const status = new PlainWriter({ openSession, clock, closed }, named(STATUS))
  const elections = openElections({
    openSession,
    clock,
    logger,
    groupId: `${prefix}.leader`,
    topic: named(LEADER),
  })
  const shards = new Map<string, Shards<unknown>>()
  const journals = new Map<string, Journal<unknown>>()
  /** Resolves when the topic is there, which is made when this is first asked for. */
  const made = (plan: TopicPlan): ((signal: AbortSignal) => Promise<void>) => {
    let making: Promise<void> | null = null
    return (signal) => {
      making ??= begun.then(async () => void (await untilMade([plan])))
      making.catch(ignore)
      return abortable(signal, making)
    }
  }
  const keepState = started((signal) => tail.run(signal))
  const keepTables = started((signal) => tables.run(signal))
  const hearAnswers = started((signal) => asking.run(signal))

  return {
    kind: 'kafka',
    get waitingFor() {
      return waitingFor
    },
    get silentSinceMs() {
      return clock.now() - answeredMs > SILENT_MS ? answeredMs : null
    },
    async campaign(signal) {
      open()
      signal.throwIfAborted()
      keepState()
      const either = AbortSignal.any([signal, closed])
      await ready(either)
      return elections.campaign(either)
    },
    async claim(term, signal) {
      open()
      signal.throwIfAborted()
      if (!elections.stillHolds() || term.lost.aborted) throw fencedError()
      const parts = {
        prefix,
        nativeKind,
        known,
        createTopics: async (topics: readonly string[]) => void (await makeTopics(topics.map(onePartition))),
        openSession,
        clock,
        logger,
        seam,
        tail,
        closed,
      }
      return claimLog(parts, signal)
    },
    follow(after, signal) {
      open()
      const ended = AbortSignal.any([signal, closed])
      return followWhen(ready, () => followTopic(following, named(ALL), after, ended), ended)
    },
    async end(signal) {
      open()
      const either = AbortSignal.any([signal, closed])
      either.throwIfAborted()
      await ready(either)
      return readEnd(reading, { state: named(STATE), all: named(ALL) }, either)
    },
    async oldest(signal) {
      open()
      const either = AbortSignal.any([signal, closed])
      either.throwIfAborted()
      await ready(either)
      return boundedRead(reading, 'reading the first event', either, (partitions) =>
        oldestSequence(partitions, named(ALL)),
      )
    },
    async rejected(limit) {
      open()
      await ready(closed)
      return readRejected({ openSession, clock, closed }, named(REJECTED), limit)
    },
    async rejectedHashes(limit) {
      open()
      await ready(closed)
      const window = { limit, mostBytes: REJECTED_WINDOW_BYTES }
      return readRejectedHashes({ openSession, clock, closed }, named(REJECTED), window)
    },
    async publishStatus(message) {
      open()
      await ready(closed)
      await status.write(statusRecord(message))
    },
    table<V>(name: string): Table<V> {
      open()
      keepTables()
      return tables.table<V>(name)
    },
    shards<V>(name: string, count: number): Shards<V> {
      open()
      const plan = shardsPlan(name, count)
      const place = { topic: named(plan.topic), groupId: `${prefix}.lanes.${name}`, count }
      const parts = { ...reading, open, closed, ready: made(plan), share: shareInGroup }
      const found = shards.get(name) ?? createKafkaShards<unknown>(parts, place)
      shards.set(name, found)
      return found as Shards<V>
    },
    journal<V>(name: string, retentionMs: number): Journal<V> {
      open()
      const plan = journalPlan(name, retentionMs)
      const parts = { ...reading, open, closed, ready: made(plan) }
      const found = journals.get(name) ?? createKafkaJournal<unknown>(parts, named(plan.topic))
      journals.set(name, found)
      return found as Journal<V>
    },
    requests: {
      async send(request, signal) {
        open()
        hearAnswers()
        await ready(AbortSignal.any([signal, closed]))
        return asking.ask(request, signal)
      },
      async serve(handler, signal) {
        open()
        try {
          await ready(AbortSignal.any([signal, closed]))
        } catch (error) {
          if (signal.aborted || closed.aborted) return
          throw error
        }
        await serveQuestions({ ...reading, closed }, questionTopics, handler, signal)
      },
    },
    async close() {
      closing.abort(new BridgeError('failed', 'the log is closed'))
      await begun.catch(ignore)
      await elections.close()
      await Promise.all(running)
    },
  }
}

const ignore = (): void => undefined

function onePartition(topic: string): TopicPlan {
  return { topic, partitions: 1 }
}

function fewReplicas(count: number): string {
  return `topics have ${count === 1 ? 'one copy' : `${count} copies`}, for good: the death of a broker can lose what was committed; three brokers keep that, and BRIDGE_TOPIC_REPLICATION says how many copies new topics get`
}

/** What `follow` gives, once the log has begun; ends when the signal aborts before. */
async function* followWhen<T>(
  ready: (signal: AbortSignal) => Promise<void>,
  follow: () => AsyncIterable<T>,
  signal: AbortSignal,
): AsyncGenerator<T> {
  try {
    await ready(signal)
  } catch (error) {
    if (signal.aborted) return
    throw error
  }
  yield* follow()
}
