/**
 * Compares the topic of the writer's state with the topic of all events, for the command `bridge repair`. Changes nothing: a
 * log that is opened with `repair` does.
 */
import { BridgeError } from '../errors.ts'
import type { KafkaSession } from './client/client.ts'
import { kafkaSessions } from './client/client.ts'
import { unavailable } from './client/faults.ts'
import { eventOf } from './client/records.ts'
import { withTimeout } from './client/with-timeout.ts'
import type { InspectOptions } from './inspect.ts'
import { newest } from './reading/offset-lookup.ts'
import { ALL, STATE, topicName } from './topics/topics.ts'
import { readTopicEnds, type TopicEnds } from './writer/log-end.ts'

/** What the two topics hold, and who could write to them. */
export interface ComparedTopics extends TopicEnds {
  /** Of the last event in the topic of all events; null where it has none. Times are ISO 8601. */
  lastEvent: { time: string; recordedtime: string } | null
  /** Processes that lead or stand for leader. */
  candidates: number
}

const LIMIT_MS = 60_000

/**
 * Compares the topics.
 * @throws BridgeError `log_unavailable` when they cannot be read, `kafka` when one does not exist, `log_damaged` when the state
 * is incomplete; the signal's reason
 */
export async function compareTopics(
  options: Pick<InspectOptions, 'connection' | 'topics' | 'clock' | 'logger'>,
  signal: AbortSignal,
): Promise<ComparedTopics> {
  const session = kafkaSessions(options.connection, options.logger)()
  try {
    return await withTimeout(options.clock, LIMIT_MS, signal, compare(session, options))
  } catch (error) {
    signal.throwIfAborted()
    throw unavailable('comparing state and events', error)
  } finally {
    session.end()
  }
}

async function compare(
  { kafka, partitions }: KafkaSession,
  { topics, clock }: Pick<InspectOptions, 'topics' | 'clock'>,
): Promise<ComparedTopics> {
  const state = topicName(topics.prefix, STATE)
  const all = topicName(topics.prefix, ALL)
  const admin = kafka.admin()
  await admin.connect()
  const found = new Set((await admin.fetchTopicMetadata()).topics.map(({ name }) => name))
  const missing = [state, all].find((topic) => !found.has(topic))
  if (missing !== undefined) {
    throw new BridgeError('kafka', `the topic ${missing} does not exist`, {
      hint: 'Check BRIDGE_TOPIC_PREFIX, or restore the topic first.',
    })
  }
  const ends = await readTopicEnds(partitions, { state, all }, clock)
  const [lastEvent = null] = await newest(partitions, all, { limit: 1 }, (record) => {
    const { time, recordedtime } = eventOf(record)
    return { time, recordedtime }
  })
  const { groups } = await admin.describeGroups([`${topics.prefix}.leader`])
  return { ...ends, lastEvent, candidates: groups[0]?.members.length ?? 0 }
}
