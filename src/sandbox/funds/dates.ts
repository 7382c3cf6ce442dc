/**
 * Calculates dates and business days for the fund data, with days written as `YYYY-MM-DD`.
 */
import { DAY_MS } from '../../core/durations.ts'
import { londonMidnightMs, nextBusinessDay } from '../market/london.ts'

/** First business day of all histories. */
export const HISTORY_START = '2024-01-02'

/** Adds `days` to a day; a negative number goes back. */
export function addDays(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)
}

/** The last day of the month that is `months` after the month of `day`. */
export function monthEnd(day: string, months: number): string {
  const date = new Date(Date.parse(day))
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months + 1, 0))
    .toISOString()
    .slice(0, 10)
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

/** Business days by index from HISTORY_START. Events of one day are announced on the next. */
export interface MarketDays {
  /** The business day with that index. Throws RangeError if `announced` has not reached it yet. */
  day(index: number): string
  /** Announcement time for events of that day, at `second` of the next London business day; ms since 1970. */
  announcedMs(index: number, second: number): number
  /** Number of days whose announcements, made at `second`, are published by `nowMs`. */
  announced(nowMs: number, second: number): number
}

/** Creates the business days; each is computed once, when first needed. */
export function createMarketDays(): MarketDays {
  const days = [HISTORY_START]
  /** London midnight of the announcement day for the day with the same index. */
  const midnights: number[] = []
  const at = (index: number): { day: string; midnightMs: number } => {
    const day = days[index]
    const midnightMs = midnights[index]
    if (day === undefined || midnightMs === undefined) throw new RangeError(`no day ${index} yet`)
    return { day, midnightMs }
  }
  const reach = (nowMs: number): void => {
    while ((midnights.at(-1) ?? 0) <= nowMs) {
      const next = nextBusinessDay(days.at(-1) ?? HISTORY_START, 1)
      midnights.push(londonMidnightMs(next))
      days.push(next)
    }
  }
  return {
    day: (index) => at(index).day,
    announcedMs: (index, second) => at(index).midnightMs + second * 1000,
    announced(nowMs, second) {
      reach(nowMs)
      return midnights.findLastIndex((midnightMs) => midnightMs + second * 1000 <= nowMs) + 1
    },
  }
}
