/**
 * Names the checks for missing items that a plan's quota pays for.
 */
import { reconciliationBudget } from './daily-reconciliation.ts'
import type { PlanFigures } from './pacing.ts'
import { rescansOf } from './rescans.ts'

/** Polls and fills always; `+sweeps`: re-scans too; `+day`: re-scans and daily reconciliation. */
export type Completeness = 'polls+fills' | '+sweeps' | '+day'

/** The checks that this plan pays for. */
export function completenessOf(plan: Pick<PlanFigures, 'weeklyQuota' | 'pageSize'>): Completeness {
  if (reconciliationBudget(plan) !== null) return '+day'
  return rescansOf(plan) === null ? 'polls+fills' : '+sweeps'
}
