import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MINUTE_MS } from '../../../src/core/durations.ts'
import { planNames, plans } from '../../../src/core/plans.ts'
import { rescansOf } from '../../../src/governor/schedule/rescans.ts'

const NEWS_HOURS = 14

test('scheduled re-scans run as often as each plan can afford, and never on the smallest plan', () => {
  const minutes = Object.fromEntries(
    planNames.map((name) => {
      const rescans = rescansOf(plans[name])
      return [name, rescans === null ? null : Math.round(rescans.everyMs / MINUTE_MS)]
    }),
  )
  expect(minutes).toEqual({ free: null, lite: 446, advanced: 47, ultimate: 14, enterprise: 3 })
})

test('the scheduled re-scans of a day never cost more than their share of the quota', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 100, max: 100_000 }),
      fc.constantFrom(50, 100, 200),
      (weeklyQuota, pageSize) => {
        const rescans = rescansOf({ weeklyQuota, pageSize })
        if (rescans === null) return
        const everyHours = rescans.everyMs / (60 * MINUTE_MS)
        const reachHours = rescans.reachMs / (60 * MINUTE_MS)
        const pages = Math.ceil(1900 / pageSize)
        const cost = pages * (1 + reachHours / everyHours) + NEWS_HOURS / everyHours
        expect(cost).toBeLessThanOrEqual((weeklyQuota / 5) * rescans.share + pages * 1e-6)
        expect(rescans.share).toBeLessThanOrEqual(0.15)
        expect(rescans.everyMs).toBeGreaterThanOrEqual(2 * MINUTE_MS)
        expect(rescans.reachMs).toBeLessThanOrEqual(rescans.everyMs)
      },
    ),
  )
})
