/**
 * Lists the upstream plans with their rates, quotas and page sizes, for the sandbox (a simulated upstream) and as defaults
 * of the poller's settings.
 */

/** Every plan, from the smallest to the largest. */
export const planNames = ['free', 'lite', 'advanced', 'ultimate', 'enterprise'] as const

/** The name of a plan. */
export type PlanName = (typeof planNames)[number]

/** What one plan allows. */
export interface PlanLimits {
  /** Refill of the token bucket: requests a second. */
  ratePerSecond: number
  /** Size of the token bucket: requests at once. */
  burst: number
  /** Units a week; one request is one unit whatever its page size. */
  weeklyQuota: number
  /** Largest `pageSize`, items. */
  pageSize: number
}

/**
 * The figures by plan. Page sizes: specification §8. Rates, bursts and quotas: the provider's public documentation;
 * the row `enterprise` is an assumption. Every figure can be overridden by a setting.
 */
export const plans: Readonly<Record<PlanName, Readonly<PlanLimits>>> = Object.freeze({
  free: { ratePerSecond: 1, burst: 2, weeklyQuota: 350, pageSize: 50 },
  lite: { ratePerSecond: 5, burst: 10, weeklyQuota: 1_500, pageSize: 50 },
  advanced: { ratePerSecond: 15, burst: 30, weeklyQuota: 3_500, pageSize: 100 },
  ultimate: { ratePerSecond: 30, burst: 60, weeklyQuota: 5_000, pageSize: 200 },
  enterprise: { ratePerSecond: 60, burst: 120, weeklyQuota: 20_000, pageSize: 200 },
})

/** True when `plan` is `minimum` or larger. */
export function planIncludes(plan: PlanName, minimum: PlanName): boolean {
  return planNames.indexOf(plan) >= planNames.indexOf(minimum)
}
