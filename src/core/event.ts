/**
 * Builds the events of the log and encodes them as CloudEvents 1.0 JSON. An event is an item (a regulatory announcement) or
 * the change of a gap (a span of time in which items may be missing). The writer of the log assigns the sequence.
 */
import { encodeCursor } from './cursor.ts'
import { isoMillis } from './dates.ts'
import { type Disclosure, issuerKey, type ParsedItem, type ParseResult, parseItem } from './disclosure.ts'
import type { FoundBy } from './purpose.ts'

/** The CloudEvents types of the events. */
export const PUBLISHED = 'disclosure.published.v1'
export const AMENDED = 'disclosure.amended.v1'
export const GAP_OPENED = 'bridge.gap.opened.v1'
export const GAP_FILLED = 'bridge.gap.filled.v1'
export const GAP_GIVEN_UP = 'bridge.gap.given_up.v1'

/** Event types of announcements, and event types of gaps. */
export const disclosureTypes = [PUBLISHED, AMENDED] as const
export const gapTypes = [GAP_OPENED, GAP_FILLED, GAP_GIVEN_UP] as const

/** The type of an event. */
export type EventType = (typeof disclosureTypes | typeof gapTypes)[number]

/** The time format of CloudEvents. */
const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/

/** An event before the log has assigned its sequence. */
export interface NewEvent {
  id: string
  source: string
  type: EventType
  /** Upstream `timestamp`, converted where it is not RFC 3339; for a gap, when its state changed. */
  time: string
  /** `time` in ms since 1970; of an item that is stamped ahead, `aheadof`. Cursors and starts by time count with it. */
  timeMs: number
  subject: string
  /** ISO 8601: when the bridge received it. */
  recordedtime: string
  late: boolean
  /** Upstream's present, ISO 8601, when an item came whose `time` is more than a minute ahead of it; else absent. */
  aheadof?: string
  replacesid: string | null
  /** How its item was found. Absent of a gap event, and where an older build wrote the event. */
  foundBy?: FoundBy
  /** Which request brought its item and what was before it, as text: see `archive/journeys.ts`. Absent as `foundBy`. */
  journey?: string
  /** JSON text of the upstream item as received, on one line; or of the gap. */
  data: string
  /** `data` as parsed when the item was fetched. Absent in a gap and in an event that was read from a log. */
  item?: ParsedItem
}

/** What is known of an event beside its text. Each member is absent where it is not known, as where older builds wrote it. */
export interface Provenance {
  /** How its item was found; absent of a gap event too. */
  foundBy?: FoundBy
  /** When the log stored it, ms since 1970: on Kafka by the broker's clock, else by ours. Absent in the result of a commit. */
  committedMs?: number
  /** The Kafka topics that hold it beside that of all events, without their prefix. Absent in the result of a commit. */
  topics?: readonly string[]
  /** Which request brought its item, as text: see `archive/journeys.ts`. A later build may say more in it. */
  journey?: string
}

/** An event with its sequence, as the log stores it and readers receive it. */
export interface Committed extends NewEvent, Provenance {
  /** Gap-free from 1 inside an epoch. */
  sequence: number
  epoch: string
}

/** Why items may be missing: a poll left some out, upstream rejected the cursor, or no process polled. */
export type GapCause = 'overflow' | 'cursor_refused' | 'outage'

/** A range of upstream time in which items may be missing. Times are ISO 8601. */
export interface Gap {
  id: string
  from: string
  to: string
  cause: GapCause
  openedAt: string
  /** Items found so far by filling it. */
  found: number
  /** null while open. */
  closedAt: string | null
}

/** True for the bridge's own gap events, which reach every stream and pull reader. */
export function isGap(type: string): boolean {
  return type.startsWith('bridge.gap.')
}

/** The id of the event of that revision of an item. */
export function eventIdOf(guid: string, revision: number): string {
  return revision === 1 ? guid : `${guid}#${revision}`
}

/** The revision inside an event id: 1 for `<guid>` itself, n for `<guid>#<n>`. */
export function revisionOf(id: string, guid: string): number {
  return id === guid ? 1 : Number(id.slice(guid.length + 1))
}

