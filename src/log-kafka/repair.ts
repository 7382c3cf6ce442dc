/**
 * Compares the topic of the writer's state with the topic of all events, for the command `bridge repair`. Changes nothing: a
 * log that is opened with `repair` does.
 */
import { GAP_OPENED, type Gap, isGap } from '../core/event.ts'
import { BridgeError } from '../errors.ts'
import { storedValue } from '../log/stored-value.ts'
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
  /** Gaps that the newest events open and do not close. */
  openGaps: Gap[]
  /** Processes that lead or stand for leader. */
  candidates: number
}

/** What to do where the topic of all events is missing, though the state of the writer is there. */
export const LOST_EVENTS_ADVICE =
  'stop every bridge, put this topic and internal.state back from one backup, and run bridge restore. Without a backup: start a bridge, which creates the topic empty and ends (log_damaged), stop it, and run bridge repair: the log begins a new epoch and reads again what the upstream still has'

const LIMIT_MS = 60_000
/** Newest events that are read for open gaps: four weeks of usual days. A gap is given up after three. */
const NEWEST = 40_000

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
      hint:
        missing === all
          ? `Check BRIDGE_TOPIC_PREFIX. If the topic was deleted, ${LOST_EVENTS_ADVICE}.`
          : 'Check BRIDGE_TOPIC_PREFIX, or restore the topic first.',
    })
  }
  const ends = await readTopicEnds(partitions, { state, all }, clock)
  const events = await newest(partitions, all, { limit: NEWEST }, (record) => {
    const event = eventOf(record)
    if (event === null) return null
    const { sequence, time, recordedtime, type, id, data } = event
    return { sequence, time, recordedtime, type, gap: isGap(type) ? storedValue<Gap>(id, data) : null }
  })
  const openGaps = new Map<string, Gap>()
  for (const { type, gap } of events) {
    if (type === GAP_OPENED && gap !== null) openGaps.set(gap.id, gap)
    else if (gap !== null) openGaps.delete(gap.id)
  }
  const highest = events.reduce((most, { sequence }) => Math.max(most, sequence), 0)
  const last = events.at(-1)
  if (last !== undefined && highest > last.sequence) throw copiedAgain(all, highest, last.sequence)
  const lastEvent = last === undefined ? null : { time: last.time, recordedtime: last.recordedtime }
  const { groups } = await admin.describeGroups([`${topics.prefix}.leader`])
  const candidates = groups[0]?.members.length ?? 0
  return { ...ends, lastEvent, openGaps: [...openGaps.values()], candidates }
}

/** A restarted mirror copies some records a second time. Where it ends among them, the next event would have a number twice. */
function copiedAgain(topic: string, highest: number, last: number): BridgeError {
  return new BridgeError(
    'log_damaged',
    `the mirror of ${topic} ends in the middle of a second copy: it has event ${highest}, and after it ${last} again`,
    { hint: 'Let the mirror copy the rest, or restore the topics of this prefix from one backup.' },
  )
}
