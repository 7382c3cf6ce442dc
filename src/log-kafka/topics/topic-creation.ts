/**
 * Creates topics, without those of their settings that the cluster refuses. Also asks, without creating anything, which
 * settings it would refuse.
 */
import type { Admin, ITopicConfig } from 'kafkajs'
import { isBridgeError } from '../../errors.ts'
import type { Logger } from '../../obs/logger.ts'
import { settingsRefusal } from '../client/faults.ts'
import { type AcceptedSettings, acceptedSettings, refusedTopic } from './accepted-settings.ts'

/** A topic to be created, by its name in the cluster. */
export interface NewTopic {
  name: string
  partitions: number
  replicas: number
  settings: Readonly<Record<string, string>>
}

const ALREADY_THERE = 'TOPIC_ALREADY_EXISTS'

/**
 * Creates the topics that do not exist. Logs which settings were left out, once for all topics that lack the same.
 * @throws BridgeError `kafka` when the cluster refuses a topic with its essential settings alone; kafkajs's errors
 */
export async function createNewTopics(
  { admin, logger }: { admin: Admin; logger: Logger },
  topics: readonly NewTopic[],
): Promise<void> {
  const refusals = await refusedOf(admin, topics)
  if (refusals.size === 0) return
  const acceptedOf = acceptedByCluster(admin)
  const reduced: (NewTopic & { changed: string })[] = []
  for (const topic of topics.filter(({ name }) => refusals.has(name))) {
    const { settings, changed } = await acceptedOf(topic)
    reduced.push({ ...topic, settings, changed: changed.join(', ') })
  }
  for (const [settings, [first, ...others]] of Map.groupBy(reduced, ({ changed }) => changed)) {
    if (first === undefined) continue
    const reason = refusals.get(first.name) ?? ''
    logger.warn('topic.settings_refused', { topic: first.name, count: 1 + others.length, settings, reason })
  }
  for (const [name, refusal] of await refusedOf(admin, reduced)) throw refusedTopic(name, refusal)
}

/**
 * Asks for the settings of a topic that the cluster accepts, once for topics with the same settings. Throws as
 * `acceptedSettings`, and kafkajs's errors.
 */
function acceptedByCluster(admin: Admin): (topic: NewTopic) => Promise<AcceptedSettings> {
  const found = new Map<string, Promise<AcceptedSettings>>()
  return (topic) => {
    const refusalOf = async (settings: NewTopic['settings']): Promise<string | null> => {
      const refusals = await refusedOf(admin, [{ ...topic, settings }], true)
      return refusals.get(topic.name) ?? null
    }
    const key = JSON.stringify(topic.settings)
    const accepted = found.get(key) ?? acceptedSettings(topic.name, topic.settings, refusalOf)
    found.set(key, accepted)
    return accepted
  }
}

/** Settings of a new topic that the cluster refuses. */
export interface RefusedSettings {
  topic: string
  /** Names of those that would be left out or lowered; null: the topic is refused even without them. */
  settings: readonly string[] | null
  why: string
}

/** What the cluster refuses of these topics, without creating any. Throws kafkajs's errors. */
export async function refusedSettings(admin: Admin, topics: readonly NewTopic[]): Promise<RefusedSettings[]> {
  const acceptedOf = acceptedByCluster(admin)
  const refused: RefusedSettings[] = []
  for (const topic of topics) {
    try {
      const { changed } = await acceptedOf(topic)
      const why = changed.length === 0 ? undefined : (await refusedOf(admin, [topic], true)).get(topic.name)
      if (why !== undefined) refused.push({ topic: topic.name, settings: changed, why })
    } catch (error) {
      if (!isBridgeError(error, 'kafka')) throw error
      refused.push({ topic: topic.name, settings: null, why: error.message })
    }
  }
  return refused
}

/** Creates topics; those whose settings the cluster refuses, by name, with its reason. `validateOnly`: creates none. */
async function refusedOf(
  admin: Admin,
  topics: readonly NewTopic[],
  validateOnly = false,
): Promise<ReadonlyMap<string, string>> {
  try {
    // kafkajs's own waiting fails on topics that are a moment old (measured: 8 times of 9).
    await admin.createTopics({ topics: topics.map(requested), validateOnly, waitForLeaders: false })
    return new Map()
  } catch (error) {
    const refusals = new Map<string, string>()
    const { errors = [error] } = error as { errors?: unknown[] }
    for (const one of errors) {
      const { type, topic } = one as { type?: string; topic?: string }
      // Another process creates the same topics at the same moment; the missing ones were created.
      if (type === ALREADY_THERE) continue
      const reason = settingsRefusal(one)
      if (reason === null || topic === undefined) throw error
      refusals.set(topic, reason)
    }
    return refusals
  }
}

function requested({ name, partitions, replicas, settings }: NewTopic): ITopicConfig {
  return {
    topic: name,
    numPartitions: partitions,
    replicationFactor: replicas,
    configEntries: Object.entries(settings).map(([key, value]) => ({ name: key, value })),
  }
}
