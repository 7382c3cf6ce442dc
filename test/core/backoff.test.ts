import fc from 'fast-check'
import { expect, test } from 'vitest'
import { backoffMs } from '../../src/core/backoff.ts'

const middle = (): number => 0.5

test('the delay grows by the factor from the base up to the ceiling', () => {
  const shape = { baseMs: 100, factor: 3, maxMs: 2000, jitter: 0.2 }
  expect([1, 2, 3, 4, 5].map((attempt) => backoffMs(attempt, shape, middle))).toEqual([
    100, 300, 900, 2000, 2000,
  ])
})

test('jitter subtracts or adds at most its share, evenly distributed', () => {
  const shape = { baseMs: 1000, factor: 2, maxMs: 60_000, jitter: 0.1 }
  expect(backoffMs(1, shape, () => 0)).toBe(900)
  expect(backoffMs(1, shape, () => 0.75)).toBe(1050)
  expect(backoffMs(1, shape, () => 1 - Number.EPSILON)).toBe(1100)
})

test('every attempt, however late, waits at most the ceiling plus its jitter', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100_000 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (attempt, drawn) => {
        const delayMs = backoffMs(attempt, { baseMs: 5, factor: 2, maxMs: 10_000, jitter: 0.25 }, () => drawn)
        expect(delayMs).toBeGreaterThanOrEqual(3)
        expect(delayMs).toBeLessThanOrEqual(12_500)
        expect(Number.isInteger(delayMs)).toBe(true)
      },
    ),
  )
})
