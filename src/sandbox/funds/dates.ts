/**
 * Days as `YYYY-MM-DD` and the business days between them. Owns the arithmetic of the funds' calendars. Refuses the
 * weekends and the zone: `london.ts` owns those of the sandbox's market.
 */
import { DAY_MS } from '../../core/durations.ts'
import { londonMidnightMs, nextBusinessDay } from '../market/london.ts'

/** The first business day that histories tell of. */
export const HISTORY_START = '2024-01-02'

/** The day that many days later; earlier where negative. */
export function addDays(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)
}

/** The last day of the month that lies `months` after the month of `day`. */
export function monthEnd(day: string, months: number): string {
  const date = new Date(Date.parse(day))
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months + 1, 0))
    .toISOString()
    .slice(0, 10)
}

/** `day` itself where it is a business day, else the next one. */
export function onBusinessDay(day: string): string {
  return nextBusinessDay(addDays(day, -1), 1)
}

/** The first Thursday on or after `day` that is a business day: London's ex-dividend day. */
export function onThursday(day: string): string {
  const weekday = new Date(Date.parse(day)).getUTCDay()
  const thursday = addDays(day, (4 - weekday + 7) % 7)
  return onBusinessDay(thursday) === thursday ? thursday : onThursday(addDays(thursday, 1))
}

/** The moment of that second of London's day, ms since 1970. */
export function londonMs(day: string, second: number): number {
  return londonMidnightMs(day) + second * 1000
}

/** The business days of the histories, by index from HISTORY_START; what happened on one is announced on the next. */
export interface MarketDays {
  /** RangeError for a day whose successor nobody has asked for yet. */
  day(index: number): string
  /** When what happened on that day is announced, at that second of London's next business day; ms since 1970. */
  announcedMs(index: number, second: number): number
  /** How many days' announcements, made at that second, are out at `nowMs`. */
  announced(nowMs: number, second: number): number
}

/** Days are worked out once, as far as somebody asks. */
export function createMarketDays(): MarketDays {
  const days = [HISTORY_START]
  /** Midnight before the announcements about the day of the same index. */
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
