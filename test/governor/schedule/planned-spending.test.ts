import { describe, expect, test } from 'vitest'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { HOUR_MS, WEEK_MS } from '../../../src/core/durations.ts'
import { planNames, plans } from '../../../src/core/plans.ts'
import type { Purpose } from '../../../src/core/purpose.ts'
import { firstProfile } from '../../../src/governor/arrivals/profile.ts'
import { quotaAt, unitsOf } from '../../../src/governor/quota/ledger.ts'
import type { Ledger } from '../../../src/governor/quota/time-buckets.ts'
import type { PlanFigures } from '../../../src/governor/schedule/pacing.ts'
import { ledgerAfterAbsence } from '../../../src/governor/schedule/planned-spending.ts'

/** A Monday, at six in London. */
const START_MS = Date.UTC(2026, 5, 1, 5)
const by = (plan: Partial<PlanFigures>) => ({
  plan: { ...plans.advanced, quotaReset: 'rolling' as const, ...plan },
  profile: firstProfile(),
  calendar: createCalendar(),
})
const unitsIn = (ledger: Ledger): number =>
  [...ledger.values()].reduce((sum, units) => sum + unitsOf(units), 0)

describe('the ledger after an absence', () => {
  test.each(planNames)('counts the polls of plan %s where they were due', (name) => {
    const plan = by(plans[name])
    const hours = (from: number, to: number) => ({
      sinceMs: START_MS + from * HOUR_MS,
      nowMs: START_MS + to * HOUR_MS,
    })
    const morning = unitsIn(ledgerAfterAbsence(new Map(), plan, hours(1, 3)))
    const night = unitsIn(ledgerAfterAbsence(new Map(), plan, hours(16, 18)))
    expect(morning).toBeGreaterThan(2 * night)
    expect(morning).toBeGreaterThan((plans[name].weeklyQuota * 2) / 168)
  })

  test('counts the last week of a longer absence, and stays inside the quota', () => {
    const { plan, ...rest } = by(plans.free)
    const nowMs = START_MS + 3 * WEEK_MS
    const weeks = ledgerAfterAbsence(new Map(), { plan, ...rest }, { sinceMs: START_MS, nowMs })
    const { used, remaining } = quotaAt(weeks, plan.weeklyQuota, 'rolling', nowMs)
    expect(used).toBeGreaterThan(plan.weeklyQuota * 0.7)
    expect(remaining).toBeGreaterThanOrEqual(0)
    expect(Math.min(...weeks.keys())).toBeGreaterThan(nowMs - WEEK_MS - HOUR_MS)
  })

  test('counts a poll a second where the quota pays for that, with its share of fills and re-scans, without simulating each', () => {
    const full = by({ weeklyQuota: 1_000_000 })
    const range = { sinceMs: START_MS + 500, nowMs: START_MS + 500 + HOUR_MS }
    const buckets = [...ledgerAfterAbsence(new Map(), full, range).values()]
    const sum = (purpose: Purpose): number =>
      buckets.reduce((units, bucket) => units + (bucket[purpose] ?? 0), 0)
    expect(sum('poll')).toBe(3600)
    expect(sum('fill')).toBeGreaterThan(3600 * 0.06)
    expect(sum('sweep')).toBeGreaterThan(0)
  })

  test('keeps what was spent before, and spends less where much was', () => {
    const before: Ledger = new Map([[START_MS - HOUR_MS, { poll: 3400 }]])
    const range = { sinceMs: START_MS, nowMs: START_MS + 6 * HOUR_MS }
    const after = ledgerAfterAbsence(before, by({}), range)
    expect(after.get(START_MS - HOUR_MS)).toEqual({ poll: 3400 })
    expect(
      quotaAt(after, plans.advanced.weeklyQuota, 'rolling', range.nowMs).remaining,
    ).toBeGreaterThanOrEqual(0)
    const fresh = unitsIn(ledgerAfterAbsence(new Map(), by({}), range))
    expect(unitsIn(after) - 3400).toBeLessThan(fresh)
  })

  test('counts the reserved proxied requests evenly, and nothing where no time has passed', () => {
    const gateway = by({ gatewayUnits: 168 })
    const range = { sinceMs: START_MS, nowMs: START_MS + 10 * HOUR_MS }
    const proxied = [...ledgerAfterAbsence(new Map(), gateway, range).values()]
    expect(proxied.reduce((sum, { gateway: units = 0 }) => sum + units, 0)).toBe(10)
    expect(ledgerAfterAbsence(new Map(), gateway, { sinceMs: range.nowMs, nowMs: START_MS }).size).toBe(0)
  })
})
