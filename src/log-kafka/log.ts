/** Opens the log on Kafka, which many processes share, and implements the interface of `log/log.ts` on Kafka topics. */
import type { Committed } from '../core/event.ts'
import { BridgeError, isBridgeError } from '../errors.ts'
import { aborted } from '../lifecycle/aborted.ts'
import { type Clock, sleep } from '../lifecycle/clock.ts'
import type { ConsumerGroups, ConsumerPage } from '../log/consumers.ts'
import type {
  Commit,
  KeptRejected,
  LogEnd,
  RejectedPage,
  ReplicaStanding,
  RowChanges,
  StatusMessage,
  Term,
  Writer,
} from '../log/events.ts'
import type { FaultHooks } from '../log/fault-hooks.ts'
import type { Journal } from '../log/journal.ts'
import type { Log } from '../log/log.ts'
import type { Requests } from '../log/requests.ts'
import type { Shards } from '../log/shards.ts'
import type { Table } from '../log/tables.ts'
import { fencedError } from '../log-shared/fenced.ts'
import type { Logger } from '../obs/logger.ts'
import { BackgroundReaders } from './client/background-readers.ts'
import { boundedRead } from './client/bounded-read.ts'
import { type KafkaConnection, kafkaSessions } from './client/client.ts'
import type { LogParts } from './client/connection.ts'
import { PartitionWriter } from './client/partition-writer.ts'
import { statusRecord } from './client/records.ts'
import { type Elections, groupElections, type OpenElections } from './group/leader.ts'
import { listConsumerGroups } from './reading/consumer-groups.ts'
import { followTopic } from './reading/follow.ts'
import { oldestSequence } from './reading/offset-lookup.ts'
import { readRejectedHashes, readRejectedPageOf } from './reading/rejected.ts'
import { followStatusTopic } from './reading/status.ts'
import { assignInGroup } from './shards/shard-group.ts'
import { KafkaShards } from './shards/shards.ts'
import { KafkaJournal } from './tables/journal.ts'
import { RequestSender, serveRequests } from './tables/requests.ts'
import { KafkaTables } from './tables/table.ts'
import type { TopicSettings } from './topics/topic-setup.ts'
import { TopicStartup } from './topics/topic-startup.ts'
import {
  ALL,
  codeTopics,
  journalPlan,
  LEADER,
  REJECTED,
  REQUESTS,
  RESPONSES,
  STATE,
  STATUS,
  shardsPlan,
  startTopics,
  TABLES,
  topicName,
} from './topics/topics.ts'
import { claimLog } from './writer/claim.ts'
import { readEnd } from './writer/log-end.ts'
import { withMomentaryTopics } from './writer/missing-topics.ts'
import { RejectedLimit } from './writer/rejected-limit.ts'
import { StateTail } from './writer/state-tail.ts'
import type { KafkaWriter } from './writer/writer.ts'

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
  faultHooks?: FaultHooks
}

/** A log on Kafka, and whether it can be used yet. */
export interface KafkaLog extends Log {
  /** Why it cannot be used yet; null once its topics exist. */
  readonly waitingFor: string | null
  /**
   * Begins a new epoch that keeps every event, once no other process leads: after a fail-over to a mirror of the topics, or
   * after topics were put back. `rowsOf` gives the rows to write with it.
   * @throws the signal's reason; BridgeError `failed` when the log was never used; else as `claim`
   */
  beginEpoch(
    rowsOf: (stored: Pick<Writer, 'epoch' | 'sequence' | 'rows'>) => RowChanges,
    signal: AbortSignal,
  ): Promise<string>
  /**
   * Makes the writer's state agree with the events again, once no other process leads. `commitOf` gives the commit that makes
   * this durable, all or nothing; the writer that it gets names the corrected place.
   * @throws the signal's reason; what `commitOf` throws; else as `claim`
   */
  repair(
    commitOf: (corrected: Pick<Writer, 'epoch' | 'sequence' | 'rows'>) => Promise<Commit>,
    signal: AbortSignal,
  ): Promise<{ epoch: string; sequence: number }>
  /** When a follower last received a response, or the log was opened, ms since 1970, if that is too long ago; else null. */
  readonly silentSinceMs: number | null
  /** Resolves when the signal aborts. Rejects with BridgeError `log_damaged` when a table in use turns out to be damaged. */
  watch(signal: AbortSignal): Promise<void>
}

