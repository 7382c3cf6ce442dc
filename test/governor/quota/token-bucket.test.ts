import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createTokenBucket } from '../../../src/governor/quota/token-bucket.ts'

const plan = fc.record({
  ratePerSecond: fc.integer({ min: 1, max: 60 }),
  burst: fc.integer({ min: 1, max: 120 }),
})
/** Pauses between takes: most within the burst, some long enough to fill the bucket. */
const pauses = fc.array(fc.oneof(fc.constant(0), fc.nat(200), fc.nat(10_000)), {
  minLength: 1,
  maxLength: 200,
})

/** Fails when any window, of any length, holds more than `burst + rate × length`. Times are in order. */
function expectWithinPlan(
  times: number[],
  { ratePerSecond, burst }: { ratePerSecond: number; burst: number },
): void {
  /** With level(i) = i − rate × t(i), a window i..j holds too many exactly when level(j) − level(i) + 1 > burst. */
  let lowest = Number.POSITIVE_INFINITY
  times.forEach((atMs, index) => {
    const level = index - (ratePerSecond * atMs) / 1000
    lowest = Math.min(lowest, level)
    expect(level - lowest + 1).toBeLessThanOrEqual(burst + 1e-6)
  })
}

test('no window of any length contains more than burst + rate × length requests', () => {
  fc.assert(
    fc.property(plan, pauses, fc.boolean(), (figures, waits, callerWaits) => {
      const bucket = createTokenBucket(figures)
      let nowMs = 0
      const used = waits.map((waitMs) => {
        nowMs += waitMs
        const readyMs = bucket.take(nowMs)
        expect(readyMs).toBeGreaterThanOrEqual(nowMs)
        if (callerWaits) nowMs = readyMs
        return readyMs
      })
      expect(used).toEqual([...used].sort((one, other) => one - other))
      expectWithinPlan(used, figures)
    }),
  )
})

test('the check of this test detects one request too many', () => {
  expect(() => expectWithinPlan([0, 0, 0], { ratePerSecond: 1, burst: 2 })).toThrow()
  expect(() => expectWithinPlan([0, 0, 900], { ratePerSecond: 1, burst: 2 })).toThrow()
  expect(() => expectWithinPlan([0, 0, 1000], { ratePerSecond: 1, burst: 2 })).not.toThrow()
})

test('a full bucket grants its burst at once, minus one token reserved for jitter', () => {
  const bucket = createTokenBucket({ ratePerSecond: 5, burst: 10 })
  const ready = Array.from({ length: 10 }, () => bucket.take(1000))
  expect(ready.slice(0, 9)).toEqual(Array(9).fill(1000))
  expect(ready[9]).toBeGreaterThan(1000 + 1000 / 5)
})

test('a plan without room for a burst still gets its rate', () => {
  const bucket = createTokenBucket({ ratePerSecond: 1, burst: 1 })
  const ready = [bucket.take(0), bucket.take(0), bucket.take(0)]
  expect(ready[0]).toBe(0)
  expect(ready[2]).toBeCloseTo(2 * (1000 / 0.98), 6)
})

test('a drained bucket grants no burst: its tokens come one at a time, each an interval later', () => {
  const bucket = createTokenBucket({ ratePerSecond: 10, burst: 20 })
  const spacingMs = 1000 / (10 * 0.98)
  bucket.drain(0)
  const readyMs = [bucket.take(0), bucket.take(0), bucket.take(0)]
  expect(readyMs.map((ms) => Math.round(ms / spacingMs))).toEqual([1, 2, 3])
})

test('after a drain the first token comes one interval later, so requests sent before the drain stay within the limit', () => {
  fc.assert(
    fc.property(plan, fc.nat(5000), (figures, restartMs) => {
      const before = createTokenBucket(figures)
      const sent: number[] = []
      for (
        let readyMs = before.take(0);
        readyMs <= restartMs && sent.length < 200;
        readyMs = before.take(0)
      ) {
        sent.push(readyMs)
      }
      fc.pre(sent.length < 200)
      const after = createTokenBucket(figures)
      after.drain(restartMs)
      const later = Array.from({ length: 20 }, () => after.take(restartMs))
      expect(later[0]).toBeGreaterThan(restartMs + 1000 / figures.ratePerSecond - 1e-6)
      expectWithinPlan([...sent, ...later], figures)
    }),
  )
})

test('a clock that is set back adds no wait and grants no extra token', () => {
  const bucket = createTokenBucket({ ratePerSecond: 5, burst: 10 })
  const hourMs = 3_600_000
  for (let taken = 0; taken < 9; taken++) bucket.take(hourMs)
  const readyMs = bucket.take(0)
  expect(readyMs).toBeGreaterThan(1000 / 5)
  expect(readyMs).toBeLessThan(1000)
})

test('the bucket reports how long it takes to be full again', () => {
  const bucket = createTokenBucket({ ratePerSecond: 1, burst: 3 })
  expect(bucket.msUntilFull(0)).toBe(0)
  bucket.take(0)
  expect(bucket.msUntilFull(0)).toBeCloseTo(1000 / 0.98, 6)
  expect(bucket.msUntilFull(5000)).toBe(0)
})
