/** Computes how much of the backfill (what the very first start reads of the past) half of the quota left pays for. */
import type { Calendar } from '../../core/calendar/calendar.ts'
import { DAY_MS } from '../../core/durations.ts'
import { ITEMS_A_DAY } from '../arrivals/profile.ts'

/** Share of the units left that the backfill may spend. */
const SHARE = 0.5

/** What the backfill of a range costs, and from when on it is paid for. */
export interface BackfillBudget {
  /** Units for the whole range: pages of its business days, and one request for each day. */
  units: number
  /** Units that may be spent on it. */
  budget: number
  /** The range from here on is paid for, ms since 1970; `fromMs` of the request where all of it is. */
  fromMs: number
}

/** The budget for reading `fromMs` to `untilMs` (ms since 1970) with `remaining` units left of the quota. */
export function affordableBackfill({
  fromMs,
  untilMs,
  remaining,
  pageSize,
  calendar,
}: {
  fromMs: number
  untilMs: number
  remaining: number
  pageSize: number
  calendar: Pick<Calendar, 'businessDaysBetween'>
}): BackfillBudget {
  const pagesADay = Math.ceil(ITEMS_A_DAY / pageSize)
  const days = Math.ceil(Math.max(0, untilMs - fromMs) / DAY_MS)
  const startOf = (dayCount: number): number => (dayCount === days ? fromMs : untilMs - dayCount * DAY_MS)
  const unitsOf = (dayCount: number): number =>
    calendar.businessDaysBetween(startOf(dayCount), untilMs) * pagesADay + dayCount
  const budget = Math.floor(remaining * SHARE)
  // The newest days first: the largest number of days that is paid for.
  let [paid, unpaid] = [0, days + 1]
  while (unpaid - paid > 1) {
    const middle = Math.floor((paid + unpaid) / 2)
    if (unitsOf(middle) <= budget) paid = middle
    else unpaid = middle
  }
  return { units: unitsOf(days), budget, fromMs: startOf(paid) }
}
