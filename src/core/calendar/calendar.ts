/**
 * Computes London business days and the phases of their release window: 07:00–18:30, or until 13:30 on half days.
 * Every moment is an argument, in ms since 1970; the module reads no clock.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../durations.ts'
import type { CalendarOverrides } from './calendar-overrides.ts'
import { NO_OVERRIDES } from './calendar-overrides.ts'
import { bankHolidays, halfDays, isWeekendDate } from './holidays.ts'

/** Most cached offsets, one per hour of UTC; when full, the cache is cleared. */
const MOST_OFFSETS = 20_000
/** Most cached dates and days of each kind; when full, the cache is cleared. */
const MOST_DAYS = 2_000

/**
 * Phase of a business day: `closed` · `pre` 06:30–07:00 · `burst` 07:00–07:12 (both morning bursts) · `open` until
 * 16:30 · `late` until 18:30. On half days `open` ends at 12:30 and `late` at 13:30. Ends are exclusive.
 */
export const phases = ['closed', 'pre', 'burst', 'open', 'late'] as const
export type Phase = (typeof phases)[number]

const PRE = minuteOf(6, 30)
const RELEASE = minuteOf(7, 0)
const BURST_END = minuteOf(7, 12)
const fullDay = { openEnd: minuteOf(16, 30), releaseEnd: minuteOf(18, 30) }
const halfDay = { openEnd: minuteOf(12, 30), releaseEnd: minuteOf(13, 30) }

/** Dates are London's, as `YYYY-MM-DD`; minutes count from London's midnight. */
export interface Calendar {
  londonDate(ms: number): string
  /** 0–1439, London local time. */
  minuteOfDay(ms: number): number
  /**
   * The moment of that minute of London's day; 0 is its start. A minute that the spring night skips means the one an
   * hour later; of two equal ones in the autumn night it means the first.
   */
  momentMs(date: string, minuteOfDay: number): number
  /** Neither weekend nor holiday; half days are business days. */
  isBusinessDay(date: string): boolean
  isHalfDay(date: string): boolean
  /** First moment of the release window and the first after it; null where the day is no business day. */
  releaseWindow(date: string): { fromMs: number; toMs: number } | null
  phase(ms: number): Phase
  /** Business days after the date of `fromMs` up to the date of `toMs`: Friday to Monday is 1. Never negative. */
  businessDaysBetween(fromMs: number, toMs: number): number
}

/** The London calendar with the operator's corrections. */
export function createCalendar(overrides: CalendarOverrides = NO_OVERRIDES): Calendar {
  const offsetMs = londonOffsets()
  const holidaysOf = byYear(bankHolidays)
  const halfDaysOf = byYear(halfDays)
  const closed = new Set(overrides.holidays)
  const open = new Set(overrides.businessDays)
  const early = new Set(overrides.halfDays)

  const dateOf = remembered((day: number) => isoDate(day * DAY_MS))
  const midnightOf = remembered(midnightUtcMs)

  const wallMs = (ms: number): number => ms + offsetMs(ms)
  const londonDate = (ms: number): string => dateOf(Math.floor(wallMs(ms) / DAY_MS))
  const minuteOfDay = (ms: number): number => Math.floor(modulo(wallMs(ms), DAY_MS) / MINUTE_MS)
  const momentMs = (date: string, minute: number): number => {
    const asUtcMs = midnightOf(date) + minute * MINUTE_MS
    // London is never more than an hour ahead, so this is the offset before a change of clocks.
    return asUtcMs - offsetMs(asUtcMs - HOUR_MS)
  }
  const isBusinessDay = remembered((date: string): boolean => {
    if (closed.has(date)) return false
    if (open.has(date) || early.has(date)) return true
    return !isWeekendDate(date) && !holidaysOf(date).has(date)
  })
  const isHalfDay = (date: string): boolean =>
    early.has(date) || (halfDaysOf(date).has(date) && !open.has(date) && isBusinessDay(date))
  const endsOf = (date: string): typeof fullDay => (isHalfDay(date) ? halfDay : fullDay)

  return {
    londonDate,
    minuteOfDay,
    momentMs,
    isBusinessDay,
    isHalfDay,
    releaseWindow: (date) =>
      isBusinessDay(date)
        ? { fromMs: momentMs(date, RELEASE), toMs: momentMs(date, endsOf(date).releaseEnd) }
        : null,
    phase: (ms) => {
      const date = londonDate(ms)
      return isBusinessDay(date) ? phaseAt(minuteOfDay(ms), endsOf(date)) : 'closed'
    },
    businessDaysBetween: (fromMs, toMs) => {
      const lastMs = midnightUtcMs(londonDate(toMs))
      let count = 0
      for (let dayMs = midnightUtcMs(londonDate(fromMs)) + DAY_MS; dayMs <= lastMs; dayMs += DAY_MS) {
        if (isBusinessDay(isoDate(dayMs))) count += 1
      }
      return count
    },
  }
}

function phaseAt(minute: number, ends: typeof fullDay): Phase {
  if (minute < PRE || minute >= ends.releaseEnd) return 'closed'
  if (minute < RELEASE) return 'pre'
  if (minute < BURST_END) return 'burst'
  return minute < ends.openEnd ? 'open' : 'late'
}

/**
 * Offset of London's clock from UTC, in ms, from the machine's zone data. Cached by the hour, because a lookup takes
 * microseconds and clocks change on the hour.
 */
function londonOffsets(): (ms: number) => number {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/London', timeZoneName: 'longOffset' })
  const known = new Map<number, number>()
  return (ms) => {
    const hour = Math.floor(ms / HOUR_MS)
    const kept = known.get(hour)
    if (kept !== undefined) return kept
    const zone = format.formatToParts(hour * HOUR_MS).find((part) => part.type === 'timeZoneName')?.value
    const [, sign, hours, minutes] = /([+-])(\d{2}):(\d{2})/.exec(zone ?? '') ?? []
    const aheadMs = Number(hours ?? 0) * HOUR_MS + Number(minutes ?? 0) * MINUTE_MS
    const offset = sign === '-' ? -aheadMs : aheadMs
    if (known.size >= MOST_OFFSETS) known.clear()
    known.set(hour, offset)
    return offset
  }
}

/** Caches results: a plan of polls needs the same few days thousands of times. */
function remembered<Question, Answer>(
  compute: (question: Question) => Answer,
): (question: Question) => Answer {
  const known = new Map<Question, Answer>()
  return (question) => {
    const kept = known.get(question)
    if (kept !== undefined) return kept
    const answer = compute(question)
    if (known.size >= MOST_DAYS) known.clear()
    known.set(question, answer)
    return answer
  }
}

/** Computes the days of a year once. */
function byYear(compute: (year: number) => Set<string>): (date: string) => Set<string> {
  const known = new Map<string, Set<string>>()
  return (date) => {
    const year = date.slice(0, 4)
    const days = known.get(year) ?? compute(Number(year))
    known.set(year, days)
    return days
  }
}

function minuteOf(hour: number, minute: number): number {
  return hour * 60 + minute
}

function midnightUtcMs(date: string): number {
  return Date.parse(`${date}T00:00:00Z`)
}

function isoDate(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

function modulo(value: number, length: number): number {
  return ((value % length) + length) % length
}
