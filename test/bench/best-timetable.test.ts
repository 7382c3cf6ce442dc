import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bestTimetable } from '../../bench/support/best-timetable.ts'

interface Given {
  atS: readonly number[]
  items: readonly number[]
}

/** Item-seconds with polls at these moments; Infinity where one is not seen. */
function delayWith({ atS, items }: Given, pollsS: readonly number[]): number {
  return atS.reduce((sum, at, place) => {
    const poll = pollsS.find((moment) => moment >= at) ?? Number.POSITIVE_INFINITY
    return sum + (poll - at) * (items[place] ?? 0)
  }, 0)
}

/** Every way to choose `count` of these moments. */
function choices(moments: readonly number[], count: number): number[][] {
  if (count === 0) return [[]]
  return moments.flatMap((moment, place) =>
    choices(moments.slice(place + 1), count - 1).map((rest) => [moment, ...rest]),
  )
}

const arrivals = fc
  .uniqueArray(fc.nat(60), { minLength: 2, maxLength: 8 })
  .map((moments) => moments.toSorted((one, other) => one - other))
  .chain((atS) =>
    fc
      .array(fc.integer({ min: 1, max: 9 }), { minLength: atS.length, maxLength: atS.length })
      .map((items) => ({ atS, items })),
  )

test('no placing of as many polls is better, and its delay is what its polls give', () => {
  fc.assert(
    fc.property(arrivals, fc.integer({ min: 1, max: 8 }), (given, polls) => {
      const { pollsS, delay } = bestTimetable(given, polls)
      expect(pollsS.length).toBeGreaterThanOrEqual(Math.min(polls, given.atS.length))
      expect(delay).toBeCloseTo(delayWith(given, pollsS), 6)
      const best = Math.min(...choices(given.atS, pollsS.length).map((chosen) => delayWith(given, chosen)))
      expect(delay).toBeCloseTo(best, 6)
    }),
  )
})
