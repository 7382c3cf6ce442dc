/**
 * How far a plan's quota carries the proof that nothing is missing. Refuses to promise more than is paid for.
 */
import { dayWalksOf } from './daily-reconciliation.ts'
import type { PlanFigures } from './pacing.ts'
import { roundsOf } from './rescans.ts'

/** Polls and fills always; sweeps after the bursts and in rounds, and a walk over each whole day too, where the plan pays. */
export type Completeness = 'polls+fills' | '+sweeps' | '+day'

/** What this plan can pay for. */
export function completenessOf(plan: Pick<PlanFigures, 'weeklyQuota' | 'pageSize'>): Completeness {
  if (dayWalksOf(plan) !== null) return '+day'
  return roundsOf(plan) === null ? 'polls+fills' : '+sweeps'
}
