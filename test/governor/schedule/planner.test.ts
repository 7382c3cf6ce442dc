import { expect, test } from 'vitest'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../src/core/durations.ts'
import { type PlanName, plans } from '../../../src/core/plans.ts'
import type { Purpose } from '../../../src/core/purpose.ts'
import { createForecaster } from '../../../src/governor/arrivals/forecast.ts'
import { firstProfile } from '../../../src/governor/arrivals/profile.ts'
import type { QuotaReset } from '../../../src/governor/quota/ledger.ts'
import { quotaAt } from '../../../src/governor/quota/ledger.ts'
import { countUnits, type OpenLedger } from '../../../src/governor/quota/time-buckets.ts'
import { expectedFills } from '../../../src/governor/schedule/fills.ts'
import { plannedPacing } from '../../../src/governor/schedule/pacing.ts'
import { overflowRisk } from '../../../src/governor/schedule/poll-scheduler.ts'

const calendar = createCalendar()
const profile = firstProfile()

/** Polls from one moment to another, as they are planned: nothing but polls is spent. */
function polls(name: PlanName, fromMs: number, toMs: number, quotaReset: QuotaReset = 'rolling') {
  const plan = { ...plans[name], quotaReset }
  const pacing = plannedPacing(plan, calendar)
  const ledger: OpenLedger = new Map()
  const atMs: number[] = []
  for (let nowMs = fromMs; nowMs < toMs; ) {
    if (pacing.mayRequest(ledger, nowMs)) {
      countUnits(ledger, 1, 'poll', nowMs)
      atMs.push(nowMs)
      nowMs += pacing.plan({ ledger, profile, nowMs, skewMs: 0 }).intervalMs
    } else nowMs += HOUR_MS
  }
  return { atMs, ledger, plan }
}

const within = (atMs: readonly number[], fromMs: number, toMs: number): number =>
  atMs.filter((ms) => ms >= fromMs && ms < toMs).length

test('every plan polls within twenty seconds after a burst ends', () => {
  for (const [name, seven] of [
    ['free', '2026-02-03T07:00:00Z'],
    ['lite', '2026-07-07T06:00:00Z'],
    ['advanced', '2026-02-03T07:00:00Z'],
    ['ultimate', '2026-07-07T06:00:00Z'],
  ] as const) {
    const sevenMs = Date.parse(seven)
    const { atMs } = polls(name, sevenMs - HOUR_MS, sevenMs + 12 * MINUTE_MS)
    const endMs = sevenMs + 10 * MINUTE_MS + 11 * SECOND_MS
    expect(within(atMs, endMs, endMs + 20 * SECOND_MS), name).toBeGreaterThanOrEqual(1)
  }
})

test('on the largest plan no poll interval within a burst is expected to overflow a page', () => {
  const tenMs = Date.parse('2026-02-03T07:10:00Z')
  const { atMs } = polls('ultimate', tenMs - 5 * MINUTE_MS, tenMs + MINUTE_MS)
  const burst = atMs.filter((ms) => ms >= tenMs + SECOND_MS && ms < tenMs + 12 * SECOND_MS)
  const gaps = burst.slice(1).map((ms, place) => ms - (burst[place] ?? ms))
  for (const gapMs of gaps) expect(overflowRisk((43 * gapMs) / SECOND_MS, 200)).toBeLessThan(0.01)
})

test('holidays, weekends and the hours after a half day get few polls', () => {
  const { atMs } = polls('lite', Date.parse('2026-12-21T00:00:00Z'), Date.parse('2026-12-28T00:00:00Z'))
  const day = (date: string): number => Date.parse(`${date}T00:00:00Z`)
  const [usual, christmas] = [day('2026-12-22'), day('2026-12-25')]
  expect(within(atMs, christmas, christmas + DAY_MS)).toBeLessThan(within(atMs, usual, usual + DAY_MS) / 10)
  const afternoon = (date: string): number => within(atMs, day(date) + 14 * HOUR_MS, day(date) + 18 * HOUR_MS)
  expect(afternoon('2026-12-24')).toBeLessThan(afternoon('2026-12-22') / 3)
})

test('two polls are never more than six hours apart, where an hour of a closed day counts half', () => {
  const fromMs = Date.parse('2026-12-14T00:00:00Z')
  const { atMs } = polls('free', fromMs, fromMs + 21 * DAY_MS)
  const weighed = (untilMs: number, sinceMs: number): number => {
    let hours = 0
    for (let ms = sinceMs; ms < untilMs; ms += MINUTE_MS) {
      const part = Math.min(MINUTE_MS, untilMs - ms) / HOUR_MS
      hours += calendar.isBusinessDay(calendar.londonDate(ms)) ? part : part / 2
    }
    return hours
  }
  const gaps = atMs.slice(1).map((ms, place) => [ms, atMs[place] ?? ms] as const)
  for (const [ms, before] of gaps) {
    expect(weighed(ms, before), new Date(before).toISOString()).toBeLessThanOrEqual(6.02)
  }
  expect(Math.max(...gaps.map(([ms, before]) => ms - before))).toBeGreaterThan(8 * HOUR_MS)
})

test('a quota with a fixed reset is used to 98 % by its reset and never exceeded', () => {
  const fromMs = Date.parse('2026-02-02T00:00:00Z')
  for (const name of ['free', 'lite'] as const) {
    const { ledger, plan } = polls(name, fromMs, fromMs + 7 * DAY_MS - 1, { minutesAfterMonday: 0 })
    const { used, limit } = quotaAt(ledger, plan.weeklyQuota, plan.quotaReset, fromMs + 7 * DAY_MS - 1)
    expect(used / limit, name).toBeGreaterThanOrEqual(0.98)
    expect(used).toBeLessThanOrEqual(limit)
  }
})

