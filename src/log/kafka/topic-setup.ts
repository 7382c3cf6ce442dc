/**
 * Makes the topics. Owns their settings. Refuses to change a topic that is there: `bridge doctor` compares and tells.
 */
import type { Admin, ITopicConfig } from 'kafkajs'
import { BridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { sleep } from '../../lifecycle/clock.ts'
import type { OpenSession } from './client.ts'
import { within } from './deadline.ts'
import { unavailable } from './faults.ts'
import { shortRead } from './short-read.ts'
import { ALL, LEADER, REJECTED, STATE, STATUS, TABLES, TOMBSTONES_KEPT_MS, topicName } from './topics.ts'

/** What an operator decides about topics. */
export interface TopicSettings {
  prefix: string
  /** null: three, or as many as there are brokers where they are fewer. */
  replication: number | null
  /** Category topics, gaps and rejected items; null: for ever. */
  retentionMs: number | null
  /** The topic `all`; null: for ever. */
  allRetentionMs: number | null
}

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** Creating 150 topics takes 0.1–0.25 s on an idle broker. */
const DEADLINE_MS = 30_000
const POLL_MS = 20
const ALREADY_THERE = 'TOPIC_ALREADY_EXISTS'
/** A rejected item is kept as it came, and upstream's answers may have 64 MiB. */
const LARGEST_REJECTED_BYTES = 65 * 1024 * 1024

/**
 * Kafka's settings of a topic, by their names there. `topic` is the part after the prefix. Records are dropped a segment
 * at a time, and a segment that is written to stays open for a week by default: a day's retention needs shorter ones.
 */
export function topicConfig(
  topic: string,
  settings: TopicSettings,
  replicas: number,
): Record<string, string> {
  return {
    'message.timestamp.type': 'LogAppendTime',
    'min.insync.replicas': replicas >= 3 ? '2' : '1',
    ...(topic === STATE || topic === TABLES ? compacted() : kept(retentionOf(topic, settings))),
    ...(topic === STATUS ? { 'segment.ms': String(HOUR_MS) } : {}),
    ...(topic === REJECTED ? { 'max.message.bytes': String(LARGEST_REJECTED_BYTES) } : {}),
  }
}

/**
 * Makes those of the topics that are missing, with one partition each, and resolves when each has a leader, and the
 * leaders of new ones know of it: what is sent before is refused.
 * @throws BridgeError `log_unavailable`; `kafka` when a topic is there with several partitions; the signal's reason
 */
export async function ensureTopics(
  parts: { openSession: OpenSession; clock: Clock; settings: TopicSettings },
  topics: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { openSession, clock, settings } = parts
  const session = openSession()
  const admin = session.kafka.admin()
  const work = async (): Promise<void> => {
    await admin.connect()
    const names = topics.map((topic) => topicName(settings.prefix, topic))
    const present = await partitionsByTopic(admin)
    const missing = topics.filter((topic) => !present.has(topicName(settings.prefix, topic)))
    if (missing.length > 0) await create(admin, missing, settings)
    while (!signal.aborted && !(await haveLeaders(admin, names))) await sleep(clock, POLL_MS, signal)
    const made = missing.map((topic) => topicName(settings.prefix, topic))
    if (made.length > 0)
      await shortRead(parts, 'asking new topics', signal, ({ undecided }) => undecided(made))
  }
  try {
    await within(clock, DEADLINE_MS, signal, work())
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw unavailable('creating topics', error)
  } finally {
    session.end()
  }
}

async function create(admin: Admin, topics: readonly string[], settings: TopicSettings): Promise<void> {
  const { brokers } = await admin.describeCluster()
  const replicationFactor = settings.replication ?? Math.min(3, brokers.length)
  const wanted: ITopicConfig[] = topics.map((topic) => ({
    topic: topicName(settings.prefix, topic),
    numPartitions: 1,
    replicationFactor,
    configEntries: Object.entries(topicConfig(topic, settings, replicationFactor)).map(([name, value]) => ({
      name,
      value,
    })),
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

async function haveLeaders(admin: Admin, names: readonly string[]): Promise<boolean> {
  const present = await partitionsByTopic(admin)
  return names.every((name) => {
    const leaders = present.get(name)
    if (leaders !== undefined && leaders.length !== 1) throw severalPartitions(name, leaders.length)
    return leaders?.every((leader) => leader >= 0) === true
  })
}

/** The leader of each partition, −1 while it has none, by topic. */
async function partitionsByTopic(admin: Admin): Promise<Map<string, number[]>> {
  const { topics } = await admin.fetchTopicMetadata()
  return new Map(topics.map(({ name, partitions }) => [name, partitions.map(({ leader }) => leader)]))
}

function severalPartitions(name: string, count: number): BridgeError {
  return new BridgeError(
    'kafka',
    `the topic ${name} has ${count} partitions; the order of events needs one`,
    {
      hint: 'Choose another BRIDGE_TOPIC_PREFIX, or delete the topic if nothing in it is needed.',
    },
  )
}

function retentionOf(topic: string, { retentionMs, allRetentionMs }: TopicSettings): number | null {
  if (topic === STATUS || topic === LEADER) return DAY_MS
  return topic === ALL ? allRetentionMs : retentionMs
}

function kept(retentionMs: number | null): Record<string, string> {
  return { 'cleanup.policy': 'delete', 'retention.ms': String(retentionMs ?? -1) }
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
