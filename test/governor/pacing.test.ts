import fc from 'fast-check'
import { expect, test } from 'vitest'
import { planNames, plans } from '../../src/core/plans.ts'
import { fixedPacing, type PlanFigures } from '../../src/governor/pacing.ts'
import type { Ledger, Purpose } from '../../src/log/log.ts'

const HOUR_MS = 3_600_000
const WEEK_MS = 7 * 24 * HOUR_MS
const START_MS = Date.UTC(2026, 5, 1)

function figures(changes: Partial<PlanFigures> = {}): PlanFigures {
  return { ...plans.advanced, quotaReset: 'rolling', ...changes }
}

function spent(units: Partial<Record<Purpose, number>>): Ledger {
  return new Map([[START_MS, units]])
}

test('the polls of a week leave to fills and sweeps what the mornings and rounds of each plan take', () => {
  const pollsInHundred = Object.fromEntries(
    planNames.map((name) => {
      const pollsAWeek = WEEK_MS / fixedPacing(figures(plans[name])).pollIntervalMs()
      return [name, Math.round((pollsAWeek / plans[name].weeklyQuota) * 100)]
    }),
  )
  expect(pollsInHundred).toEqual({ free: 80, lite: 71, advanced: 78, ultimate: 78, enterprise: 78 })
})

test('sweeps stop before fills do', () => {
  const pacing = fixedPacing(figures({ weeklyQuota: 10_000 }))
  expect(pacing.maySweep(spent({ sweep: 1599 }), START_MS)).toBe(true)
  expect(pacing.maySweep(spent({ sweep: 1601 }), START_MS)).toBe(false)
  expect(pacing.mayWalk(spent({ sweep: 1601 }), START_MS)).toBe(true)
  expect(pacing.maySweep(spent({ sweep: 1, fill: 2200 }), START_MS)).toBe(false)
})

test('polls never come faster than a second, nor than the rate of the plan', () => {
  expect(fixedPacing(figures({ weeklyQuota: 10_000_000 })).pollIntervalMs()).toBe(1000)
  expect(fixedPacing(figures({ weeklyQuota: 10_000_000, ratePerSecond: 0.1 })).pollIntervalMs()).toBe(10_000)
})

test('walks stop at their share, polls go on to the end of the quota', () => {
  const pacing = fixedPacing(figures({ weeklyQuota: 100 }))
  expect(pacing.mayWalk(spent({ fill: 10, sweep: 9 }), START_MS)).toBe(true)
  expect(pacing.mayWalk(spent({ fill: 10, sweep: 10 }), START_MS)).toBe(false)
  expect(pacing.mayWalk(spent({ poll: 99 }), START_MS)).toBe(true)
  expect(pacing.mayRequest(spent({ fill: 20, poll: 79 }), START_MS)).toBe(true)
  expect(pacing.mayRequest(spent({ fill: 20, poll: 80 }), START_MS)).toBe(false)
  expect(pacing.mayWalk(spent({ poll: 100 }), START_MS)).toBe(false)
})

test('whoever begins to poll again and again, on any plan, spends a tenth more than the interval gives', () => {
  const plan = fc.constantFrom(...planNames).map((name) => plans[name])
  /** As a share of the plan's interval: a life that is far too short to poll in turn. */
  const lives = fc.array(fc.double({ min: 0.01, max: 0.3, noNaN: true }), {
    minLength: 1000,
    maxLength: 2000,
  })
  fc.assert(
    fc.property(plan, lives, (limits, shares) => {
      const pacing = fixedPacing(figures(limits))
      const ledger = new Map<number, Partial<Record<Purpose, number>>>()
      let atMs = START_MS
      let polls = 0
      for (const life of shares) {
        atMs += life * pacing.pollIntervalMs()
        if (!pacing.mayPollEarly(ledger, atMs)) continue
        const hourMs = Math.floor(atMs / HOUR_MS) * HOUR_MS
        ledger.set(hourMs, { poll: (ledger.get(hourMs)?.poll ?? 0) + 1 })
        polls += 1
      }
      // The first six hours' polls may all come at once; an hour that is partly counted counts in full.
      const share = (atMs - START_MS + 7 * HOUR_MS) / pacing.pollIntervalMs()
      expect(polls).toBeLessThanOrEqual(share * 1.1 + 1)
    }),
    { numRuns: 30 },
  )
})

test('whoever begins after a steady day may poll at once, and not again and again', () => {
  for (const name of planNames) {
    const pacing = fixedPacing(figures(plans[name]))
    const ledger = new Map<number, Partial<Record<Purpose, number>>>()
    const poll = (atMs: number): void => {
      const hourMs = Math.floor(atMs / HOUR_MS) * HOUR_MS
      ledger.set(hourMs, { poll: (ledger.get(hourMs)?.poll ?? 0) + 1 })
    }
    const nowMs = START_MS + 24 * HOUR_MS
    for (let atMs = START_MS; atMs < nowMs; atMs += pacing.pollIntervalMs()) poll(atMs)
    expect(pacing.mayPollEarly(ledger, nowMs), name).toBe(true)
    const steady = pacing.pollIntervalMs()
    let early = 0
    for (; pacing.mayPollEarly(ledger, nowMs); early++) poll(nowMs)
    expect(early, name).toBeLessThanOrEqual((7 * HOUR_MS * 0.1) / steady + 1)
  }
})

test('whoever asks before each request never spends more than the quota in any seven days', () => {
  const demand = fc.array(fc.record({ pauseMs: fc.nat(12 * HOUR_MS), walk: fc.boolean() }), {
    minLength: 50,
    maxLength: 150,
  })
  fc.assert(
    fc.property(demand, fc.integer({ min: 1, max: 30 }), (requests, weeklyQuota) => {
      const pacing = fixedPacing(figures({ weeklyQuota }))
      const ledger = new Map<number, Partial<Record<Purpose, number>>>()
      const sent: { atMs: number; walk: boolean }[] = []
      let atMs = START_MS
      for (const { pauseMs, walk } of requests) {
        atMs += pauseMs
        if (!(walk ? pacing.mayWalk(ledger, atMs) : pacing.mayRequest(ledger, atMs))) continue
        const hourMs = Math.floor(atMs / HOUR_MS) * HOUR_MS
        const purpose = walk ? 'fill' : 'poll'
        const units = ledger.get(hourMs) ?? {}
        ledger.set(hourMs, { ...units, [purpose]: (units[purpose] ?? 0) + 1 })
        sent.push({ atMs, walk })
      }
      for (const last of sent) {
        const week = sent.filter((one) => one.atMs > last.atMs - WEEK_MS && one.atMs <= last.atMs)
        expect(week.length).toBeLessThanOrEqual(weeklyQuota)
        expect(week.filter((one) => one.walk).length).toBeLessThanOrEqual(Math.ceil(weeklyQuota * 0.2))
      }
    }),
  )
})
