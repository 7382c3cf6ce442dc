/**
 * Creates missing topics with their Kafka settings. Existing topics are never changed; the command `bridge doctor` reports
 * settings that differ.
 */
import type { Admin } from 'kafkajs'
import { DAY_MS, HOUR_MS } from '../../core/durations.ts'
import { BridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { sleep } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import type { KafkaSettings } from '../../settings/kafka.ts'
import { boundedRead } from '../client/bounded-read.ts'
import type { OpenSession } from '../client/client.ts'
import { unavailable } from '../client/faults.ts'
import { withTimeout } from '../client/with-timeout.ts'
import { createNewTopics, type NewTopic } from './topic-creation.ts'
import {
  ALL,
  isJournalTopic,
  isShardsTopic,
  LEADER,
  REJECTED,
  REQUESTS,
  RESPONSES,
  STATE,
  STATUS,
  TABLES,
  TOMBSTONES_KEPT_MS,
  type TopicPlan,
  topicName,
} from './topics.ts'

/** The operator's settings for topics. */
export type TopicSettings = KafkaSettings['topics']

/** Requests are waited for during seconds. */
const REQUESTS_KEPT_MS = 10 * 60_000
/** Creating 150 topics takes 0.1–0.25 s on an idle broker. */
const DEADLINE_MS = 30_000
const POLL_MS = 20
/** A rejected item is stored as received, and upstream's responses may have 64 MiB. */
const LARGEST_REJECTED_BYTES = 65 * 1024 * 1024

/** Least age of a compacted record of a shard, ms: until then the owner rewrites stale rows (`valid-records.ts`). */
const SHARDS_LAG_MS = HOUR_MS
/** Kafka never compacts the open segment: small segments keep the topic small and quick to read. */
const COMPACTED = {
  'cleanup.policy': 'compact',
  'segment.bytes': (1024 * 1024).toString(),
  'segment.ms': HOUR_MS.toString(),
  'min.cleanable.dirty.ratio': '0.1',
  'delete.retention.ms': TOMBSTONES_KEPT_MS.toString(),
}
/** Segments in a journal's retention; a record outlives it by at most one of them. */
const JOURNAL_SEGMENTS = 20
/** Most bytes of a journal or of rejected items, the open segment not counted: the oldest records go before their time. */
const MOST_BYTES = { 'retention.bytes': `${4 * 1024 ** 3}` }

/**
 * Kafka's settings of a topic, by their names. `topic` is the part after the prefix; `journalMs` a journal's retention,
 * where it is known. Kafka drops whole segments, which stay open for a week by default: a short retention needs a short
 * `segment.ms`.
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
    // A leader that lacks committed records would take them back; some clusters allow that for every topic.
    'unclean.leader.election.enable': 'false',
    ...keptOf(topic, settings, journalMs),
  }
}

/** Replicas from which on the loss of a broker loses no committed record, with two in sync. */
export const SAFE_REPLICAS = 3

/** What is known of a cluster's brokers. */
export interface KnownBrokers {
  /** Ids of those that answer. */
  answering: readonly number[]
  /** Ids of those that hold a replica of any topic, whether they answer or not. */
  holding: readonly number[]
  /** Addresses in `BRIDGE_KAFKA_BROKERS`. */
  named: number
}

/**
 * Replication of new topics: as set; else three, or the number of brokers if it is less. An unavailable broker counts while
 * a setting or a replica names it, because topics keep the replication they are created with.
 */
export function replicationOf({ replication }: TopicSettings, brokers: KnownBrokers): number {
  const { answering, holding, named } = brokers
  return replication ?? Math.min(SAFE_REPLICAS, Math.max(named, new Set([...answering, ...holding]).size))
}

/** What a question about topics needs. */
interface SetupParts {
  openSession: OpenSession
  clock: Clock
  settings: TopicSettings
}

/** Topics that exist now. */
export interface EnsuredTopics {
  /** The fewest replicas of one of them. */
  replicas: number
  /** Those that were missing, by the part of their names after the prefix. */
  created: readonly string[]
}

/**
 * Creates missing topics, and waits until every topic has leaders that answer (new ones refuse requests for a while).
 * Settings that the cluster refuses are left out and logged. `named`: how many addresses of brokers the settings have.
 * @throws BridgeError `log_unavailable`; `kafka` when a topic has another number of partitions, or the cluster's policy
 * refuses it; the signal's reason
 */
export function ensureTopics(
  parts: SetupParts & { logger: Logger; named: number },
  topics: readonly TopicPlan[],
  signal: AbortSignal,
): Promise<EnsuredTopics> {
  const { clock, settings } = parts
  return withAdmin(parts, 'creating topics', signal, async (admin) => {
    const wanted = new Map(
      topics.map(({ topic, partitions }) => [topicName(settings.prefix, topic), partitions]),
    )
    const present = await partitionsByTopic(admin)
    const missing = topics.filter(({ topic }) => !present.has(topicName(settings.prefix, topic)))
    if (missing.length > 0) await create({ ...parts, admin }, missing, present)
    const created = missing.map(({ topic }) => topicName(settings.prefix, topic))
    for (;;) {
      const now = await partitionsByTopic(admin)
      signal.throwIfAborted()
      if (haveLeaders(now, wanted)) {
        if (created.length > 0)
          await boundedRead(parts, 'asking new topics', signal, (partitions) => partitions.unstable(created))
        return {
          replicas: fewestReplicas(now, [...wanted.keys()]),
          created: missing.map(({ topic }) => topic),
        }
      }
      await sleep(clock, POLL_MS, signal)
    }
  })
}

/**
 * Those of these topics that do not exist.
 * @throws BridgeError `log_unavailable`; the signal's reason
 */
export function missingTopics(
  parts: SetupParts,
  topics: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  return withAdmin(parts, 'listing topics', signal, async (admin) => {
    const present = await partitionsByTopic(admin)
    return topics.filter((topic) => !present.has(topicName(parts.settings.prefix, topic)))
  })
}

/** The result of the work, which takes seconds at most, with a connection of its own. */
async function withAdmin<T>(
  { openSession, clock }: SetupParts,
  doing: string,
  signal: AbortSignal,
  work: (admin: Admin) => Promise<T>,
): Promise<T> {
  const session = openSession()
  const admin = session.kafka.admin()
  try {
    return await withTimeout(
      clock,
      DEADLINE_MS,
      signal,
      admin.connect().then(() => work(admin)),
    )
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw unavailable(doing, error)
  } finally {
    session.end()
  }
}

async function create(
  parts: { admin: Admin; logger: Logger; settings: TopicSettings; named: number },
  topics: readonly TopicPlan[],
  present: ReadonlyMap<string, readonly PartitionInfo[]>,
): Promise<void> {
  const { admin, settings, named } = parts
  const { brokers } = await admin.describeCluster()
  const answering = brokers.map(({ nodeId }) => nodeId)
  const holding = [...present.values()].flat().flatMap(({ replicas }) => replicas)
  const replicas = replicationOf(settings, { answering, holding, named })
  await createNewTopics(
    parts,
    topics.map((plan) => newTopic(plan, settings, replicas)),
  )
}

/** The topic of that plan with all of its settings. */
export function newTopic(
  { topic, partitions, retentionMs }: TopicPlan,
  settings: TopicSettings,
  replicas: number,
): NewTopic {
  const wanted = topicConfig(topic, settings, replicas, retentionMs)
  return { name: topicName(settings.prefix, topic), partitions, replicas, settings: wanted }
}

/** Whether every partition has a leader; `wanted`: how many partitions each topic must have. */
function haveLeaders(
  topics: ReadonlyMap<string, readonly PartitionInfo[]>,
  wanted: ReadonlyMap<string, number>,
): boolean {
  return [...wanted].every(([name, count]) => {
    const partitions = topics.get(name)
    if (partitions !== undefined && partitions.length !== count) {
      throw otherPartitions(name, partitions.length, count)
    }
    return partitions?.every(({ leader }) => leader >= 0) === true
  })
}

function fewestReplicas(
  topics: ReadonlyMap<string, readonly PartitionInfo[]>,
  names: readonly string[],
): number {
  const counts = names.flatMap((name) => topics.get(name) ?? []).map(({ replicas }) => replicas.length)
  return Math.min(...counts)
}

/** A partition's leader, −1 while it has none, and the brokers that hold its replicas. */
interface PartitionInfo {
  leader: number
  replicas: readonly number[]
}

/** The partitions of every topic that this user sees. */
async function partitionsByTopic(admin: Admin): Promise<Map<string, PartitionInfo[]>> {
  const { topics } = await admin.fetchTopicMetadata()
  return new Map(topics.map(({ name, partitions }) => [name, partitions]))
}

function otherPartitions(name: string, found: number, wanted: number): BridgeError {
  const why = wanted === 1 ? 'the order of its records needs one' : `its shards need ${wanted}`
  return new BridgeError('kafka', `the topic ${name} has ${found} partitions; ${why}`, {
    hint: 'Choose another BRIDGE_TOPIC_PREFIX, or delete the topic if nothing in it is needed.',
  })
}

function keptOf(
  topic: string,
  { retentionMs, allRetentionMs }: TopicSettings,
  journalMs: number | undefined,
): Record<string, string> {
  if (isShardsTopic(topic)) return { ...COMPACTED, 'min.compaction.lag.ms': SHARDS_LAG_MS.toString() }
  if (isJournalTopic(topic)) {
    if (journalMs === undefined) return { 'cleanup.policy': 'delete' }
    return { ...kept(journalMs, Math.ceil(journalMs / JOURNAL_SEGMENTS)), ...MOST_BYTES }
  }
  switch (topic) {
    case STATE:
    case TABLES:
      return COMPACTED
    case REQUESTS:
    case RESPONSES:
      return kept(REQUESTS_KEPT_MS, REQUESTS_KEPT_MS)
    case STATUS:
      return kept(DAY_MS, HOUR_MS)
    case LEADER:
      return kept(DAY_MS)
    case REJECTED:
      return { ...kept(retentionMs), ...MOST_BYTES, 'max.message.bytes': LARGEST_REJECTED_BYTES.toString() }
    default:
      return kept(topic === ALL ? allRetentionMs : retentionMs)
  }
}

function kept(retentionMs: number | null, segmentMs?: number): Record<string, string> {
  const segments = segmentMs === undefined ? {} : { 'segment.ms': segmentMs.toString() }
  return { 'cleanup.policy': 'delete', 'retention.ms': (retentionMs ?? -1).toString(), ...segments }
}
