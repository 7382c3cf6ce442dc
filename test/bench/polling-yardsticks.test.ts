import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fileTrace, type Trace } from '../../bench/support/polling-traces.ts'
import {
  bestOf,
  delaysOf,
  expectedArrivals,
  expectedMean,
  foresightMean,
  foundBy,
  latenessOf,
  timesOptimum,
  typicalDays,
} from '../../bench/support/polling-yardsticks.ts'
import { createCalendar } from '../../src/core/calendar/calendar.ts'
import { DAY_MS, HOUR_MS } from '../../src/core/durations.ts'

const calendar = createCalendar()
const HOUR_S = 3600

/** Four hundred items at nine and forty at ten on each of these dates: too many to be spread. */
function mornings(dates: readonly string[]): Trace {
  return fileTrace('mornings', dates.flatMap((date) => [`${date},09:00,400`, `${date},10:00,40`]).join('\n'))
}

/** Wednesday to Friday, Tuesday: Monday 2026-05-25 is a bank holiday. */
const DATES = ['2026-05-20', '2026-05-21', '2026-05-22', '2026-05-26']

test.each([
  { polls: 4, unpolledNines: 4 },
  { polls: 5, unpolledNines: 3 },
  { polls: 7, unpolledNines: 1 },
  { polls: 8, unpolledNines: 0 },
])(
  'with $polls polls ten of eleven items wait for an hour on $unpolledNines mornings, whatever the weekdays',
  (given) => {
    const trace = mornings(DATES)
    const range = { fromMs: trace.startMs, toMs: trace.endMs }
    const best = bestOf(expectedArrivals(typicalDays(trace, calendar), calendar, range), given.polls)
    expect(best.mean).toBeCloseTo((given.unpolledNines * 10 * HOUR_S) / (11 * DATES.length) + 0.5, 6)
    const tens = DATES.map((date) => calendar.momentMs(date, 600) + 1000)
    expect(best.pollsMs).toEqual(expect.arrayContaining([...tens, trace.endMs]))
    expect(best.pollsMs).toHaveLength(given.polls + 1)
  },
)

test('over two weeks a timetable spends no poll on the closed days between', () => {
  const trace = mornings([...DATES, '2026-05-27', '2026-05-28', '2026-05-29', '2026-06-01', '2026-06-02'])
  const range = { fromMs: trace.startMs, toMs: trace.endMs }
  const { pollsMs, mean } = bestOf(expectedArrivals(typicalDays(trace, calendar), calendar, range), 16)
  expect(mean).toBeCloseTo((2 * 10 * HOUR_S) / (11 * 9) + 0.5, 6)
  const dates = pollsMs.slice(0, -1).map((ms) => calendar.londonDate(ms))
  expect(dates.filter((date) => !calendar.isBusinessDay(date))).toEqual([])
})

const START_MS = calendar.momentMs('2026-05-20', 0)
const moment = fc.integer({ min: START_MS, max: START_MS + 7 * DAY_MS - 1 })
const rising = (least: number) =>
  fc
    .array(moment, { minLength: least, maxLength: 12 })
    .map((moments) => moments.toSorted((one, other) => one - other))

function traceWith(visibleMs: number[]): Trace {
  const endMs = START_MS + 7 * DAY_MS
  return { name: 'drawn', startMs: START_MS, endMs, visibleMs, stampOffMs: 0, shiftMs: 0 }
}

const SECONDS = 600
const second = fc.integer({ min: 1, max: SECONDS })
const expectations = fc
  .uniqueArray(fc.tuple(second, fc.double({ min: 0.01, max: 9, noNaN: true })), {
    minLength: 1,
    maxLength: 40,
    selector: ([at]) => at,
  })
  .map((drawn) => {
    const rising = drawn.toSorted(([one], [other]) => one - other)
    const rest = rising.at(-1)?.[0] === SECONDS ? [] : [[SECONDS, 0] as const]
    return {
      ...{ fromMs: START_MS, toMs: START_MS + SECONDS * 1000 },
      atS: [...rising, ...rest].map(([at]) => at),
      items: [...rising, ...rest].map(([, items]) => items),
      all: rising.reduce((sum, [, items]) => sum + items, 0),
    }
  })

test('no polls have less expected delay than the best timetable of as many', () => {
  fc.assert(
    fc.property(expectations, fc.array(second, { maxLength: 20 }), (expected, drawn) => {
      const pollsMs = drawn.toSorted((one, other) => one - other).map((at) => START_MS + at * 1000 - 300)
      const best = bestOf(expected, pollsMs.length)
      expect(expectedMean(expected, pollsMs)).toBeGreaterThanOrEqual(best.mean - 1e-6)
      expect(expectedMean(expected, best.pollsMs)).toBeCloseTo(best.mean, 5)
    }),
  )
})

test('a burst stays in its seconds, and an item alone is spread as far as the next ones are away', () => {
  const trace = fileTrace('burst', '2026-05-20,07:00:02,60\n2026-05-20,12:00,1\n2026-05-20,17:00:02,60')
  const { open, closed } = typicalDays(trace, calendar)
  const reachS = 5 * HOUR_S - 2
  expect(open[7 * HOUR_S + 3]).toBeCloseTo(60 + 1 / (2 * reachS + 1), 9)
  expect(open[7 * HOUR_S + 4]).toBeCloseTo(1 / (2 * reachS + 1), 9)
  expect(open[17 * HOUR_S]).toBe(0)
  expect(open[17 * HOUR_S + 3]).toBe(60)
  expect(open.reduce((sum, items) => sum + items, 0)).toBeCloseTo(121, 6)
  expect(closed.every((items) => items === 0)).toBe(true)
})

test('no polls find items sooner than as many polls that know them all', () => {
  fc.assert(
    fc.property(rising(1), rising(1), (visibleMs, pollsMs) => {
      const trace = traceWith(visibleMs)
      const range = { fromMs: trace.startMs, toMs: trace.endMs }
      const foundMs = foundBy(trace, pollsMs)
      fc.pre(foundMs.some(Number.isFinite))
      const { mean } = delaysOf(trace, foundMs, range)
      expect(mean).toBeGreaterThanOrEqual(foresightMean(trace, foundMs, pollsMs.length, range) - 1e-6)
    }),
  )
})

test('an overflow that is filled two hours after its poll adds its share of them', () => {
  const trace = traceWith([1, 2, 3, 4].map((hour) => START_MS + hour * HOUR_MS))
  const range = { fromMs: trace.startMs, toMs: trace.endMs }
  const pollsMs = [2.5, 4.5, 6.5].map((hour) => START_MS + hour * HOUR_MS)
  const foundMs = foundBy(trace, pollsMs)
  expect(latenessOf(trace, foundMs, pollsMs, range)).toBe(0)
  foundMs[2] = START_MS + 6.5 * HOUR_MS
  expect(latenessOf(trace, foundMs, pollsMs, range)).toBe((2 * HOUR_S) / 4)
})

test('an optimum that something beats judges nothing', () => {
  expect(timesOptimum(11, 10)).toBe(1.1)
  expect(timesOptimum(10, 10)).toBe(1)
  expect(() => timesOptimum(380, 11_749)).toThrow('said to be the optimum')
})
