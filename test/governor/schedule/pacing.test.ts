import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { HOUR_MS, WEEK_MS } from '../../../src/core/durations.ts'
import { planNames, plans } from '../../../src/core/plans.ts'
import type { Purpose } from '../../../src/core/purpose.ts'
import { firstProfile } from '../../../src/governor/arrivals/profile.ts'
import { countUnits, type Ledger, type OpenLedger } from '../../../src/governor/quota/time-buckets.ts'
import { type PlanFigures, plannedPacing } from '../../../src/governor/schedule/pacing.ts'
import type { Situation } from '../../../src/governor/schedule/planner.ts'

const START_MS = Date.UTC(2026, 5, 1)
const calendar = createCalendar()

function figures(changes: Partial<PlanFigures> = {}): PlanFigures {
  return { ...plans.advanced, quotaReset: 'rolling', ...changes }
}

function spent(units: Partial<Record<Purpose, number>>): Ledger {
  return new Map([[START_MS, units]])
}

function at(nowMs: number, ledger: Ledger = new Map()): Situation {
  return { ledger, profile: firstProfile(), nowMs, skewMs: 0 }
}

test('the weekly polls of each plan leave enough units for gap fills, re-scans and daily reconciliations', () => {
  const pollsInHundred = Object.fromEntries(
    planNames.map((name) => {
      const pollsAWeek = WEEK_MS / plannedPacing(figures(plans[name]), calendar).meanIntervalMs
      return [name, Math.round((pollsAWeek / plans[name].weeklyQuota) * 100)]
    }),
  )
  expect(pollsInHundred).toEqual({ free: 66, lite: 60, advanced: 75, ultimate: 77, enterprise: 78 })
})

test('re-scans stop at a smaller share of the quota than gap fills', () => {
  const pacing = plannedPacing(figures({ weeklyQuota: 10_000 }), calendar)
  expect(pacing.mayRescan(spent({ sweep: 1699 }), START_MS)).toBe(true)
  expect(pacing.mayRescan(spent({ sweep: 1701 }), START_MS)).toBe(false)
  expect(pacing.mayRetryGap(spent({ sweep: 1701 }), START_MS)).toBe(true)
  expect(pacing.mayRescan(spent({ sweep: 1, fill: 2300 }), START_MS)).toBe(false)
})

test('a daily reconciliation starts only when the remaining units cover all of it', () => {
  const pacing = plannedPacing(figures({ weeklyQuota: 10_000 }), calendar)
  expect(pacing.mayReconcile(spent({ sweep: 1680 }), START_MS, 20)).toBe(true)
  expect(pacing.mayReconcile(spent({ sweep: 1681 }), START_MS, 20)).toBe(false)
  expect(pacing.mayReconcile(spent({ poll: 9980 }), START_MS, 20)).toBe(true)
  expect(pacing.mayReconcile(spent({ poll: 9981 }), START_MS, 20)).toBe(false)
  expect(pacing.mayReconcile(spent({ fill: 2281 }), START_MS, 20)).toBe(false)
})

test.each(['rolling', { minutesAfterMonday: 0 }] as const)(
  'a quota that is spent early wants more polls than it can plan, a fresh one no more: %o',
  (quotaReset) => {
    const pacing = plannedPacing(figures({ weeklyQuota: 1000, quotaReset }), calendar)
    const fresh = pacing.plan(at(START_MS))
    expect(fresh.wantedUntilReset).toBeLessThanOrEqual(fresh.pollsUntilReset)
    const early = pacing.plan(at(START_MS + HOUR_MS, spent({ poll: 990 })))
    expect(early.pollsUntilReset).toBeLessThanOrEqual(10)
    expect(early.wantedUntilReset).toBeGreaterThan(100)
  },
)

test('the poll interval is never below one second, and polls leave four fifths of the rate limit to page scans', () => {
  const plenty = { weeklyQuota: 10_000_000 }
  const slow = { ...plenty, ratePerSecond: 0.1 }
  for (const atMs of [START_MS, Date.UTC(2026, 5, 2, 6, 10), Date.UTC(2026, 5, 6, 12)]) {
    expect(plannedPacing(figures(plenty), calendar).plan(at(atMs)).intervalMs).toBe(1000)
    expect(plannedPacing(figures(slow), calendar).plan(at(atMs)).intervalMs).toBe(50_000)
  }
})

test('gap retries stop at their share, fills at half of the quota, and polls only when it is used up', () => {
  const pacing = plannedPacing(figures({ weeklyQuota: 1000 }), calendar)
  expect(pacing.mayRetryGap(spent({ fill: 70, sweep: 10 }), START_MS)).toBe(true)
  expect(pacing.mayRetryGap(spent({ fill: 450, sweep: 10 }), START_MS)).toBe(false)
  expect(pacing.mayRetryGap(spent({ poll: 999 }), START_MS)).toBe(true)
  expect(pacing.mayFill(spent({ fill: 499, sweep: 10 }), START_MS)).toBe(true)
  expect(pacing.mayFill(spent({ fill: 500 }), START_MS)).toBe(false)
  expect(pacing.mayFill(spent({ fill: 10, poll: 990 }), START_MS)).toBe(false)
  expect(pacing.mayRequest(spent({ fill: 20, poll: 979 }), START_MS)).toBe(true)
  expect(pacing.mayRequest(spent({ fill: 20, poll: 980 }), START_MS)).toBe(false)
  expect(pacing.mayRetryGap(spent({ poll: 1000 }), START_MS)).toBe(false)
})

