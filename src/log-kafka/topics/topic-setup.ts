/**
 * Makes the topics. Owns their settings. Refuses to change a topic that is there: `bridge doctor` compares and tells.
 */

import type { Admin, ITopicConfig } from 'kafkajs'
import { DAY_MS, HOUR_MS } from '../../core/durations.ts'
import { BridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { sleep } from '../../lifecycle/clock.ts'
import type { KafkaSettings } from '../../settings/kafka.ts'
import { boundedRead } from '../client/bounded-read.ts'
import type { OpenSession } from '../client/client.ts'
import { unavailable } from '../client/faults.ts'
import { withTimeout } from '../client/with-timeout.ts'
import {
  ALL,
  ANSWERS,
  isJournalTopic,
  isShardsTopic,
  LEADER,
  QUESTIONS,
  REJECTED,
  STATE,
  STATUS,
  TABLES,
  TOMBSTONES_KEPT_MS,
  type TopicPlan,
  topicName,
} from './topics.ts'

/** The operator's settings for topics. */
export type TopicSettings = KafkaSettings['topics']

/** Whoever asks waits for seconds. */
const QUESTIONS_KEPT_MS = 10 * 60_000
/** Creating 150 topics takes 0.1–0.25 s on an idle broker. */
const DEADLINE_MS = 30_000
const POLL_MS = 20
const ALREADY_THERE = 'TOPIC_ALREADY_EXISTS'
/** A rejected item is kept as it came, and upstream's answers may have 64 MiB. */
const LARGEST_REJECTED_BYTES = 65 * 1024 * 1024

/**
 * Before a record of shards is compacted, or does away with an older one, ms: until then their owner has written its own
 * again behind one that does not count (`valid-records.ts`).
 */
const SHARDS_LAG_MS = HOUR_MS
/** A journal's records outlive their time by as much as a segment stays open. */
const JOURNAL_SEGMENTS = 20

/**
 * Kafka's settings of a topic, by their names there. `topic` is the part after the prefix. Records are dropped a segment
 * at a time, and a segment that is written to stays open for a week by default: a day's retention needs shorter ones. How
 * long a journal is kept is known where its plan is.
 */
export function topicConfig(
  topic: string,
  settings: TopicSettings,
  replicas: number,
  journalMs?: number,
): Record<string, string> {
  return {
    'message.timestamp.type': 'LogAppendTime',
    'min.insync.replicas': replicas >= 3 ? '2' : '1',
    ...(isJournalTopic(topic) ? journalKept(journalMs) : keptOf(topic, settings)),
    ...(isShardsTopic(topic) ? { 'min.compaction.lag.ms': String(SHARDS_LAG_MS) } : {}),
    ...(topic === STATUS ? { 'segment.ms': String(HOUR_MS) } : {}),
    ...(isQuestion(topic) ? { 'segment.ms': String(QUESTIONS_KEPT_MS) } : {}),
    ...(topic === REJECTED ? { 'max.message.bytes': String(LARGEST_REJECTED_BYTES) } : {}),
  }
}

/** Copies from which on the death of a broker loses nothing, with two in sync. */
export const SAFE_REPLICAS = 3

/** What is known of a cluster's brokers. */
export interface KnownBrokers {
  /** Numbers of those that answer. */
  answering: readonly number[]
  /** Numbers of those that hold a replica of any topic, whether they answer or not. */
  holding: readonly number[]
  /** Addresses in `BRIDGE_KAFKA_BROKERS`. */
  named: number
}

/**
 * Replication of topics that are made: as set; else three, or as many as the cluster has brokers. One that is away counts
 * as long as an address or a replica speaks of it: topics keep the replication they are made with.
 */
export function replicationOf({ replication }: TopicSettings, brokers: KnownBrokers): number {
  const { answering, holding, named } = brokers
  return replication ?? Math.min(SAFE_REPLICAS, Math.max(named, new Set([...answering, ...holding]).size))
}

/**
 * Makes those of the topics that are missing, each with its partitions, and resolves when each has a leader, and the
 * leaders of new ones know of it (what is sent before is refused), with the fewest replicas that one of them has. `named`
 * is how many addresses of brokers the settings have.
 * @throws BridgeError `log_unavailable`; `kafka` when a topic is there with another number of partitions; the signal's reason
 */
export async function ensureTopics(
  parts: { openSession: OpenSession; clock: Clock; settings: TopicSettings; named: number },
  topics: readonly TopicPlan[],
  signal: AbortSignal,
): Promise<number> {
  const { openSession, clock, settings, named } = parts
  const session = openSession()
  const admin = session.kafka.admin()
  const work = async (): Promise<number> => {
    await admin.connect()
    const wanted = new Map(
      topics.map(({ topic, partitions }) => [topicName(settings.prefix, topic), partitions]),
    )
    const present = await partitionsByTopic(admin)
    const missing = topics.filter(({ topic }) => !present.has(topicName(settings.prefix, topic)))
    if (missing.length > 0) await create(admin, missing, settings, { named, present })
    const made = missing.map(({ topic }) => topicName(settings.prefix, topic))
    for (;;) {
      const standing = await partitionsByTopic(admin)
      signal.throwIfAborted()
      if (haveLeaders(standing, wanted)) {
        if (made.length > 0)
          await boundedRead(parts, 'asking new topics', signal, (partitions) => partitions.unstable(made))
        return fewestReplicas(standing, [...wanted.keys()])
      }
      await sleep(clock, POLL_MS, signal)
    }
  }
  try {
    return await withTimeout(clock, DEADLINE_MS, signal, work())
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw unavailable('creating topics', error)
  } finally {
    session.end()
  }
}

async function create(
  admin: Admin,
  topics: readonly TopicPlan[],
  settings: TopicSettings,
  { named, present }: { named: number; present: ReadonlyMap<string, readonly Standing[]> },
): Promise<void> {
  const { brokers } = await admin.describeCluster()
  const answering = brokers.map(({ nodeId }) => nodeId)
  const holding = [...present.values()].flat().flatMap(({ replicas }) => replicas)
  const replicationFactor = replicationOf(settings, { answering, holding, named })
  const wanted: ITopicConfig[] = topics.map(({ topic, partitions, retentionMs }) => ({
    topic: topicName(settings.prefix, topic),
    numPartitions: partitions,
    replicationFactor,
    configEntries: Object.entries(topicConfig(topic, settings, replicationFactor, retentionMs)).map(
      ([name, value]) => ({ name, value }),
    ),
  }))
  try {
    // kafkajs's own waiting fails on topics that are a moment old (measured: 8 times of 9).
    await admin.createTopics({ topics: wanted, waitForLeaders: false })
  } catch (error) {
    // Another process of ours makes the same topics at the same moment: those that it had not made yet are made now.
    const { errors = [error] } = error as { errors?: unknown[] }
    if (!errors.every((one) => (one as { type?: string }).type === ALREADY_THERE)) throw error
  }
}

/** Whether every topic is led in all its partitions; `wanted` says how many each must have. */
function haveLeaders(
  standing: ReadonlyMap<string, readonly Standing[]>,
  wanted: ReadonlyMap<string, number>,
): boolean {
  return [...wanted].every(([name, count]) => {
    const partitions = standing.get(name)
    if (partitions !== undefined && partitions.length !== count) {
      throw otherPartitions(name, partitions.length, count)
    }
    return partitions?.every(({ leader }) => leader >= 0) === true
  })
}

function fewestReplicas(
  standing: ReadonlyMap<string, readonly Standing[]>,
  names: readonly string[],
): number {
  const counts = names.flatMap((name) => standing.get(name) ?? []).map(({ replicas }) => replicas.length)
  return Math.min(...counts)
}

/** A partition as the cluster has it: its leader, −1 while it has none, and the brokers that hold it. */
interface Standing {
  leader: number
  replicas: readonly number[]
}

/** The partitions of every topic that this user sees. */
async function partitionsByTopic(admin: Admin): Promise<Map<string, Standing[]>> {
  const { topics } = await admin.fetchTopicMetadata()
  return new Map(topics.map(({ name, partitions }) => [name, partitions]))
}

function otherPartitions(name: string, found: number, wanted: number): BridgeError {
  const why = wanted === 1 ? 'the order of its records needs one' : `its shards need ${wanted}`
  return new BridgeError('kafka', `the topic ${name} has ${found} partitions; ${why}`, {
    hint: 'Choose another BRIDGE_TOPIC_PREFIX, or delete the topic if nothing in it is needed.',
  })
}

function isQuestion(topic: string): boolean {
  return topic === QUESTIONS || topic === ANSWERS
}

function retentionOf(topic: string, { retentionMs, allRetentionMs }: TopicSettings): number | null {
  if (isQuestion(topic)) return QUESTIONS_KEPT_MS
  if (topic === STATUS || topic === LEADER) return DAY_MS
  return topic === ALL ? allRetentionMs : retentionMs
}

function kept(retentionMs: number | null): Record<string, string> {
  return { 'cleanup.policy': 'delete', 'retention.ms': String(retentionMs ?? -1) }
}

function keptOf(topic: string, settings: TopicSettings): Record<string, string> {
  const isCompacted = topic === STATE || topic === TABLES || isShardsTopic(topic)
  return isCompacted ? compacted() : kept(retentionOf(topic, settings))
}

function journalKept(retentionMs: number | undefined): Record<string, string> {
  if (retentionMs === undefined) return { 'cleanup.policy': 'delete' }
  return { ...kept(retentionMs), 'segment.ms': String(Math.ceil(retentionMs / JOURNAL_SEGMENTS)) }
}

/** The segment that is written to is never compacted: small ones keep the topic small, and its reading quick. */
function compacted(): Record<string, string> {
  return {
    'cleanup.policy': 'compact',
    'segment.bytes': String(1024 * 1024),
    'segment.ms': String(HOUR_MS),
    'min.cleanable.dirty.ratio': '0.1',
    'delete.retention.ms': String(TOMBSTONES_KEPT_MS),
  }
}