/** A fetch without anything new is answered each second. This is longer than a partition's change of leader takes, ms. */
const SILENT_MS = 10_000
/** How long a command repeats a claim, and its wait between two claims, ms. */
const PATIENCE_MS = 20_000
const CLAIM_PAUSE_MS = 500

/**
 * Opens the log. Its topics are created in the background: while Kafka is unavailable every call waits, and `waitingFor`
 * is the reason. Where retrying cannot help, e.g. a wrong password, every call throws `kafka`.
 */
export function openKafkaLog(options: KafkaLogOptions): KafkaLog {
  return new KafkaEventLog(options)
}

/** Of a process without a replica: every bridge leads before it. */
const NO_REPLICA: ReplicaStanding = { missing: Number.MAX_SAFE_INTEGER, untilComplete: aborted }

class KafkaEventLog implements KafkaLog {
  readonly kind = 'kafka'
  readonly #options: KafkaLogOptions
  readonly #prefix: string
  readonly #known: ReadonlySet<string>
  readonly #closing = new AbortController()
  readonly #closed = this.#closing.signal
  readonly #reader: LogParts
  readonly #startup: TopicStartup
  readonly #elections: Elections
  readonly #stateTail: StateTail
  readonly #rejectedLimit = new RejectedLimit()
  readonly #tables: KafkaTables
  readonly #requestSender: RequestSender
  readonly #status: PartitionWriter
  readonly #shards = new Map<string, Shards<unknown>>()
  readonly #journals = new Map<string, Journal<unknown>>()
  readonly #readers: BackgroundReaders
  #answeredMs: number

  constructor(options: KafkaLogOptions) {
    this.#options = options
    const { clock, logger, topics, connection, openElections = groupElections } = options
    this.#prefix = topics.prefix
    this.#known = codeTopics(options.knownCodes)
    this.#answeredMs = clock.now()
    const openSession = kafkaSessions(connection, logger)
    const closed = this.#closed
    const reader = { openSession, clock, logger, closed, open: () => closed.throwIfAborted() }
    this.#reader = reader
    const named = connection.brokers.length
    this.#startup = new TopicStartup({ ...reader, settings: topics, named }, startTopics(this.#known))
    this.#readers = new BackgroundReaders(this.#startup.done, closed)
    this.#stateTail = new StateTail(reader, this.#topic(STATE))
    this.#tables = new KafkaTables(reader, this.#topic(TABLES))
    this.#requestSender = new RequestSender(reader, this.#requestTopics())
    this.#status = new PartitionWriter(reader, this.#topic(STATUS), reader.closed)
    const groupId = `${this.#prefix}.leader`
    const createTopic = () => this.#startup.createAgain([LEADER])
    this.#elections = openElections({ ...reader, groupId, topic: this.#topic(LEADER), createTopic })
  }

  get waitingFor(): string | null {
    return this.#startup.waitingFor
  }

  get silentSinceMs(): number | null {
    return this.#options.clock.now() - this.#answeredMs > SILENT_MS ? this.#answeredMs : null
  }

  watch(signal: AbortSignal): Promise<void> {
    return this.#readers.watch(signal)
  }

  async campaign(signal: AbortSignal, replica?: ReplicaStanding): Promise<Term> {
    this.#reader.open()
    signal.throwIfAborted()
    this.#readers.start(this.#stateTail)
    return this.#elections.campaign(await this.#ready(signal), replica)
  }

