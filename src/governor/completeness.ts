/**
 * How far a plan's quota carries the proof that nothing is missing. Owns the arithmetic. Refuses to promise more than
 * is paid for: a day's walk (`+day`) comes with the planner.
 */
import type { PlanFigures } from './pacing.ts'
import { WALK_SHARE } from './pacing.ts'

/** Polls and fills always; sweeps after the bursts, and a walk over the whole day, where the plan can pay for them. */
export type Completeness = 'polls+fills' | '+sweeps' | '+day'

const BUSINESS_DAYS = 5
/** Items that the walks of a morning read: the 07:00 burst once, both bursts after 07:10 (265 and 495 items). */
const ITEMS_A_MORNING = 265 + 265 + 495

/** What this plan can pay for, with the share of the quota that is kept for walks. */
export function completenessOf(plan: Pick<PlanFigures, 'weeklyQuota' | 'pageSize'>): Completeness {
  const pages = Math.ceil(ITEMS_A_MORNING / plan.pageSize)
  const fillsAndSweeps = BUSINESS_DAYS * pages * 2
  return plan.weeklyQuota * WALK_SHARE >= fillsAndSweeps ? '+sweeps' : 'polls+fills'
}
