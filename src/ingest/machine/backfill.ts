/** Splits the backfill of the first start into days, and stops the process where it would cost too much of the quota. */
import { DAY_MS } from '../../core/durations.ts'
import { ITEMS_A_DAY } from '../../governor/arrivals/profile.ts'
import { quotaAt } from '../../governor/quota/ledger.ts'
import type { StepContext } from './state.ts'

/** The next day of the backfill, oldest first: up to midnight UTC or to its end. */
export function nextBackfillDay({ doneToMs, untilMs }: { doneToMs: number; untilMs: number }): {
  fromMs: number
  toMs: number
} {
  const midnightMs = (Math.floor(doneToMs / DAY_MS) + 1) * DAY_MS
  return { fromMs: doneToMs, toMs: Math.min(midnightMs, untilMs) }
}

/** False, with the action `halt`, where the backfill would cost more than half of the units left. */
export function isBackfillAffordable(context: StepContext, fromMs: number, untilMs: number): boolean {
  const { pageSize, calendar, weeklyQuota, quotaReset } = context.config
  const { remaining } = quotaAt(context.state.ledger, weeklyQuota, quotaReset, context.nowMs)
  const days = Math.ceil((untilMs - fromMs) / DAY_MS)
  const businessDays = calendar.businessDaysBetween(fromMs, untilMs)
  const pagesADay = Math.ceil(ITEMS_A_DAY / pageSize)
  const units = businessDays * pagesADay + days
  if (units <= remaining / 2) return true
  context.actions.push({
    type: 'halt',
    message:
      `the backfill needs about ${units} requests, more than half of the ${remaining} left of this week's ${weeklyQuota}: ` +
      `${businessDays} business days × ${pagesADay} pages of ${pageSize} items, and one request for each of ${days} days`,
    hint: 'Set BRIDGE_BACKFILL to a shorter time, or set BRIDGE_UPSTREAM_WEEKLY_QUOTA and BRIDGE_UPSTREAM_PLAN to those of your key.',
  })
  return false
}
