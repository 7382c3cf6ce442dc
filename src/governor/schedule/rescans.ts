/**
 * How often everything is read a second time. Owns the arithmetic: what the re-reads of a business day cost, and how
 * often a plan can pay for them. Refuses to send and to count.
 */
import { HOUR_MS, MINUTE_MS } from '../../core/durations.ts'
import type { PlanLimits } from '../../core/plans.ts'
import { ITEMS_A_DAY } from '../arrivals/profile.ts'

const BUSINESS_DAYS = 5
/** So much of a business day has news: from 06:00 to 20:00 London. */
const NEWS_MS = 14 * HOUR_MS
/** Of a day's units, what the rounds may take: the first share with which they come often enough. */
const SHARES = [0.08, 0.15] as const
const SHORTEST_MS = 2 * MINUTE_MS
/** Rarer rounds than this find what is missing after the day is over. */
const LONGEST_MS = 12 * HOUR_MS

/** The rounds of a plan: the scheduled re-reads of what came in. */
export interface Rounds {
  /** From the first item that came in after a round to the next round, ms. */
  everyMs: number
  /** A round begins this long before the end of the last one, ms: what came in no later than that is found for sure. */
  reachMs: number
  /** Of the weekly quota, what they may take. */
  share: number
}

/** The rounds that this plan can pay for; null where even two a day would take more than 15 % of it. */
export function roundsOf(plan: Pick<PlanLimits, 'weeklyQuota' | 'pageSize'>): Rounds | null {
  for (const share of SHARES) {
    const everyMs = shortestEvery(plan, share)
    if (everyMs <= LONGEST_MS) return { everyMs, reachMs: Math.min(HOUR_MS, everyMs), share }
  }
  return null
}

/**
 * Each round takes at least a page, and together they read a day's items once, and once more the share of them that lies
 * in the reach: an hour of every round, or all of it where rounds come more often.
 */
function shortestEvery(
  { weeklyQuota, pageSize }: Pick<PlanLimits, 'weeklyQuota' | 'pageSize'>,
  share: number,
) {
  const units = (weeklyQuota / BUSINESS_DAYS) * share
  const pages = Math.ceil(ITEMS_A_DAY / pageSize)
  if (units <= pages) return Number.POSITIVE_INFINITY
  const oftenMs = units > 2 * pages ? NEWS_MS / (units - 2 * pages) : Number.POSITIVE_INFINITY
  const seldomMs = (NEWS_MS + pages * HOUR_MS) / (units - pages)
  return Math.ceil(Math.max(SHORTEST_MS, oftenMs <= HOUR_MS ? oftenMs : seldomMs))
}
