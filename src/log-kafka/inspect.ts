/**
 * Kafka as it stands, for an operator: brokers, topics, their settings, what this user may do. Owns the looking. Refuses
 * to make or change anything, and to judge.
 */
import kafkajs, { type Admin } from 'kafkajs'
import type { Clock } from '../lifecycle/clock.ts'
import type { OpenSession } from './client/client.ts'
import { unavailable } from './client/faults.ts'
import { within } from './client/with-timeout.ts'
import { askWriteRights } from './topics/acl-probe.ts'
import { replicationOf, type TopicSettings, topicConfig } from './topics/topic-setup.ts'
import { ALL, isJournalTopic, isShardsTopic, startTopics, topicName } from './topics/topics.ts'

/** A setting of a topic that is not as a bridge would make it now. */
export interface OtherSetting {
  topic: string
  name: string
  found: string
  expected: string
}

/** What was found. Topics by their full names. */
export interface KafkaReport {
  brokers: number
  /** Replication that topics made now would have. */
  replication: number
  /**
   * Topics that a start would make, and that this user sees or does not; with them those of shards and journals that are
   * there. `shards`: a topic that has as many partitions as there are shards.
   */
  present: readonly { topic: string; partitions: number; replicas: number; inSync: number; shards: boolean }[]
  missing: readonly string[]
  others: readonly OtherSetting[]
  /** Why events or the group could not be read, or a poller not work, with this user's rights. */
  refused: readonly string[]
  /** Why the settings of topics could not be read; null where they could. */
  unread: string | null
  /** Why topics may not be made; null where they may, and without the role `poller`. */
  creation: string | null
}

const LIMIT_MS = 15_000

/**
 * Looks at the cluster.
 * @throws BridgeError `log_unavailable` when it cannot be reached, or does not let this user in; the signal's reason
 */
export async function inspectKafka(
  parts: {
    openSession: OpenSession
    clock: Clock
    settings: TopicSettings
    /** Addresses of brokers in the settings. */
    named: number
    /** Whether this process polls, and so needs to write. */
    polls: boolean
    known: ReadonlySet<string>
  },
  signal: AbortSignal,
): Promise<KafkaReport> {
  const session = parts.openSession()
  const { prefix } = parts.settings
  const look = async (): Promise<KafkaReport> => {
    const admin = session.kafka.admin()
    await admin.connect()
    const { brokers } = await admin.describeCluster()
    const { topics } = await admin.fetchTopicMetadata()
    const further = topics
      .filter(({ name }) => name.startsWith(topicName(prefix, '')))
      .map(({ name }) => name.slice(topicName(prefix, '').length))
      .filter((topic) => isShardsTopic(topic) || isJournalTopic(topic))
    const made = [...startTopics(parts.known), ...further]
    const wanted = new Map(made.map((topic) => [topicName(prefix, topic), topic]))
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
    const refused: string[] = []
    const trying = async (doing: string, work: () => Promise<unknown>): Promise<void> => {
      try {
        await work()
      } catch (error) {
        refused.push(unavailable(doing, error).message)
      }
    }
    const all = topicName(prefix, ALL)
    if (seen.has(all)) await trying('reading events', () => session.partitions.offsets(all))
    await trying('asking for the group of leaders', () => admin.describeGroups([`${prefix}.leader`]))
    let unread: string | null = null
    const others = await otherSettings(admin, present, wanted, parts.settings).catch((error: unknown) => {
      unread = unavailable('reading the settings of topics', error).message
      return []
    })
    const asked = { partitions: session.partitions, admin }
    const writing = parts.polls
      ? await askWriteRights(asked, prefix, [...seen])
      : { refused: [], creation: null }
    refused.push(...writing.refused)
    const missing = [...wanted.keys()].filter((name) => !seen.has(name))
    const replication = replicationOf(parts.settings, {
      answering: brokers.map(({ nodeId }) => nodeId),
      holding: topics.flatMap(({ partitions }) => partitions.flatMap(({ replicas }) => replicas)),
      named: parts.named,
    })
    return {
      ...{ brokers: brokers.length, replication, present, missing, others },
      ...{ refused, unread, creation: writing.creation },
    }
  }
  try {
    return await within(parts.clock, LIMIT_MS, signal, look())
  } catch (error) {
    signal.throwIfAborted()
    throw unavailable('looking at the cluster', error)
  } finally {
    session.end()
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
