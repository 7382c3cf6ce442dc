import { expect, test } from 'vitest'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { seededChance } from '../../../src/core/chance.ts'
import { DAY_MS, MINUTE_MS } from '../../../src/core/durations.ts'
import { createForecaster, itemsUntil } from '../../../src/governor/arrivals/forecast.ts'
import { lagOf, learn } from '../../../src/governor/arrivals/learning.ts'
import { firstProfile, type Profile } from '../../../src/governor/arrivals/profile.ts'

const calendar = createCalendar()
/** Midnight in London of a Monday in winter, without holidays around. */
const MONDAY_MS = Date.parse('2026-02-02T00:00:00Z')

/** Items between two moments. */
function expectedItems(profile: Profile, fromMs: number, toMs: number): number {
  return itemsUntil(createForecaster(calendar)(profile, fromMs, toMs), toMs)
}

/** A business week polled every `everyMs`, with `perMinute` items at these minutes of each day, shown `lateMs` after their time. */
function taught(
  minutes: readonly number[],
  { perMinute = 300, everyMs = 5 * MINUTE_MS, lateMs = 0 } = {},
): Profile {
  let profile = firstProfile()
  for (let dayMs = MONDAY_MS; dayMs < MONDAY_MS + 5 * DAY_MS; dayMs += DAY_MS) {
    const times = minutes.flatMap((minute) =>
      Array.from({ length: perMinute }, (_, item) => dayMs + minute * MINUTE_MS + (item % 10) * 1000),
    )
    const shown = Map.groupBy(times, (timeMs) => Math.floor((timeMs + lateMs - dayMs) / everyMs))
    for (let poll = 0; poll < DAY_MS / everyMs; poll++) {
      const fromMs = dayMs + poll * everyMs
      const observation = { fromMs, toMs: fromMs + everyMs, timesMs: shown.get(poll) ?? [], atLeast: false }
      profile = learn(profile, calendar, observation)
    }
  }
  return profile
}

/** The Tuesday after that week. */
const NEXT_MS = MONDAY_MS + 8 * DAY_MS

test('the shipped profile expects 1,900 items on a usual day, a third of them in the two bursts', () => {
  const profile = firstProfile()
  const burst = (minute: number): number =>
    expectedItems(profile, NEXT_MS + minute * MINUTE_MS, NEXT_MS + (minute + 1) * MINUTE_MS)
  expect(expectedItems(profile, NEXT_MS, NEXT_MS + DAY_MS)).toBeCloseTo(1900, -2)
  expect(burst(420)).toBeCloseTo(243, -1)
  expect(burst(430)).toBeCloseTo(428, -1)
})

test('after a week the profile expects bursts at the observed seconds, and the shipped bursts fade', () => {
  const profile = taught([480, 490])
  const from = (minute: number, second = 0): number => NEXT_MS + minute * MINUTE_MS + second * 1000
  expect(expectedItems(profile, from(480), from(480, 10))).toBeGreaterThan(150)
  expect(expectedItems(profile, from(480, 10), from(481))).toBeLessThan(5)
  expect(expectedItems(profile, from(430), from(431))).toBeLessThan(
    expectedItems(profile, from(490), from(491)) / 3,
  )
})

test('the profile drops a moved burst after a few mornings; one quiet morning lowers it by a third', () => {
  const expectedAt = (profile: Profile, minute: number): number =>
    expectedItems(profile, NEXT_MS + minute * MINUTE_MS, NEXT_MS + (minute + 1) * MINUTE_MS)
  const moved = taught([480, 490])
  expect(expectedAt(moved, 420)).toBeLessThan(10)
  expect(expectedAt(moved, 430)).toBeLessThan(10)
  const settled = taught([420, 430])
  const fromMs = NEXT_MS - DAY_MS + 419 * MINUTE_MS
  const missed = { fromMs, toMs: fromMs + 5 * MINUTE_MS, timesMs: [], atLeast: false }
  const after = learn(settled, calendar, missed)
  expect(expectedAt(after, 420)).toBeGreaterThan(expectedAt(settled, 420) * 0.4)
  expect(expectedAt(after, 420)).toBeLessThan(expectedAt(settled, 420) * 0.7)
  expect(expectedAt(learn(settled, calendar, { ...missed, atLeast: true }), 420)).toBeGreaterThan(
    expectedAt(settled, 420) * 0.9,
  )
})

