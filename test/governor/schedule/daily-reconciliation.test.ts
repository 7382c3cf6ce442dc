import fc from 'fast-check'
import { expect, test } from 'vitest'
import { planNames, plans } from '../../../src/core/plans.ts'
import {
  reconciliationBudget,
  reconciliationUnits,
} from '../../../src/governor/schedule/daily-reconciliation.ts'

test('every plan except the smallest can afford a daily reconciliation of a usual day', () => {
  const most = Object.fromEntries(
    planNames.map((name) => [name, reconciliationBudget(plans[name])?.mostUnits ?? null]),
  )
  expect(most).toEqual({ free: null, lite: 45, advanced: 105, ultimate: 150, enterprise: 600 })
})

test('a daily reconciliation costs at most 15 % of a day’s units, and a usual day fits', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100_000 }),
      fc.integer({ min: 1, max: 200 }),
      (weeklyQuota, pageSize) => {
        const budget = reconciliationBudget({ weeklyQuota, pageSize })
        if (budget === null) return
        expect(budget.mostUnits).toBeLessThanOrEqual((weeklyQuota / 5) * 0.15)
        expect(1900 / pageSize + 1).toBeLessThanOrEqual(budget.mostUnits)
        expect(budget.share).toBeLessThanOrEqual(0.15)
      },
    ),
  )
})

test('a daily reconciliation is estimated at one request per page plus one', () => {
  expect([0, 1, 100, 101, 1900].map((items) => reconciliationUnits(items, 100))).toEqual([1, 2, 2, 3, 20])
})
