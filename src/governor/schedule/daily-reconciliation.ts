/**
 * Whether the end of a day can be paid for: a walk over everything that the day brought. Owns the arithmetic of its cost.
 * Refuses to know which day is due (`ingest/machine/daily-reconciliation.ts`) and what the quota has left (`pacing.ts`).
 */

import { HOUR_MS } from '../../core/durations.ts'
import type { PlanLimits } from '../../core/plans.ts'
import { ITEMS_A_DAY } from '../arrivals/profile.ts'
import { roundsOf } from './rescans.ts'

const BUSINESS_DAYS = 5
/** Of a day's units, the most that the walk over that day may take. */
const LARGEST_SHARE = 0.15

/** The day walks of a plan. */
export interface DayWalks {
  /** A walk that would take more units than this is not made: 15 % of a fifth of the weekly quota. */
  mostUnits: number
  /** Of the weekly quota, what they take beside the rounds on usual days. */
  share: number
}

/** Units that a walk over so many items takes: its pages, and one more for what is not known of yet. */
export function dayWalkUnits(items: number, pageSize: number): number {
  return Math.ceil(items / pageSize) + 1
}

/**
 * The day walks that this plan pays for; null where a usual day's would take more than 15 % of its units, or where the plan
 * pays for no rounds. A walk takes the place of the evening's round: where rounds are rare, that one alone would have read
 * half of the day.
 */
export function dayWalksOf(plan: Pick<PlanLimits, 'weeklyQuota' | 'pageSize'>): DayWalks | null {
  const { weeklyQuota, pageSize } = plan
  const rounds = roundsOf(plan)
  const unitsADay = weeklyQuota / BUSINESS_DAYS
  const mostUnits = Math.floor(unitsADay * LARGEST_SHARE)
  const usualUnits = dayWalkUnits(ITEMS_A_DAY, pageSize)
  if (rounds === null || usualUnits > mostUnits) return null
  const savedShare = rounds.everyMs > HOUR_MS ? 0.5 : 0
  return { mostUnits, share: (usualUnits / unitsADay) * (1 - savedShare) }
}
