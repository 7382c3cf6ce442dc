/**
 * Checks which filters and page sizes a plan includes (specification §8). The figures are in `core/plans.ts`.
 */
import { type PlanName, planIncludes, plans } from '../../core/plans.ts'

/** Filters that a plan may lack, each with the smallest plan that has it (specification §8). */
const minimumPlans = {
  isins: 'lite',
  symbols: 'lite',
  fcaCategories: 'advanced',
  nativeCategories: 'advanced',
  q: 'advanced',
  channel: 'enterprise',
} as const satisfies Record<string, PlanName>

/** A filter that the smaller plans lack. */
export type EntitledFilter = keyof typeof minimumPlans

/** The smallest plan that has this filter, where `plan` lacks it; null where it has it. */
export function missingPlan(plan: PlanName, filter: EntitledFilter): PlanName | null {
  const minimum = minimumPlans[filter]
  return planIncludes(plan, minimum) ? null : minimum
}

/** The largest `pageSize` of the plan. */
export function largestPage(plan: PlanName): number {
  return plans[plan].pageSize
}

/** The smallest plan whose pages hold that many items; null where none does. */
export function planForPage(pageSize: number): PlanName | null {
  const names = Object.keys(plans) as PlanName[]
  return names.find((name) => plans[name].pageSize >= pageSize) ?? null
}

/** The smallest plan that has the fund and investor-relations paths (specification §4.4). */
export const FUNDS_PLAN = 'advanced' satisfies PlanName