  async beginEpoch(
    rowsOf: (stored: Pick<Writer, 'epoch' | 'sequence' | 'rows'>) => RowChanges,
    signal: AbortSignal,
  ): Promise<string> {
    if ((await this.end(signal)).epoch === null) {
      throw new BridgeError('failed', `the topics of the prefix ${this.#prefix} hold no log`, {
        hint: 'Check BRIDGE_TOPIC_PREFIX, and that `all` and `internal.state` are mirrored or put back.',
      })
    }
    const term = await this.campaign(signal, NO_REPLICA)
    try {
      const writer = await this.#claimPatiently(term, signal)
      const epoch = await writer.beginEpoch(rowsOf(writer))
      await writer.release()
      return epoch
    } finally {
      await term.end()
    }
  }

  async repair(
    commitOf: (corrected: Pick<Writer, 'epoch' | 'sequence' | 'rows'>) => Promise<Commit>,
    signal: AbortSignal,
  ): Promise<{ epoch: string; sequence: number }> {
    const term = await this.campaign(signal, NO_REPLICA)
    try {
      const writer = await this.#claimPatiently(term, signal, true)
      await writer.commit(await commitOf(writer))
      const { epoch, sequence } = writer
      await writer.release()
      return { epoch, sequence }
    } finally {
      await term.end()
    }
  }