test('polls and page scans never spend the units reserved for proxied requests, used or not', () => {
  const shared = plannedPacing(figures({ gatewayUnits: 500 }), calendar)
  const smaller = plannedPacing(figures({ weeklyQuota: plans.advanced.weeklyQuota - 500 }), calendar)
  expect(shared.meanIntervalMs).toBe(smaller.meanIntervalMs)
  const nowMs = START_MS + 30 * HOUR_MS
  for (const gateway of [0, 1, 500]) {
    const used = { poll: 700, fill: 30 }
    expect(shared.plan(at(nowMs, spent({ ...used, gateway })))).toEqual(smaller.plan(at(nowMs, spent(used))))
    expect(shared.mayRequest(spent({ poll: 2_999, gateway }), START_MS)).toBe(true)
    expect(shared.mayRequest(spent({ poll: 3_000, gateway }), START_MS)).toBe(false)
    expect(shared.mayReconcile(spent({ poll: 2_960, gateway }), START_MS, 40)).toBe(true)
    expect(shared.mayReconcile(spent({ poll: 2_961, gateway }), START_MS, 40)).toBe(false)
  }
  // A share that was made smaller later: the quota is never exceeded.
  expect(shared.mayRequest(spent({ poll: 2_700, gateway: 800 }), START_MS)).toBe(false)
  expect(shared.mayReconcile(spent({ poll: 2_680, gateway: 800 }), START_MS, 20)).toBe(true)
  expect(shared.mayReconcile(spent({ poll: 2_681, gateway: 800 }), START_MS, 20)).toBe(false)
  const off = plannedPacing(figures(), calendar)
  expect(off.mayRequest(spent({ poll: 3_000, gateway: 500 }), START_MS)).toBe(false)
})

test('a process that restarts again and again spends at most a tenth more than planned, on every plan', () => {
  const plan = fc.constantFrom(...planNames).map((name) => plans[name])
  /** Lifetimes as shares of the plan's mean poll interval: each too short to reach the next planned poll. */
  const lives = fc.array(fc.double({ min: 0.01, max: 0.3, noNaN: true }), { minLength: 100, maxLength: 200 })
  fc.assert(
    fc.property(plan, lives, (limits, shares) => {
      const pacing = plannedPacing(figures(limits), calendar)
      const ledger: OpenLedger = new Map()
      let atMs = START_MS
      let polls = 0
      for (const life of shares) {
        atMs += life * pacing.meanIntervalMs
        if (!pacing.mayPollEarly(at(atMs, ledger))) continue
        countUnits(ledger, 1, 'poll', atMs)
        polls += 1
      }
      // The first seven hours' polls may all come at once; no hour has more than a seventh of its day's.
      const dayShare = (limits.weeklyQuota / 5) * 1.1
      const days = Math.ceil((atMs - START_MS) / (24 * HOUR_MS)) + 0.5
      expect(polls).toBeLessThanOrEqual(Math.max(1, days * dayShare))
    }),
    { numRuns: 8 },
  )
})

test('a process that starts after a day of planned polling may poll at once, but not repeatedly', () => {
  for (const name of ['free', 'advanced', 'ultimate'] as const) {
    const pacing = plannedPacing(figures(plans[name]), calendar)
    const ledger: OpenLedger = new Map()
    const poll = (atMs: number): void => countUnits(ledger, 1, 'poll', atMs)
    let nowMs = START_MS + 12 * HOUR_MS
    for (; nowMs < START_MS + 19 * HOUR_MS; nowMs += pacing.plan(at(nowMs, ledger)).intervalMs) poll(nowMs)
    const before = [...ledger.values()].reduce((sum, { poll: units = 0 }) => sum + units, 0)
    let early = 0
    for (; pacing.mayPollEarly(at(nowMs, ledger)); early++) poll(nowMs)
    expect(early, name).toBeGreaterThanOrEqual(1)
    expect(early, name).toBeLessThanOrEqual(before * 0.2 + 2)
  }
})

test('requests that check the pacing first never exceed the quota in any seven days', () => {
  const demand = fc.array(fc.record({ pauseMs: fc.nat(12 * HOUR_MS), scan: fc.boolean() }), {
    minLength: 50,
    maxLength: 150,
  })
  fc.assert(
    fc.property(demand, fc.integer({ min: 1, max: 30 }), (requests, weeklyQuota) => {
      const pacing = plannedPacing(figures({ weeklyQuota }), calendar)
      const ledger: OpenLedger = new Map()
      const sent: { atMs: number; scan: boolean }[] = []
      let atMs = START_MS
      for (const { pauseMs, scan } of requests) {
        atMs += pauseMs
        if (!(scan ? pacing.mayRetryGap(ledger, atMs) : pacing.mayRequest(ledger, atMs))) continue
        countUnits(ledger, 1, scan ? 'fill' : 'poll', atMs)
        sent.push({ atMs, scan })
      }
      for (const last of sent) {
        const week = sent.filter((one) => one.atMs > last.atMs - WEEK_MS && one.atMs <= last.atMs)
        expect(week.length).toBeLessThanOrEqual(weeklyQuota)
        expect(week.filter((one) => one.scan).length).toBeLessThanOrEqual(Math.ceil(weeklyQuota * 0.5))
      }
    }),
  )
})