/** The event of one item revision. `revision` 1 is the first known content of this guid. */
export function disclosureEvent(
  disclosure: Disclosure,
  held: {
    data: string
    revision: number
    recordedMs: number
    late: boolean
    foundBy?: FoundBy
    journey?: string
    /** Upstream's present, ms since 1970, where the item is stamped ahead of it. */
    aheadOfMs?: number
    item?: ParsedItem
  },
): NewEvent {
  return {
    id: eventIdOf(disclosure.guid, held.revision),
    source: '/disclosures/sources/rns',
    type: held.revision === 1 ? PUBLISHED : AMENDED,
    time: RFC_3339.test(disclosure.timestamp) ? disclosure.timestamp : isoMillis(disclosure.timeMs),
    timeMs: held.aheadOfMs ?? disclosure.timeMs,
    subject: issuerKey(disclosure.issuer),
    recordedtime: isoMillis(held.recordedMs),
    late: held.late,
    ...(held.aheadOfMs !== undefined && { aheadof: isoMillis(held.aheadOfMs) }),
    replacesid: disclosure.replacesGuid,
    ...(held.foundBy && { foundBy: held.foundBy }),
    ...(held.journey !== undefined && { journey: held.journey }),
    data: held.data,
    ...(held.item && { item: held.item }),
  }
}

/** The parsed item of a disclosure event; parses its data only where the event was read from a log. */
export function itemOf({ item, data }: Pick<NewEvent, 'item' | 'data'>): ParseResult {
  return item === undefined ? parseItem(JSON.parse(data), data) : { ok: true, item }
}

/** The event for a changed state of a gap: at `timeMs` by upstream’s clock, at `recordedMs` by ours. */
export function gapEvent(
  gap: Gap,
  type: typeof GAP_OPENED | typeof GAP_FILLED | typeof GAP_GIVEN_UP,
  { timeMs, recordedMs }: { timeMs: number; recordedMs: number },
): NewEvent {
  const state = type === GAP_OPENED ? 'opened' : type === GAP_FILLED ? 'filled' : 'given_up'
  return {
    id: `gap:${gap.id}:${state}`,
    source: '/bridge',
    type,
    time: isoMillis(timeMs),
    timeMs,
    subject: `gap:${gap.id}`,
    recordedtime: isoMillis(recordedMs),
    late: false,
    replacesid: null,
    data: JSON.stringify(gap),
  }
}

/** The resume point just after this event. */
export function cursorOf(event: Committed): string {
  return encodeCursor(event)
}

/** The CloudEvents attributes as the front of the event's JSON: everything but `"data":…}`. */
export function encodeAttributes(event: Committed): string {
  const attributes = {
    specversion: '1.0',
    id: event.id,
    source: event.source,
    type: event.type,
    time: event.time,
    subject: event.subject,
    sequence: event.sequence.toString().padStart(20, '0'),
    epoch: event.epoch,
    cursor: cursorOf(event),
    recordedtime: event.recordedtime,
    ...(event.late ? { late: 'true' } : {}),
    ...(event.aheadof === undefined ? {} : { aheadof: event.aheadof }),
    ...(event.replacesid === null ? {} : { replacesid: event.replacesid }),
    datacontenttype: 'application/json',
  }
  return JSON.stringify(attributes).slice(0, -1)
}

/** The text before `data` in an event's JSON. An attribute cannot hold it, because its quotes would be escaped. */
const BEFORE_DATA = ',"data":'
/** The text after `data`, which is the last member. */
const AFTER_DATA = '}'

/** The whole event as one line of JSON, from its two stored halves. */
export function joinEvent(attributes: string, data: string): string {
  return `${attributes}${BEFORE_DATA}${data}${AFTER_DATA}`
}

/** The bytes of `data` in the JSON of an event, as `joinEvent` joined it. Empty where there is none. */
export function dataBytes(json: Buffer): Buffer {
  const at = json.indexOf(BEFORE_DATA)
  return at < 0 ? json.subarray(0, 0) : json.subarray(at + BEFORE_DATA.length, -AFTER_DATA.length)
}