  /** For commands, which nobody repeats: a cluster that was never written to first creates its topic of transactions. */
  async #claimPatiently(term: Term, signal: AbortSignal, repair = false): Promise<KafkaWriter> {
    const { clock } = this.#options
    const untilMs = clock.now() + PATIENCE_MS
    for (;;) {
      try {
        return await this.claim(term, signal, repair)
      } catch (error) {
        if (!isBridgeError(error, 'log_unavailable') || clock.now() >= untilMs) throw error
        await sleep(clock, CLAIM_PAUSE_MS, signal)
      }
    }
  }

  /** `repair`: of a log whose topics disagree. */
  async claim(term: Term, signal: AbortSignal, repair = false): Promise<KafkaWriter> {
    this.#reader.open()
    signal.throwIfAborted()
    if (!this.#elections.stillHolds() || term.lost.aborted) throw fencedError()
    const { nativeKind, faultHooks = {} } = this.#options
    const parts = {
      ...this.#reader,
      prefix: this.#prefix,
      nativeKind,
      known: this.#known,
      createTopics: async (topics: readonly string[]) => void (await this.#startup.create(topics)),
      topics: this.#startup,
      faultHooks,
      tail: this.#stateTail,
      rejectedLimit: this.#rejectedLimit,
      repair,
    }
    return claimLog(parts, signal)
  }

  follow(after: number, signal: AbortSignal): AsyncIterable<Committed[]> {
    this.#reader.open()
    return this.#follow(after, AbortSignal.any([signal, this.#closed]))
  }

  async *#follow(after: number, ended: AbortSignal): AsyncGenerator<Committed[]> {
    if (!(await this.#readyUnlessEnded(ended))) return
    const onResponse = (): void => {
      this.#answeredMs = this.#options.clock.now()
    }
    yield* followTopic({ ...this.#reader, onResponse }, this.#topic(ALL), after, ended)
  }

  async end(signal: AbortSignal): Promise<LogEnd> {
    const ended = await this.#ready(signal)
    return readEnd(this.#reader, { state: this.#topic(STATE), all: this.#topic(ALL) }, ended)
  }

  async oldest(signal: AbortSignal): Promise<number | null> {
    const ended = await this.#ready(signal)
    return boundedRead(this.#reader, 'reading the first event', ended, (partitions) =>
      oldestSequence(partitions, this.#topic(ALL)),
    )
  }

  async rejectedPage(page: RejectedPage): Promise<KeptRejected[]> {
    await this.#ready()
    return readRejectedPageOf(this.#reader, this.#topic(REJECTED), page)
  }

  async rejectedHashes(limit: number): Promise<string[]> {
    await this.#ready()
    return readRejectedHashes(this.#reader, this.#topic(REJECTED), limit)
  }

  /** A field, because callers pass it on as a function. */
  readonly publishStatus = async (message: StatusMessage): Promise<void> => {
    await this.#ready()
    await this.#status.write(statusRecord(message))
  }

  followStatus(signal: AbortSignal): AsyncIterable<string[]> {
    this.#reader.open()
    return this.#followStatus(AbortSignal.any([signal, this.#closed]))
  }

  async *#followStatus(ended: AbortSignal): AsyncGenerator<string[]> {
    if (!(await this.#readyUnlessEnded(ended))) return
    yield* followStatusTopic(this.#reader, this.#topic(STATUS), ended)
  }

  /** A field, because callers pass it on as a function. */
  readonly consumers = async (page: ConsumerPage, signal: AbortSignal): Promise<ConsumerGroups> =>
    listConsumerGroups(this.#reader, this.#prefix, page, await this.#ready(signal))

  table<V>(name: string): Table<V> {
    this.#reader.open()
    this.#readers.start(this.#tables)
    return this.#tables.table<V>(name)
  }

  shards<V>(name: string, count: number): Shards<V> {
    this.#reader.open()
    const found = this.#shards.get(name) ?? this.#openShards(name, count)
    this.#shards.set(name, found)
    return found as Shards<V>
  }

  journal<V>(name: string, retentionMs: number): Journal<V> {
    this.#reader.open()
    const found = this.#journals.get(name) ?? this.#openJournal(name, retentionMs)
    this.#journals.set(name, found)
    return found as Journal<V>
  }

  get requests(): Requests {
    return {
      send: async (request, signal) => {
        this.#reader.open()
        this.#readers.start(this.#requestSender)
        return this.#requestSender.send(request, await this.#ready(signal))
      },
      serve: async (handler, signal) => {
        this.#reader.open()
        if (!(await this.#readyUnlessEnded(AbortSignal.any([signal, this.#closed])))) return
        const kept = { ...this.#reader, prefix: this.#prefix, topics: this.#startup }
        const serving = () => serveRequests(this.#reader, this.#requestTopics(), handler, signal)
        await withMomentaryTopics(kept, () => this.#elections.stillHolds(), serving)
      },
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new BridgeError('failed', 'the event log is closed because this process is stopping'))
    await this.#startup.done.catch(ignore)
    await this.#elections.close()
    await this.#readers.ended()
  }

  #openShards(name: string, count: number): Shards<unknown> {
    const plan = shardsPlan(name, count)
    const parts = { ...this.#reader, ready: this.#startup.readyWith(plan), assign: assignInGroup }
    const groupId = `${this.#prefix}.lanes.${name}`
    return new KafkaShards(parts, { topic: this.#topic(plan.topic), groupId, count })
  }

  #openJournal(name: string, retentionMs: number): Journal<unknown> {
    const plan = journalPlan(name, retentionMs)
    return new KafkaJournal({ ...this.#reader, ...this.#startup.makerOf(plan) }, this.#topic(plan.topic))
  }

  /** The topic's name in the cluster. */
  #topic(topic: string): string {
    return topicName(this.#prefix, topic)
  }

  #requestTopics(): { requests: string; responses: string } {
    return { requests: this.#topic(REQUESTS), responses: this.#topic(RESPONSES) }
  }

  /** Resolves when the topics exist, with a signal that aborts with the given one or when the log is closed. */
  async #ready(signal?: AbortSignal): Promise<AbortSignal> {
    this.#reader.open()
    const ended = signal === undefined ? this.#closed : AbortSignal.any([signal, this.#closed])
    ended.throwIfAborted()
    await this.#startup.ready(ended)
    return ended
  }

  /** True when the topics exist, false when the signal aborted before. */
  async #readyUnlessEnded(ended: AbortSignal): Promise<boolean> {
    try {
      await this.#startup.ready(ended)
      return true
    } catch (error) {
      if (ended.aborted) return false
      throw error
    }
  }
}

const ignore = (): void => undefined
