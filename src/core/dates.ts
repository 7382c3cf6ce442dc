/**
 * Parses upstream timestamps and date bounds (upstream specification §4.1.3) to milliseconds, and formats moments as ISO
 * 8601. A time without a zone is UTC.
 */
import { BridgeError } from '../errors.ts'
import { SECOND_MS } from './durations.ts'

const TIMESTAMP =
  /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:[.,](\d{1,9}))?(Z|z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)?$/
const PARTIAL = /^\d{4}(?:-\d{2}(?:-\d{2}(?:T\d{2}:\d{2})?)?)?$/
/** Its end completes a partial form to the first second of its period. */
const FIRST_SECOND = '0000-01-01T00:00:00'
const CALENDAR_DATE = /^(?:19[7-9]\d|20\d\d)-\d\d-\d\d$/
const PARTIAL_FORMS = 'YYYY, YYYY-MM, YYYY-MM-DD, YYYY-MM-DDTHH:MM'
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/

/** Milliseconds of `YYYY-MM-DDTHH:MM:SS` in UTC, or null where there is no such moment (30 February, hour 24). */
function utcMs(text: string): number | null {
  const ms = Date.parse(`${text}Z`)
  return Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 19) !== text ? null : ms
}

/**
 * Reads an upstream timestamp: date and time with 0 to 9 decimals and a zone; without one it is UTC. Decimals below a millisecond are cut.
 * @returns milliseconds since 1970, or null when the text is no such moment
 */
export function parseTimestamp(text: string): number | null {
  const match = TIMESTAMP.exec(text)
  if (match === null) return null
  const [, date, time, fraction = '', zone = 'Z'] = match
  const base = utcMs(`${date}T${time}`)
  if (base === null) return null
  const fractionMs = Number(fraction.padEnd(3, '0').slice(0, 3))
  return base + fractionMs - zoneMs(zone)
}

function zoneMs(zone: string): number {
  if (zone === 'Z' || zone === 'z') return 0
  const sign = zone.startsWith('-') ? -1 : 1
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(-2))
  return sign * (hours * 60 + minutes) * 60 * SECOND_MS
}

/** The first and the last millisecond that a date bound can mean: `dateFrom` takes `from`, `dateTo` takes `to`. */
export interface DateBound {
  fromMs: number
  toMs: number
}

/**
 * Reads one of the five forms `YYYY`, `YYYY-MM`, `YYYY-MM-DD`, `YYYY-MM-DDTHH:MM` and a full date-time with `Z`.
 * A partial form covers its whole period. The specification says up to the last second, such as 23:59:59; here it is the
 * last millisecond, so that an item stamped 23:59:59.500 belongs to its day. A full form is that instant twice.
 * These are upstream's rules, for `/v2`.
 * @throws BridgeError `date_invalid` naming the forms
 */
export function parseDateBound(text: string): DateBound {
  const bound = INSTANT.test(text) ? instantBound(text) : periodBound(text)
  return bound ?? refuse(text, 'date', `${PARTIAL_FORMS} or YYYY-MM-DDTHH:MM:SSZ; all are UTC`)
}

/**
 * Reads a time from a request to the bridge: any timestamp that upstream may send, so that the `time` of every event is
 * accepted, or a partial form as above.
 * @throws BridgeError `date_invalid` naming the forms
 */
export function parseTimeBound(text: string): DateBound {
  const forms = `${PARTIAL_FORMS}, or a time such as 2026-02-03T07:00:00Z or 2026-02-03T09:00:00+02:00`
  return (
    instantBound(text) ?? periodBound(text) ?? refuse(text, 'time', `${forms}; without an offset it is UTC`)
  )
}

function refuse(text: string, what: string, forms: string): never {
  throw new BridgeError('date_invalid', `"${text.slice(0, 40)}" is not a ${what}`, { hint: `Use ${forms}.` })
}

function instantBound(text: string): DateBound | null {
  const instant = parseTimestamp(text)
  return instant === null ? null : { fromMs: instant, toMs: instant }
}

function periodBound(text: string): DateBound | null {
  const fromMs = PARTIAL.test(text) ? utcMs(`${text}${FIRST_SECOND.slice(text.length)}`) : null
  if (fromMs === null) return null
  const next = new Date(fromMs)
  if (text.length === 'YYYY'.length) next.setUTCFullYear(next.getUTCFullYear() + 1)
  else if (text.length === 'YYYY-MM'.length) next.setUTCMonth(next.getUTCMonth() + 1)
  else if (text.length === 'YYYY-MM-DD'.length) next.setUTCDate(next.getUTCDate() + 1)
  else next.setUTCMinutes(next.getUTCMinutes() + 1)
  return { fromMs, toMs: next.getTime() - 1 }
}

/** ISO 8601 with whole seconds and `Z`, the form that upstream's date parameters take. Rounds down. */
export function isoSeconds(ms: number): string {
  return `${new Date(Math.floor(ms / SECOND_MS) * SECOND_MS).toISOString().slice(0, 19)}Z`
}

/** ISO 8601 with milliseconds and `Z`. */
export function isoMillis(ms: number): string {
  return new Date(ms).toISOString()
}

/** The same, for a moment that there may not be. */
export function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : isoMillis(ms)
}

/** Whether the text is a day that exists, as `YYYY-MM-DD`, from 1970 to 2099. */
export function isCalendarDate(text: string): boolean {
  const ms = CALENDAR_DATE.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text)
}
