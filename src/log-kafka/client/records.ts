/**
 * Converts events, status messages and rejected items (upstream items that cannot be read) to Kafka records. Reads events
 * and rejected items back from records.
 */
import { traceOfJourney } from '../../archive/journeys.ts'
import { parseTimestamp } from '../../core/dates.ts'
import { type Committed, cursorOf, type EventType } from '../../core/event.ts'
import { type RejectedItem, rejectedHash, type StatusMessage } from '../../log/events.ts'
import { topicsText, withFoundBy, withTopics } from '../../log/provenance-text.ts'
import { traceparentOf } from '../../obs/trace-context.ts'
import { foreignRecord } from './faults.ts'
import type { AppendedRecord, KafkaRecord } from './partition-protocol.ts'

/** A record to be sent. Only the topics of shards have more than partition 0. */
export interface NewRecord extends AppendedRecord {
  partition: number
}

/** The event as record number `topicSequence` of a topic. */
export function eventRecord(event: Committed, topicSequence: number): NewRecord {
  const trace = traceOfJourney(event.journey)
  return {
    partition: 0,
    key: event.subject,
    value: event.data,
    headers: {
      'content-type': 'application/json',
      ce_specversion: '1.0',
      ce_id: event.id,
      ce_source: event.source,
      ce_type: event.type,
      ce_time: event.time,
      ce_subject: event.subject,
      ce_sequence: event.sequence.toString().padStart(20, '0'),
      ce_epoch: event.epoch,
      ce_cursor: cursorOf(event),
      ce_recordedtime: event.recordedtime,
      ...(event.late ? { ce_late: 'true' } : {}),
      ...(event.aheadof === undefined ? {} : { ce_aheadof: event.aheadof }),
      ...(event.replacesid === null ? {} : { ce_replacesid: event.replacesid }),
      ce_topicsequence: topicSequence.toString(),
      ...(trace === null ? {} : { traceparent: traceparentOf(trace) }),
    },
  }
}

/** The event as a record of `all`, which also says how its item was found, by which request, and which other topics hold it. */
export function recordOfAll(event: Committed, topics: readonly string[]): NewRecord {
  const record = eventRecord(event, event.sequence)
  const { foundBy, journey } = event
  const headers = {
    ...record.headers,
    ...(foundBy && { foundby: foundBy }),
    ...(journey !== undefined && { journey }),
    topics: topicsText(topics),
  }
  return { ...record, headers }
}

/** True where the record has a header of an event. Every event has; a record without one was never written by a bridge. */
function isEventRecord({ headers }: KafkaRecord): boolean {
  return Object.keys(headers).some((name) => name.startsWith('ce_'))
}

/**
 * The event of a record of `all`; null where the record is none.
 * @throws BridgeError `log_damaged` when it is an event that lacks something
 */
export function eventOf(record: KafkaRecord): Committed | null {
  if (!isEventRecord(record)) return null
  const text = (name: string): string => headerOf(record, name) ?? damaged(record, `has no header ${name}`)
  const time = text('ce_time')
  const aheadof = headerOf(record, 'ce_aheadof')
  const position = aheadof ?? time
  const journey = headerOf(record, 'journey')
  return {
    id: text('ce_id'),
    source: text('ce_source'),
    type: text('ce_type') as EventType,
    time,
    timeMs: parseTimestamp(position) ?? damaged(record, `has an unreadable time ${position}`),
    subject: text('ce_subject'),
    recordedtime: text('ce_recordedtime'),
    late: headerOf(record, 'ce_late') === 'true',
    ...(aheadof !== null && { aheadof }),
    replacesid: headerOf(record, 'ce_replacesid'),
    ...withFoundBy(headerOf(record, 'foundby')),
    ...(journey !== null && { journey }),
    ...withTopics(headerOf(record, 'topics')),
    committedMs: record.timestampMs,
    data: record.value?.toString('utf8') ?? damaged(record, 'has no value'),
    sequence: sequenceIn(record),
    epoch: text('ce_epoch'),
  }
}

/**
 * The sequence of a record of `all`; null where the record is no event.
 * @throws BridgeError `log_damaged` when it is an event that has none
 */
export function sequenceOf(record: KafkaRecord): number | null {
  return isEventRecord(record) ? sequenceIn(record) : null
}

function sequenceIn(record: KafkaRecord): number {
  const sequence = Number(headerOf(record, 'ce_sequence') ?? Number.NaN)
  return sequence > 0 ? sequence : damaged(record, 'has no sequence')
}

/** The event's number in its topic; null where the record is not an event. */
export function topicSequenceOf(record: KafkaRecord): number | null {
  const text = headerOf(record, 'ce_topicsequence')
  return text === null ? null : Number(text)
}

/**
 * The rejected item as a record, whose value is the upstream's bytes. Of a longer item the first `mostBytes` are kept, and
 * the hash of all of it, by which it is recognised.
 */
export function rejectedRecord(item: RejectedItem, mostBytes = Number.POSITIVE_INFINITY): NewRecord {
  const { guid, recordedtime } = item
  const kept = firstBytes(item.raw, mostBytes)
  const isCut = kept !== item.raw
  const reason = isCut
    ? `${item.reason}; only its first ${Buffer.byteLength(kept)} of ${Buffer.byteLength(item.raw)} bytes are kept, because the topic accepts no larger record`
    : item.reason
  const hash = isCut ? { hash: rejectedHash(item.raw) } : {}
  return {
    partition: 0,
    key: guid,
    value: kept,
    headers: { reason, ...(guid === null ? {} : { guid }), recordedtime, ...hash },
  }
}

/** The hash by which the rejected item of a record is recognised. */
export function rejectedHashOf(record: KafkaRecord): string {
  return headerOf(record, 'hash') ?? rejectedHash(rejectedOf(record).raw)
}

/** As much of the text as fits, in whole characters. */
function firstBytes(text: string, mostBytes: number): string {
  if (Buffer.byteLength(text) <= mostBytes) return text
  const bytes = Buffer.from(text)
  let end = mostBytes
  // A byte that continues a character has 10 as its first bits.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.toString('utf8', 0, end)
}

/** A status report as a record of the status topic. */
export function statusRecord(value: StatusMessage): NewRecord {
  const headers = { 'content-type': 'application/json' }
  return { partition: 0, key: value.type, value: JSON.stringify(value), headers }
}

/** The rejected item of a record. */
export function rejectedOf(record: KafkaRecord): RejectedItem {
  return {
    raw: record.value?.toString('utf8') ?? '',
    reason: headerOf(record, 'reason') ?? '',
    guid: headerOf(record, 'guid'),
    recordedtime: headerOf(record, 'recordedtime') ?? '',
  }
}

/** The text of a header; null where the record has none of that name. */
export function headerOf({ headers }: KafkaRecord, name: string): string | null {
  const value = headers[name]
  const one = Array.isArray(value) ? value[0] : value
  return one?.toString('utf8') ?? null
}

function damaged(record: KafkaRecord, what: string): never {
  throw foreignRecord(`record ${record.offset} of the log ${what}`)
}
