/**
 * Computes whether the quota of an upstream plan can pay for daily reconciliation: reading a whole day from upstream again
 * after its end.
 */
import { BUSINESS_DAYS_A_WEEK, HOUR_MS } from '../../core/durations.ts'
import type { PlanLimits } from '../../core/plans.ts'
import { ITEMS_A_DAY } from '../arrivals/profile.ts'
import { rescansOf } from './rescans.ts'

/** Largest share of a day's units that its reconciliation may take. */
const LARGEST_SHARE = 0.15

/** What daily reconciliation may cost on a plan. */
export interface ReconciliationBudget {
  /** Most units for one day: 15 % of a fifth of the weekly quota. */
  mostUnits: number
  /** Share of the weekly quota that it takes on usual days, beside the re-scans. */
  share: number
}

/** Units that reading so many items takes: their pages, and one more for items not known yet. */
export function reconciliationUnits(items: number, pageSize: number): number {
  return Math.ceil(items / pageSize) + 1
}

/**
 * What this plan can pay; null where a usual day would take more than 15 % of its units, or where the plan pays for no
 * re-scans. Reconciliation replaces the last re-scan of a day, which reads half of the day where re-scans are rare.
 */
export function reconciliationBudget(
  plan: Pick<PlanLimits, 'weeklyQuota' | 'pageSize'>,
): ReconciliationBudget | null {
  const rescans = rescansOf(plan)
  const unitsADay = plan.weeklyQuota / BUSINESS_DAYS_A_WEEK
  const mostUnits = Math.floor(unitsADay * LARGEST_SHARE)
  const usualUnits = reconciliationUnits(ITEMS_A_DAY, plan.pageSize)
  if (rescans === null || usualUnits > mostUnits) return null
  const savedShare = rescans.everyMs > HOUR_MS ? 0.5 : 0
  return { mostUnits, share: (usualUnits / unitsADay) * (1 - savedShare) }
}

/** The checks for missing items that a plan pays for. Polls and fills always; `+sweeps`: re-scans too; `+day`: both. */
export type Completeness = 'polls+fills' | '+sweeps' | '+day'

/** The checks that this plan pays for. */
export function completenessOf(plan: Pick<PlanLimits, 'weeklyQuota' | 'pageSize'>): Completeness {
  if (reconciliationBudget(plan) !== null) return '+day'
  return rescansOf(plan) === null ? 'polls+fills' : '+sweeps'
}
