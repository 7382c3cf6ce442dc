import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BURST_SECONDS, RequestRate } from '../../../src/http/bounds/request-rate.ts'

const START_MS = Date.UTC(2026, 5, 1, 6)

test('a key sends a burst at once, then its rate, and never more', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50 }),
      fc.array(fc.nat(3000), { minLength: 1, maxLength: 300 }),
      (perSecond, gapsMs) => {
        const rate = new RequestRate(perSecond)
        let nowMs = START_MS
        let level = rate.burst
        for (const gapMs of gapsMs) {
          nowMs += gapMs
          level = Math.min(rate.burst, level + (gapMs * perSecond) / 1000)
          // Many requests at each moment, so that the bucket runs empty.
          for (let count = 0; count < perSecond; count += 1) {
            const { isWithin, remaining } = rate.take('key', nowMs)
            // The naive bucket counts in fractions: at its edge either answer is right.
            if (Math.abs(level - 1) < 1e-6) continue
            expect(isWithin).toBe(level >= 1)
            if (isWithin) level -= 1
            expect(Math.abs(remaining - level)).toBeLessThan(1.001)
          }
        }
      },
    ),
    { numRuns: 50 },
  )
})

test('a refused request says when the next one is taken, and does not put it off', () => {
  const rate = new RequestRate(2)
  for (let count = 0; count < rate.burst; count += 1) expect(rate.take('key', START_MS).isWithin).toBe(true)
  for (let count = 0; count < 100; count += 1) {
    expect(rate.take('key', START_MS)).toEqual({
      isWithin: false,
      remaining: 0,
      fullInMs: BURST_SECONDS * 1000,
      nextInMs: 500,
    })
  }
  expect(rate.take('key', START_MS + 499).isWithin).toBe(false)
  expect(rate.take('key', START_MS + 500).isWithin).toBe(true)
  expect(rate.take('other', START_MS)).toMatchObject({ isWithin: true, remaining: rate.burst - 1 })
})

test('a clock that is set back refuses nobody for longer than a bucket takes to fill', () => {
  const rate = new RequestRate(10)
  rate.take('key', START_MS)
  const earlierMs = START_MS - 24 * 3_600_000
  rate.take('key', earlierMs)
  expect(rate.take('key', earlierMs + BURST_SECONDS * 1000).isWithin).toBe(true)
})
