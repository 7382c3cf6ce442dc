/**
 * What the calendar says of a London day, as the profile needs it. Owns the sort of a day, its factor, and where a moment
 * lies in it. Refuses to know rates.
 */

import type { Calendar } from '../../core/calendar/calendar.ts'
import { DAY_MS, SECOND_MS } from '../../core/durations.ts'
import type { Belief, Profile } from './profile.ts'

/** Clocks change between midnight and two; later seconds of the day count from there. */
const AFTER_CHANGE_MINUTE = 120

/** No month begins with more closed days than a weekend with the holidays around it. */
const LATEST_FIRST = 7

/** A day of London. */
export interface LondonDay {
  date: string
  /** First moment, and the first of the day after; ms since 1970. 23 to 25 hours. */
  startMs: number
  endMs: number
  isOpen: boolean
  /** 0 is Monday. */
  weekday: number
  isMonthFirst: boolean
  /** Second of the day from which on nothing more is released. */
  releaseEndS: number
}

/** The day of London in which a moment lies. */
export function londonDayOf(calendar: Calendar, ms: number): LondonDay {
  const date = calendar.londonDate(ms)
  const startMs = calendar.momentMs(date, 0)
  const endMs = calendar.momentMs(calendar.londonDate(startMs + DAY_MS + 6 * 3_600_000), 0)
  const isOpen = calendar.isBusinessDay(date)
  const window = calendar.releaseWindow(date)
  return {
    date,
    startMs,
    endMs,
    isOpen,
    weekday: (new Date(Date.parse(date)).getUTCDay() + 6) % 7,
    isMonthFirst: isOpen && isFirstOpen(calendar, date),
    releaseEndS: window === null ? 86_400 : secondIn({ startMs, endMs }, window.toMs),
  }
}

/** Seconds from London's midnight by the clock on the wall, with the part of the second. */
export function secondIn({ startMs, endMs }: Pick<LondonDay, 'startMs' | 'endMs'>, ms: number): number {
  const changedMs = endMs - startMs - DAY_MS
  const passedMs = ms - startMs
  const second =
    (passedMs >= AFTER_CHANGE_MINUTE * 60 * SECOND_MS ? passedMs - changedMs : passedMs) / SECOND_MS
  return Math.min(86_399.999, Math.max(0, second))
}

/** The moment of a second of the day, ms since 1970; the counterpart of `secondIn`. */
export function momentIn({ startMs, endMs }: Pick<LondonDay, 'startMs' | 'endMs'>, second: number): number {
  const changedMs = second >= AFTER_CHANGE_MINUTE * 60 ? endMs - startMs - DAY_MS : 0
  return startMs + second * SECOND_MS + changedMs
}

/** How many items this day brings for one of a usual business day. */
export function factorOf(profile: Profile, day: LondonDay): number {
  const weekday = expected(profile.weekdays[day.weekday] ?? [1, 1])
  return day.isMonthFirst ? weekday * expected(profile.monthFirst) : weekday
}

/** What a belief expects of one whole. */
export function expected([seen, over]: Belief): number {
  return over > 0 ? seen / over : 0
}

function isFirstOpen(calendar: Calendar, date: string): boolean {
  if (Number(date.slice(8)) > LATEST_FIRST) return false
  const month = date.slice(0, 8)
  for (let day = 1; day < Number(date.slice(8)); day++) {
    if (calendar.isBusinessDay(`${month}${String(day).padStart(2, '0')}`)) return false
  }
  return true
}
