import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { DAY_MS } from '../../../src/core/durations.ts'
import { plans } from '../../../src/core/plans.ts'
import { createForecaster } from '../../../src/governor/arrivals/forecast.ts'
import { firstProfile } from '../../../src/governor/arrivals/profile.ts'
import { expectedFills, usualFillShare } from '../../../src/governor/schedule/fills.ts'
import { pollsByRule, pollsScheduled } from '../../../src/governor/schedule/poll-rounding.ts'

const calendar = createCalendar()

/** Expected fills of this many days from a London date on. */
function fills(date: string, { pageSize = 50, days = 1 } = {}) {
  const fromMs = calendar.momentMs(date, 0)
  return expectedFills(createForecaster(calendar)(firstProfile(), fromMs, fromMs + days * DAY_MS), pageSize)
}

describe('the forecast of gap fills', () => {
  it('expects fills just after the two bursts of a business day, in London time, summer and winter', () => {
    for (const date of ['2026-02-03', '2026-03-27', '2026-03-30', '2026-07-07', '2026-10-23', '2026-10-26']) {
      const minutes = fills(date).map(({ atMs }) => calendar.minuteOfDay(atMs))
      expect(minutes, date).toEqual([420, 430])
    }
  })

  it('expects fills on half days but not on weekends or holidays, also when the clocks change', () => {
    expect(fills('2026-12-24')).toHaveLength(2)
    for (const date of ['2026-12-25', '2026-12-28', '2026-03-29', '2026-10-25', '2026-02-07'])
      expect(fills(date), date).toEqual([])
    expect(fills('2026-12-21', { days: 14 })).toHaveLength(2 * 7)
  })

  it('counts the pages of the burst and of what came before it, more on a month’s first business day', () => {
    const units = (date: string, pageSize: number) =>
      fills(date, { pageSize }).reduce((sum, fill) => sum + fill.units, 0)
    expect(units('2026-02-03', 50)).toBeGreaterThanOrEqual(15)
    expect(units('2026-02-03', 50)).toBeLessThanOrEqual(24)
    expect(units('2026-02-02', 50)).toBeGreaterThan(units('2026-02-03', 50))
    expect(units('2026-02-03', 1000)).toBe(0)
  })

  it('fits the quota of every plan, but not that of a very small override', () => {
    expect(usualFillShare(plans.free)).toBeLessThan(0.4)
    expect(usualFillShare(plans.ultimate)).toBeLessThan(0.06)
    expect(usualFillShare({ weeklyQuota: 50, pageSize: 50 })).toBeGreaterThan(1)
  })
})

describe('polls added by the schedule', () => {
  it('rise with the polls of the base rule, are never fewer, and convert back to them', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.1, max: 5000, noNaN: true }),
        fc.double({ min: 0.1, max: 7, noNaN: true }),
        (rule, days) => {
          const placed = pollsScheduled(rule, days)
          expect(placed).toBeGreaterThanOrEqual(rule)
          expect(pollsScheduled(rule * 1.01, days)).toBeGreaterThan(placed)
          expect(pollsByRule(placed, days)).toBeCloseTo(rule, 6)
        },
      ),
    )
  })
})
