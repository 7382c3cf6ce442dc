/** Writes times as London sees them, and durations in words. */
import { type ComponentChildren, h } from 'preact'
import { useNow, useUpstreamClock } from '../shell/services.ts'

const ZONE = 'Europe/London'
const parts = new Intl.DateTimeFormat('en-GB', {
  timeZone: ZONE,
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
  timeZoneName: 'short',
})
const weekday = new Intl.DateTimeFormat('en-GB', { timeZone: ZONE, weekday: 'short' })
const dayMonth = new Intl.DateTimeFormat('en-GB', { timeZone: ZONE, day: 'numeric', month: 'short' })
const HOUR_MS = 3_600_000

/** A moment as London's clocks show it. */
export interface LondonTime {
  /** `2026-11-23`. */
  date: string
  /** `07:00:09`. */
  time: string
  /** `GMT` or `BST`. */
  zone: string
  /** Whether the clocks show this time twice on that day: it is in the last hour of BST or in the first one of GMT. */
  isTwice: boolean
}

/** A moment in London. `ms` since 1970. */
export function londonTime(ms: number): LondonTime {
  const found = partsOf(ms)
  // London's clocks go back at two, in October.
  const isTwice =
    found.hour === '01' &&
    found.month === '10' &&
    zoneOf(partsOf(ms - HOUR_MS)) !== zoneOf(partsOf(ms + HOUR_MS))
  return {
    date: `${found.year}-${found.month}-${found.day}`,
    time: `${found.hour}:${found.minute}:${found.second}`,
    zone: zoneOf(found),
    isTwice,
  }
}

type Parts = Partial<Record<Intl.DateTimeFormatPartTypes, string>>

function partsOf(ms: number): Parts {
  return Object.fromEntries(parts.formatToParts(ms).map(({ type, value }) => [type, value]))
}

function zoneOf({ timeZoneName }: Parts): string {
  return timeZoneName === 'GMT' ? 'GMT' : 'BST'
}

/**
 * `07:00:09`, or with the day before it where that is not the day of `nowMs`: `Fri 20 Nov 07:00:09`, with the year where that
 * is another: `Thu 20 Nov 2025 07:00:09`. In the hour that the clocks repeat: `01:30:00 BST`.
 */
export function shortMoment(ms: number, nowMs: number): string {
  const { date, time, zone, isTwice } = londonTime(ms)
  const clock = isTwice ? `${time} ${zone}` : time
  const today = londonTime(nowMs).date
  if (date === today) return clock
  const year = date.slice(0, 4) === today.slice(0, 4) ? '' : ` ${date.slice(0, 4)}`
  return `${weekday.format(ms)} ${dayMonth.format(ms)}${year} ${clock}`
}

/** `07:00`; `01:30 BST` or `01:30 GMT` in the hour that the clocks repeat in October. */
export function clockOf(ms: number): string {
  const { time, zone, isTwice } = londonTime(ms)
  return isTwice ? `${time.slice(0, 5)} ${zone}` : time.slice(0, 5)
}

/** `2026-11-23 07:00:09.123 GMT`. */
export function exactMoment(ms: number): string {
  const { date, time, zone } = londonTime(ms)
  const millis = (((ms % 1000) + 1000) % 1000).toString().padStart(3, '0')
  return `${date} ${time}.${millis} ${zone}`
}

/** ms since 1970; null for text that is no time. */
export function millisOf(iso: unknown): number | null {
  const ms = typeof iso === 'string' ? Date.parse(iso) : Number.NaN
  return Number.isNaN(ms) ? null : ms
}

/** `0.4 s`, `12 s`, `2 min 05 s`, `4 h 12 min`, `3 days 4 h`. Never negative. */
export function inWords(ms: number): string {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 9.95) return `${(Math.round(seconds * 10) / 10).toFixed(1)} s`
  if (seconds < 99.5) return `${Math.round(seconds)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${pad(Math.floor(seconds % 60))} s`
  const hours = Math.floor(minutes / 60)
  if (hours < 48) return `${hours} h ${pad(minutes % 60)} min`
  return `${Math.floor(hours / 24)} days ${hours % 24} h`
}

/** At most seven characters: `0.4 s`, `12 s`, `12 min`, `4.2 h`, `293 d`, `2.4 y`. Never negative. */
export function briefly(ms: number): string {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 99.5) return inWords(ms)
  const minutes = seconds / 60
  if (minutes < 99.5) return `${Math.round(minutes)} min`
  const hours = minutes / 60
  if (hours < 48) return `${hours.toFixed(1)} h`
  const days = hours / 24
  return days < 547.5 ? `${Math.round(days)} d` : `${(days / 365.25).toFixed(1)} y`
}

/** The same in whole seconds, for what counts each second. */
export function inWholeSeconds(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  return seconds < 100 ? `${seconds} s` : inWords(seconds * 1000)
}

function pad(value: number): string {
  return value.toString().padStart(2, '0')
}

/**
 * A moment in a page: London time; the exact one on pointing at it. Shows a dash for what is no time. `clock`: by whose clock
 * it is, so that the day of today is left out.
 */
export function Moment({
  iso,
  clock = 'bridge',
  exact = false,
}: {
  iso: unknown
  clock?: 'bridge' | 'upstream'
  exact?: boolean
}): ComponentChildren {
  const upstream = useUpstreamClock()
  const nowMs = clock === 'upstream' ? upstream.nowMs : upstream.nowMs - upstream.aheadMs
  const ms = millisOf(iso)
  if (ms === null) return '–'
  const text = exact ? exactMoment(ms) : shortMoment(ms, nowMs)
  return h('time', { dateTime: new Date(ms).toISOString(), title: exactMoment(ms) }, text)
}

/** How long ago, counted each second. */
export function Ago({ ms }: { ms: number }): ComponentChildren {
  const nowMs = useNow()
  return `${inWholeSeconds(nowMs - ms)} ago`
}
