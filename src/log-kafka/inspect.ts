/**
 * Reports brokers, topics, their settings and the Kafka user's rights for the command `bridge doctor`. Changes nothing in
 * the cluster.
 */
import kafkajs, { type Admin } from 'kafkajs'
import { DAY_MS } from '../core/durations.ts'
import { isBridgeError } from '../errors.ts'
import type { Clock } from '../lifecycle/clock.ts'
import type { Logger } from '../obs/logger.ts'
import { type KafkaConnection, type KafkaSession, kafkaSessions } from './client/client.ts'
import { unavailable } from './client/faults.ts'
import { withTimeout } from './client/with-timeout.ts'
import { probeAcls } from './topics/acl-probe.ts'
import { type RefusedSettings, refusedSettings } from './topics/topic-creation.ts'
import {
  newTopic,
  replicationOf,
  SAFE_REPLICAS,
  type TopicSettings,
  topicConfig,
} from './topics/topic-setup.ts'
import {
  ALL,
  codeTopic,
  codeTopics,
  isCodeTopic,
  isJournalTopic,
  isShardsTopic,
  journalPlan,
  onePartition,
  STATE,
  shardsPlan,
  startTopics,
  topicName,
} from './topics/topics.ts'
import { learntTopics } from './writer/code-topics.ts'
import { committedRows, type Disagreement, disagreementOf, readTopicEnds } from './writer/log-end.ts'
import { readStateRows } from './writer/writer-state.ts'

/** A setting of a topic that differs from what a bridge would set today. */
export interface OtherSetting {
  topic: string
  name: string
  found: string
  expected: string
}

/** The state of a cluster. Topics by their full names. */
export interface KafkaReport {
  brokers: number
  /** Ids of brokers that hold replicas of these topics and do not answer. */
  silent: readonly number[]
  /** Replication that topics created now would have. */
  replication: number
  /**
   * Topics that exist: those that every start creates, and those of shards, journals and further category codes. `shards`:
   * the topic has one partition for each shard.
   */
  present: readonly { topic: string; partitions: number; replicas: number; inSync: number; shards: boolean }[]
  /** Topics that a start or the next leader would create. */
  missing: readonly string[]
  others: readonly OtherSetting[]
  /** Why this user may not read events, join the group, or write as a poller. */
  refused: readonly string[]
  /** Why the settings of topics could not be read; null where they could. */
  unread: string | null
  /** Why topics may not be created; null where they may, and without the role `poller`. */
  creation: string | null
  /** The last event by the writer's state, and by the topic of all events, where they differ; null where they agree. */
  disagreement: Disagreement | null
  /** The topic of all events where it is missing, though the state of the writer is there; null otherwise. */
  lostEvents: string | null
  /** Settings that the cluster refuses for topics that a bridge would create. Empty without the role `poller`. */
  refusedSettings: readonly RefusedSettings[]
}

/** What an inspection needs. */
export interface InspectOptions {
  connection: KafkaConnection
  topics: TopicSettings
  /** Codes whose topics exist from the start. */
  knownCodes: { fca: readonly string[]; native: readonly string[] }
  /** True: this process is to poll, and so needs to write. */
  polls: boolean
  clock: Clock
  logger: Logger
}

const LIMIT_MS = 15_000
/** In the names of topics that are asked about and never created. */
const PROBE = 'DOCTOR'

/**
 * Inspects the cluster.
 * @throws BridgeError `log_unavailable` when it cannot be reached or refuses this user's login; the signal's reason
 */
export async function inspectKafka(options: InspectOptions, signal: AbortSignal): Promise<KafkaReport> {
  const session = kafkaSessions(options.connection, options.logger)()
  try {
    return await withTimeout(options.clock, LIMIT_MS, signal, inspect(session, options))
  } catch (error) {
    signal.throwIfAborted()
    throw unavailable('looking at the cluster', error)
  } finally {
    session.end()
  }
}

/** The lowest replication of a topic, where the loss of a broker could lose records; null where it is safe. */
export function lowReplication({ present, replication }: KafkaReport): number | null {
  const counts = present.map(({ replicas }) => replicas)
  const lowest = counts.length === 0 ? replication : Math.min(...counts)
  return lowest < SAFE_REPLICAS ? lowest : null
}

