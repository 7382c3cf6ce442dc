/**
 * Describes one London day for the forecast of item arrivals: its start and end, whether it is a business day, and its
 * expected volume.
 */
import type { Calendar } from '../../core/calendar/calendar.ts'
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../core/durations.ts'
import type { Belief, Profile } from './profile.ts'

/** Clocks change between 00:00 and 02:00; the seconds of the day after that shift with them. */
const AFTER_CLOCK_CHANGE_S = 120 * 60
/** The first business day of a month is never later than the 7th, even after a weekend with holidays around it. */
const LATEST_FIRST_DAY = 7

/** A calendar day in London. */
export interface LondonDay {
  /** `YYYY-MM-DD`. */
  date: string
  /** Its first moment and that of the next day, ms since 1970: 23 to 25 hours apart. */
  startMs: number
  endMs: number
  /** True on business days. */
  isOpen: boolean
  /** 0 is Monday. */
  weekday: number
  /** True on the first business day of a month. */
  isMonthFirst: boolean
  /** Second of the day after which nothing is released. */
  releaseEndS: number
}

/** The London day that contains `ms`. */
export function londonDayOf(calendar: Calendar, ms: number): LondonDay {
  const date = calendar.londonDate(ms)
  const startMs = calendar.momentMs(date, 0)
  const endMs = calendar.momentMs(calendar.londonDate(startMs + DAY_MS + 6 * HOUR_MS), 0)
  const isOpen = calendar.isBusinessDay(date)
  const window = calendar.releaseWindow(date)
  return {
    date,
    startMs,
    endMs,
    isOpen,
    weekday: (new Date(Date.parse(date)).getUTCDay() + 6) % 7,
    isMonthFirst: isOpen && isFirstBusinessDay(calendar, date),
    releaseEndS: window === null ? 86_400 : secondOfDay({ startMs, endMs }, window.toMs),
  }
}

/** The day, open where arrivals have shown that it is, whatever the calendar says. */
export function daySeen({ openDate }: Pick<Profile, 'openDate'>, day: LondonDay): LondonDay {
  return day.date === openDate ? { ...day, isOpen: true } : day
}

/** Seconds since London's midnight by the wall clock, with fractions. */
export function secondOfDay({ startMs, endMs }: Pick<LondonDay, 'startMs' | 'endMs'>, ms: number): number {
  const elapsedMs = ms - startMs
  const clockChangeMs = elapsedMs >= AFTER_CLOCK_CHANGE_S * SECOND_MS ? endMs - startMs - DAY_MS : 0
  return Math.min(86_399.999, Math.max(0, (elapsedMs - clockChangeMs) / SECOND_MS))
}

/** The moment of a second of the day, ms since 1970; the inverse of `secondOfDay`. */
export function momentOfDay(
  { startMs, endMs }: Pick<LondonDay, 'startMs' | 'endMs'>,
  second: number,
): number {
  const clockChangeMs = second >= AFTER_CLOCK_CHANGE_S ? endMs - startMs - DAY_MS : 0
  return startMs + second * SECOND_MS + clockChangeMs
}

/** Expected items of this business day, as a multiple of a usual one. */
export function dayFactor(profile: Profile, day: LondonDay): number {
  const weekday = meanOf(profile.weekdays[day.weekday] ?? [1, 1])
  return day.isMonthFirst ? weekday * meanOf(profile.monthFirst) : weekday
}

/** The expected value of a belief. */
export function meanOf([seen, over]: Belief): number {
  return over > 0 ? seen / over : 0
}

function isFirstBusinessDay(calendar: Calendar, date: string): boolean {
  const day = Number(date.slice(8))
  if (day > LATEST_FIRST_DAY) return false
  for (let earlier = 1; earlier < day; earlier++) {
    if (calendar.isBusinessDay(`${date.slice(0, 8)}${earlier.toString().padStart(2, '0')}`)) return false
  }
  return true
}
