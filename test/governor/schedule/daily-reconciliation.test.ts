import fc from 'fast-check'
import { expect, test } from 'vitest'
import { planNames, plans } from '../../../src/core/plans.ts'
import {
  reconciliationBudget,
  reconciliationUnits,
} from '../../../src/governor/schedule/daily-reconciliation.ts'

test('a usual day is walked on every plan but the smallest', () => {
  const most = Object.fromEntries(
    planNames.map((name) => [name, reconciliationBudget(plans[name])?.mostUnits ?? null]),
  )
  expect(most).toEqual({ free: null, lite: 45, advanced: 105, ultimate: 150, enterprise: 600 })
})

test('no walk takes more than 15 % of the units of a day, and a usual one fits', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100_000 }),
      fc.integer({ min: 1, max: 200 }),
      (weeklyQuota, pageSize) => {
        const walks = reconciliationBudget({ weeklyQuota, pageSize })
        if (walks === null) return
        expect(walks.mostUnits).toBeLessThanOrEqual((weeklyQuota / 5) * 0.15)
        expect(1900 / pageSize + 1).toBeLessThanOrEqual(walks.mostUnits)
        expect(walks.share).toBeLessThanOrEqual(0.15)
      },
    ),
  )
})

test('a walk is expected to take its pages and one more', () => {
  expect([0, 1, 100, 101, 1900].map((items) => reconciliationUnits(items, 100))).toEqual([1, 2, 2, 3, 20])
})
