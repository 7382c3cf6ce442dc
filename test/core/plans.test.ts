import { expect, test } from 'vitest'
import { planIncludes, planNames, plans } from '../../src/core/plans.ts'

test('a larger plan never allows less', () => {
  for (const [index, name] of planNames.slice(1).entries()) {
    const smaller = plans[planNames[index] ?? name]
    expect(plans[name].ratePerSecond).toBeGreaterThan(smaller.ratePerSecond)
    expect(plans[name].burst).toBeGreaterThan(smaller.burst)
    expect(plans[name].weeklyQuota).toBeGreaterThan(smaller.weeklyQuota)
    expect(plans[name].pageSize).toBeGreaterThanOrEqual(smaller.pageSize)
  }
})

test('page sizes are those of the specification', () => {
  expect(planNames.map((name) => plans[name].pageSize)).toEqual([50, 50, 100, 200, 200])
})

test('a plan includes itself and every smaller one', () => {
  expect(planIncludes('advanced', 'advanced')).toBe(true)
  expect(planIncludes('enterprise', 'lite')).toBe(true)
  expect(planIncludes('lite', 'advanced')).toBe(false)
})