test('the profile learns a plan’s fifteen-minute delay and expects its bursts at 07:15 and 07:25', () => {
  const quarter = Array.from({ length: 100 }, (_, place) => 400 + place * 3)
  const profile = taught([...quarter, 420, 430], {
    perMinute: 30,
    everyMs: MINUTE_MS,
    lateMs: 15 * MINUTE_MS,
  })
  expect(Math.abs(lagOf(profile) - 15 * MINUTE_MS)).toBeLessThanOrEqual(MINUTE_MS)
  const items = (minute: number): number =>
    expectedItems(profile, NEXT_MS + minute * MINUTE_MS, NEXT_MS + (minute + 1) * MINUTE_MS)
  expect(items(435)).toBeGreaterThan(15)
  expect(items(437)).toBeLessThan(items(435) / 3)
  expect(lagOf(taught(quarter, { perMinute: 30, everyMs: MINUTE_MS }))).toBe(0)
})

test('an overflowing page never lowers the expected number of items', () => {
  const profile = firstProfile()
  const fromMs = NEXT_MS + 429 * MINUTE_MS
  const toMs = fromMs + 2 * MINUTE_MS
  const timesMs = Array.from({ length: 50 }, () => toMs - 1000)
  const atLeast = learn(profile, calendar, { fromMs, toMs, timesMs, atLeast: true })
  const exact = learn(profile, calendar, { fromMs, toMs, timesMs, atLeast: false })
  const before = expectedItems(profile, fromMs, toMs)
  expect(expectedItems(atLeast, fromMs, toMs)).toBeGreaterThanOrEqual(before * 0.999)
  expect(expectedItems(exact, fromMs, toMs)).toBeLessThan(before)
})

test('closed days change only the profile of closed days, and a clock change moves no burst', () => {
  const saturdayMs = MONDAY_MS + 5 * DAY_MS
  const timesMs = Array.from({ length: 40 }, (_, item) => saturdayMs + item * MINUTE_MS)
  const observation = { fromMs: saturdayMs, toMs: saturdayMs + DAY_MS, timesMs, atLeast: false }
  const profile = learn(firstProfile(), calendar, observation)
  expect(profile.slots).toEqual(firstProfile().slots)
  expect(expectedItems(profile, saturdayMs, saturdayMs + DAY_MS)).toBeGreaterThan(10)
  const summerMs = Date.parse('2026-07-07T06:10:00Z')
  expect(expectedItems(profile, summerMs, summerMs + MINUTE_MS)).toBeCloseTo(428, -1)
})

test('a profile never serialises to more than sixteen kilobytes', () => {
  const chance = seededChance(1)
  let profile = firstProfile()
  for (let fromMs = MONDAY_MS; fromMs < MONDAY_MS + 4 * DAY_MS; fromMs += 10 * MINUTE_MS) {
    const timesMs = Array.from({ length: 60 }, () => fromMs + chance.between(0, 60_000))
    profile = learn(profile, calendar, {
      fromMs,
      toMs: fromMs + 10 * MINUTE_MS,
      timesMs,
      atLeast: chance.yes(0.2),
    })
  }
  expect(JSON.stringify(profile).length).toBeLessThan(16_000)
  expect(JSON.parse(JSON.stringify(profile))).toEqual(profile)
})

test('many new items open a weekday that the calendar calls closed; old ones that are shown there do not', () => {
  const holiday = Date.parse('2026-05-25T06:00:00Z')
  const shown = (timeMs: number) => {
    const timesMs = Array.from({ length: 40 }, (_, item) => timeMs + item * 1000)
    const observation = { fromMs: holiday, toMs: holiday + 5 * MINUTE_MS, timesMs, atLeast: false }
    return learn(firstProfile(), calendar, observation).openDate
  }
  expect(shown(holiday + MINUTE_MS)).toBe('2026-05-25')
  expect(shown(holiday - 3 * DAY_MS)).toBeUndefined()
  expect(shown(holiday - 2 * 60 * MINUTE_MS)).toBeUndefined()
})
