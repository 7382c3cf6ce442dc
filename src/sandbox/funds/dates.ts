/**
 * Calculates dates and business days for the fund data, with days written as `YYYY-MM-DD`.
 */
import { DAY_MS } from '../../core/durations.ts'
import { londonMidnightMs, nextBusinessDay } from '../market/london.ts'

/** First business day of all histories. */
const HISTORY_START = '2024-01-02'

/** The UTC day of a moment. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** Adds `days` to a day; a negative number goes back. */
export function addDays(day: string, days: number): string {
  return dayOf(Date.parse(day) + days * DAY_MS)
}

/** The last day of the month that is `months` after the month of `day`. */
export function monthEnd(day: string, months: number): string {
  const date = new Date(Date.parse(day))
  return dayOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months + 1, 0))
}

/** Returns `day` if it is a business day, else the next business day. */
export function onBusinessDay(day: string): string {
  return nextBusinessDay(addDays(day, -1), 1)
}

/** The first Thursday on or after `day` that is a business day: London's ex-dividend day. */
export function onThursday(day: string): string {
  const weekday = new Date(Date.parse(day)).getUTCDay()
  const thursday = addDays(day, (4 - weekday + 7) % 7)
  return onBusinessDay(thursday) === thursday ? thursday : onThursday(addDays(thursday, 1))
}

/** Converts a second of the London day to ms since 1970. */
export function londonMs(day: string, second: number): number {
  return londonMidnightMs(day) + second * 1000
}

/** A business day whose events have been announced, and when, ms since 1970. */
export interface AnnouncedDay {
  day: string
  announcedMs: number
}

/** Business days whose events, announced at `second` of the next London business day, are out by `nowMs`. Oldest first. */
export function announcedDays(nowMs: number, second: number): AnnouncedDay[] {
  const days: AnnouncedDay[] = []
  for (let day = HISTORY_START; ; ) {
    const next = nextBusinessDay(day, 1)
    const announcedMs = londonMs(next, second)
    if (announcedMs > nowMs) return days
    days.push({ day, announcedMs })
    day = next
  }
}
