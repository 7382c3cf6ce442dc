import fc from 'fast-check'
import { expect, test } from 'vitest'
import { planNames, plans } from '../../../src/core/plans.ts'
import { rescansOf } from '../../../src/governor/schedule/rescans.ts'

const MINUTE_MS = 60_000
const NEWS_HOURS = 14

test('rounds come as often as each plan pays for, and on the smallest not at all', () => {
  const minutes = Object.fromEntries(
    planNames.map((name) => {
      const rounds = rescansOf(plans[name])
      return [name, rounds === null ? null : Math.round(rounds.everyMs / MINUTE_MS)]
    }),
  )
  expect(minutes).toEqual({ free: null, lite: 446, advanced: 47, ultimate: 14, enterprise: 3 })
})

test('the rounds of a day cost no more than their share, by an independent count', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 100, max: 100_000 }),
      fc.constantFrom(50, 100, 200),
      (weeklyQuota, pageSize) => {
        const rounds = rescansOf({ weeklyQuota, pageSize })
        if (rounds === null) return
        const everyHours = rounds.everyMs / (60 * MINUTE_MS)
        const reachHours = rounds.reachMs / (60 * MINUTE_MS)
        const pages = Math.ceil(1900 / pageSize)
        const cost = pages * (1 + reachHours / everyHours) + NEWS_HOURS / everyHours
        expect(cost).toBeLessThanOrEqual((weeklyQuota / 5) * rounds.share + pages * 1e-6)
        expect(rounds.share).toBeLessThanOrEqual(0.15)
        expect(rounds.everyMs).toBeGreaterThanOrEqual(2 * MINUTE_MS)
        expect(rounds.reachMs).toBeLessThanOrEqual(rounds.everyMs)
      },
    ),
  )
})
