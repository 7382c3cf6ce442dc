import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  bucketOfKey,
  type KeptRequest,
  MOST_SINGLE,
  type PollsRow,
  pollsKey,
  withRequest,
} from '../../src/archive/polls.ts'

const START_MS = Date.parse('2026-01-06T07:00:00Z')
const EMPTY: PollsRow = { aheadMs: null, requests: [], minutes: [] }

const request = fc
  .tuple(
    fc.integer({ min: 0, max: 299_999 }),
    fc.constantFrom('poll' as const, 'fill' as const),
    fc.constantFrom('new' as const, 'empty' as const, 'timeout' as const),
    fc.option(fc.nat(50)),
    fc.option(fc.constantFrom(0 as const, 1 as const)),
  )
  .map(
    ([ms, purpose, result, newItems, isFull]): KeptRequest => [
      ...([START_MS + ms, purpose, result, newItems, isFull] as const),
      ...([1000, 80] as const),
    ],
  )

/** Short ones, and ones around the limit. */
const lists = fc.oneof(
  fc.array(request),
  fc.array(request, { minLength: MOST_SINGLE - 3, maxLength: 2 * MOST_SINGLE }),
)

test('a row keeps each request one by one, or all of them as sums that lose none', () => {
  fc.assert(
    fc.property(lists, (requests) => {
      const row = requests.reduce(withRequest, EMPTY)
      if (requests.length <= MOST_SINGLE) {
        expect(row).toEqual({ ...EMPTY, requests })
        return
      }
      expect(row.requests).toEqual([])
      expect(row.minutes.length).toBeLessThanOrEqual(10)
      for (const { minuteMs, purpose, results, newItems, fullPages } of row.minutes) {
        const own = requests.filter(
          ([atMs, one]) => one === purpose && atMs >= minuteMs && atMs < minuteMs + 60_000,
        )
        for (const [result, count] of Object.entries(results))
          expect(own.filter(([, , one]) => one === result)).toHaveLength(count)
        expect(newItems).toBe(own.reduce((sum, [, , , items]) => sum + (items ?? 0), 0))
        expect(fullPages).toBe(own.filter(([, , , , isFull]) => isFull === 1).length)
      }
      const counted = row.minutes.flatMap(({ results }) => Object.values(results))
      expect(counted.reduce((sum, count) => sum + count, 0)).toBe(requests.length)
    }),
  )
})

test('a key names its time bucket, and other keys name none', () => {
  expect(bucketOfKey(pollsKey(START_MS, START_MS + 5, 3))).toBe(START_MS)
  for (const key of ['', 'meta', '12', '12-', '12-1', 'x-1-1']) expect(bucketOfKey(key)).toBeNaN()
})
