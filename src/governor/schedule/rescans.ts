/**
 * Computes how often the quota of an upstream plan can pay for scheduled re-scans, which read all items a second time to
 * find missed ones.
 */
import { BUSINESS_DAYS_A_WEEK, HOUR_MS, MINUTE_MS } from '../../core/durations.ts'
import type { PlanLimits } from '../../core/plans.ts'
import { ITEMS_A_DAY } from '../arrivals/profile.ts'

/** The part of a business day with news: 06:00 to 20:00 London. */
const NEWS_MS = 14 * HOUR_MS
/** Shares of a day's units that re-scans may take: the first with which they come often enough. */
const SHARES = [0.08, 0.15] as const
const SHORTEST_MS = 2 * MINUTE_MS
/** Re-scans further apart than this would find a missing item only after the day is over. */
const LONGEST_MS = 12 * HOUR_MS

/** The scheduled re-scans of a plan. */
export interface ScheduledRescans {
  /** From the first item after a re-scan to the next re-scan, ms. */
  everyMs: number
  /** How far a re-scan reaches back before the end of the previous one, ms: items up to this late are found. */
  reachMs: number
  /** Share of the weekly quota that they may take. */
  share: number
}

/** The re-scans that this plan can pay for; null where even two a day would take more than 15 % of it. */
export function rescansOf(plan: Pick<PlanLimits, 'weeklyQuota' | 'pageSize'>): ScheduledRescans | null {
  for (const share of SHARES) {
    const everyMs = shortestEveryMs(plan, share)
    if (everyMs <= LONGEST_MS) return { everyMs, reachMs: Math.min(HOUR_MS, everyMs), share }
  }
  return null
}

/**
 * Each re-scan takes at least a page. Together they read a day's items once, and again the share of them that falls into
 * the reach: an hour per re-scan, or everything where they come more often than hourly.
 */
function shortestEveryMs(
  { weeklyQuota, pageSize }: Pick<PlanLimits, 'weeklyQuota' | 'pageSize'>,
  share: number,
) {
  const units = (weeklyQuota / BUSINESS_DAYS_A_WEEK) * share
  const pages = Math.ceil(ITEMS_A_DAY / pageSize)
  if (units <= pages) return Number.POSITIVE_INFINITY
  const frequentMs = units > 2 * pages ? NEWS_MS / (units - 2 * pages) : Number.POSITIVE_INFINITY
  const rareMs = (NEWS_MS + pages * HOUR_MS) / (units - pages)
  return Math.ceil(Math.max(SHORTEST_MS, frequentMs <= HOUR_MS ? frequentMs : rareMs))
}