async function inspect({ kafka, partitions }: KafkaSession, options: InspectOptions): Promise<KafkaReport> {
  const { prefix } = options.topics
  const admin = kafka.admin()
  await admin.connect()
  const { brokers } = await admin.describeCluster()
  const { topics } = await admin.fetchTopicMetadata()
  const own = topicName(prefix, '')
  const further = topics
    .filter(({ name }) => name.startsWith(own))
    .map(({ name }) => name.slice(own.length))
    .filter((topic) => isShardsTopic(topic) || isJournalTopic(topic) || isCodeTopic(topic))
  const refused: string[] = []
  const probe = async <T>(doing: string, request: Promise<T>): Promise<T | null> =>
    request.catch((error: unknown) => {
      if (isBridgeError(error, 'log_damaged')) throw error
      refused.push(unavailable(doing, error).message)
      return null
    })
  const names = new Set(topics.map(({ name }) => name))
  const state = topicName(prefix, STATE)
  const all = topicName(prefix, ALL)
  const rows = names.has(state)
    ? await probe('reading the state of the writer', committedRows(partitions, state, options.clock))
    : null
  if (names.has(all)) await probe('reading events', partitions.offsets(all))
  const ends =
    rows !== null && names.has(all) && refused.length === 0
      ? await readTopicEnds(partitions, { state, all }, options.clock)
      : null
  const stored = readStateRows(rows ?? new Map())
  const learnt = learntTopics(stored?.state.choices ?? new Map())
  const expected = [...startTopics(codeTopics(options.knownCodes)), ...further, ...learnt]
  const wanted = new Map(expected.map((topic) => [topicName(prefix, topic), topic]))
  const present = topics
    .filter(({ name }) => wanted.has(name))
    .map(({ name, partitions }) => ({
      topic: name,
      partitions: partitions.length,
      replicas: Math.min(...partitions.map(({ replicas }) => replicas.length)),
      inSync: Math.min(...partitions.map(({ isr }) => isr.length)),
      shards: isShardsTopic(wanted.get(name) ?? ''),
    }))
  const seen = new Set(present.map(({ topic }) => topic))
  await probe('asking for the group of leaders', admin.describeGroups([`${prefix}.leader`]))
  let unread: string | null = null
  const others = await otherSettings(admin, present, wanted, options.topics).catch((error: unknown) => {
    unread = unavailable('reading the settings of topics', error).message
    return []
  })
  const acls = options.polls
    ? await probeAcls({ partitions, admin }, prefix, [...seen])
    : { refused: [], creation: null }
  const answering = brokers.map(({ nodeId }) => nodeId)
  const replication = replicationOf(options.topics, {
    answering,
    holding: topics.flatMap(({ partitions }) => partitions.flatMap(({ replicas }) => replicas)),
    named: options.connection.brokers.length,
  })
  const missing = [...wanted].filter(([name]) => !seen.has(name))
  const future = [
    ...missing.map(([, topic]) => onePartition(topic)),
    ...[onePartition(codeTopic('fca', PROBE)), shardsPlan(PROBE, 1), journalPlan(PROBE, DAY_MS)],
  ].map((plan) => newTopic(plan, options.topics, replication))
  // With too few brokers every topic is refused, which is reported as such.
  const mayCreate = options.polls && acls.creation === null && replication <= brokers.length
  const holding = topics
    .filter(({ name }) => seen.has(name))
    .flatMap(({ partitions }) => partitions.flatMap(({ replicas }) => replicas))
  return {
    brokers: brokers.length,
    silent: [...new Set(holding)].filter((id) => !answering.includes(id)).sort((one, other) => one - other),
    replication,
    present,
    missing: missing.map(([name]) => name),
    others,
    refused: [...refused, ...acls.refused],
    unread,
    creation: acls.creation,
    disagreement: ends && disagreementOf(ends),
    lostEvents: !names.has(all) && stored !== null ? all : null,
    refusedSettings: mayCreate ? await refusedSettings(admin, future) : [],
  }
}

async function otherSettings(
  admin: Admin,
  present: KafkaReport['present'],
  wanted: ReadonlyMap<string, string>,
  settings: TopicSettings,
): Promise<OtherSetting[]> {
  if (present.length === 0) return []
  const expected = new Map(
    present.map(({ topic, replicas }) => [
      topic,
      topicConfig(wanted.get(topic) ?? topic, settings, replicas),
    ]),
  )
  // Node finds this name only inside the default export.
  const { TOPIC: topic } = kafkajs.ConfigResourceTypes
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [...expected].map(([name, config]) => ({
      type: topic,
      name,
      configNames: Object.keys(config),
    })),
  })
  return resources.flatMap(({ resourceName, configEntries }) =>
    Object.entries(expected.get(resourceName) ?? {}).flatMap(([name, value]) => {
      const found = configEntries.find(({ configName }) => configName === name)?.configValue ?? 'unknown'
      return found === value ? [] : [{ topic: resourceName, name, found, expected: value }]
    }),
  )
}

/** What differs, as a clause for operators. */
export function disagreementWords({ state, last }: Disagreement): string {
  return `the state of the writer names event ${state} as the last, but the events end with ${last}`
}