test('a rolling quota is spent evenly over the business days of three weeks and never fully', () => {
  const fromMs = Date.parse('2026-02-02T00:00:00Z')
  const { atMs } = polls('free', fromMs, fromMs + 21 * DAY_MS)
  for (const week of [0, 1, 2]) {
    const days = [0, 1, 2, 3, 4].map((day) => fromMs + (7 * week + day) * DAY_MS)
    const counts = days.map((dayMs) => within(atMs, dayMs, dayMs + DAY_MS))
    expect(Math.min(...counts)).toBeGreaterThan(Math.max(...counts) * 0.6)
  }
  for (const ms of atMs) expect(within(atMs, ms - 7 * DAY_MS, ms + 1)).toBeLessThan(350)
})

test('the smallest plan can fill every burst of three weeks with a holiday, a half day and a clock change', () => {
  for (const from of ['2026-03-23T00:00:00Z', '2026-10-18T23:00:00Z', '2026-12-14T00:00:00Z']) {
    const fromMs = Date.parse(from)
    const plan = { ...plans.free, quotaReset: 'rolling' as const }
    const pacing = plannedPacing(plan, calendar)
    const ahead = createForecaster(calendar)(profile, fromMs, fromMs + 21 * DAY_MS)
    const fills = expectedFills(ahead, plan.pageSize)
    const ledger: OpenLedger = new Map()
    const unpaid: string[] = []
    const spend = (purpose: Purpose, nowMs: number): void => countUnits(ledger, 1, purpose, nowMs)
    const pollsADay = new Map<string, number>()
    for (let nowMs = fromMs; nowMs < fromMs + 21 * DAY_MS; ) {
      for (; (fills[0]?.atMs ?? nowMs) < nowMs; fills.shift()) {
        for (let unit = 0; unit < (fills[0]?.units ?? 0); unit++) {
          if (pacing.mayFill(ledger, nowMs)) spend('fill', nowMs)
          else unpaid.push(new Date(nowMs).toISOString())
        }
      }
      if (pacing.mayRequest(ledger, nowMs)) {
        spend('poll', nowMs)
        const date = calendar.londonDate(nowMs)
        pollsADay.set(date, (pollsADay.get(date) ?? 0) + 1)
        nowMs += pacing.plan({ ledger, profile, nowMs, skewMs: 0 }).intervalMs
      } else nowMs += HOUR_MS
    }
    expect(unpaid).toEqual([])
    pollsADay.delete(calendar.londonDate(fromMs + 21 * DAY_MS))
    for (const [date, count] of pollsADay) {
      if (calendar.isHalfDay(date)) expect(count, date).toBeGreaterThanOrEqual(15)
      else if (calendar.isBusinessDay(date)) expect(count, date).toBeGreaterThanOrEqual(25)
      else expect(count, date).toBeLessThanOrEqual(8)
    }
  }
})

test('polls follow upstream’s clock, however far it differs from ours', () => {
  const pacing = plannedPacing({ ...plans.advanced, quotaReset: 'rolling' }, calendar)
  const nowMs = Date.parse('2026-02-03T07:09:55Z')
  const plan = pacing.plan({ ledger: new Map(), profile, nowMs, skewMs: 0 })
  const apart = pacing.plan({ ledger: new Map(), profile, nowMs: nowMs - 100 * DAY_MS, skewMs: 100 * DAY_MS })
  expect(apart.intervalMs).toBe(plan.intervalMs)
})

test.each([
  { time: '12:01', each: 45 },
  { time: '20:00', each: 20 },
  { time: '23:00', each: 40 },
])('the only fill of a week changes the pace little, planned at $time after $each units an hour', (given) => {
  const holidays = ['2026-01-12', '2026-01-13', '2026-01-14', '2026-01-15']
  const shut = createCalendar({ holidays, businessDays: [], halfDays: [] })
  const nowMs = Date.parse(`2026-01-08T${given.time}:00Z`)
  const ledger: OpenLedger = new Map()
  for (let hour = 72; hour > 0; hour--) countUnits(ledger, given.each, 'poll', nowMs - hour * HOUR_MS)
  const intervalMs = (pageSize: number): number => {
    const pacing = plannedPacing({ ...plans.advanced, pageSize, quotaReset: 'rolling' }, shut)
    return pacing.plan({ ledger, profile, nowMs, skewMs: 0 }).intervalMs
  }
  // The burst of Friday has some 430 items.
  const [withFill, without] = [intervalMs(300), intervalMs(1_000)]
  expect(withFill).toBeGreaterThan(0.95 * without)
  expect(withFill).toBeLessThan(2 * without)
})

test.each(['06:59:59', '07:00:45', '07:04:50'])(
  'a fixed week whose quota is nearly spent is polled as soon as the next one begins, planned at %s',
  (time) => {
    const resetMs = Date.parse('2026-01-20T07:05:00Z')
    const nowMs = Date.parse(`2026-01-20T${time}Z`)
    const quotaReset = { minutesAfterMonday: (DAY_MS + 7 * HOUR_MS + 5 * MINUTE_MS) / MINUTE_MS }
    const ledger: OpenLedger = new Map()
    countUnits(ledger, 349, 'poll', resetMs - 3 * DAY_MS)
    const pacing = plannedPacing({ ...plans.free, quotaReset }, calendar)
    const { intervalMs } = pacing.plan({ ledger, profile, nowMs, skewMs: 0 })
    expect(nowMs + intervalMs).toBeLessThan(resetMs + 5 * SECOND_MS)
  },
)
