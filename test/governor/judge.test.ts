import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hintsAtQuota, judge429 } from '../../src/governor/judge.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const NOW_MS = Date.UTC(2026, 5, 1, 7)

const middle = (): number => 0.5

interface Case {
  retryAfterMs?: number | null
  inARow?: number
  hintsInARow?: number
  remaining?: number
  resetInMs?: number
}

function judge(
  { retryAfterMs = null, inARow = 1, hintsInARow = 0, remaining = 100, resetInMs = 48 * HOUR_MS }: Case,
  chance = middle,
) {
  const quota = { limit: 1000, used: 1000 - remaining, remaining, resetMs: NOW_MS + resetInMs }
  return judge429({ retryAfterMs, inARow, hintsInARow, quota, nowMs: NOW_MS }, chance)
}

test('with units left and nothing said, it is the throttle, and the waits double from a second', () => {
  const waits = [1, 2, 3, 4, 5, 6].map((inARow) => judge({ inARow }))
  expect(waits).toEqual([1, 2, 4, 8, 16, 32].map((seconds) => ({ kind: 'throttle', waitMs: seconds * 1000 })))
})

test('a throttle waits for Retry-After where that is longer', () => {
  expect(judge({ retryAfterMs: 30_000 })).toEqual({ kind: 'throttle', waitMs: 30_000 })
  expect(judge({ retryAfterMs: 0 })).toEqual({ kind: 'throttle', waitMs: 1000 })
})

test('a Retry-After beyond two minutes is not believed at once: two short waits, then it is the quota', () => {
  expect(judge({ retryAfterMs: 2 * MINUTE_MS })).toEqual({ kind: 'throttle', waitMs: 2 * MINUTE_MS })
  const hinted = [1, 2, 3].map((inARow) => judge({ retryAfterMs: HOUR_MS, inARow, hintsInARow: inARow }))
  expect(hinted).toEqual([
    { kind: 'throttle', waitMs: 1000 },
    { kind: 'throttle', waitMs: 2000 },
    { kind: 'quota', waitMs: MINUTE_MS },
  ])
})

test('a Retry-After beyond a week hints at nothing, nor does one below two minutes', () => {
  const hints = [null, 0, 2 * MINUTE_MS, 2 * MINUTE_MS + 1, 7 * 24 * HOUR_MS, 7 * 24 * HOUR_MS + 1, 1e18].map(
    hintsAtQuota,
  )
  expect(hints).toEqual([false, false, false, true, true, false, false])
})

test('the quota is spent when our own count says so, or after a long row', () => {
  expect(judge({ remaining: 0 }).kind).toBe('quota')
  expect(judge({ inARow: 6 }).kind).toBe('throttle')
  expect(judge({ inARow: 7 }).kind).toBe('quota')
})

test('a spent quota is asked again after a minute, growing to six hours, or at its reset', () => {
  const waits = [1, 2, 3, 4, 5, 6].map((inARow) => judge({ remaining: 0, inARow }).waitMs / MINUTE_MS)
  expect(waits).toEqual([1, 2, 4, 8, 16, 32])
  expect(judge({ remaining: 0, inARow: 60 }).waitMs).toBe(6 * HOUR_MS)
  expect(judge({ remaining: 0, inARow: 5, resetInMs: 3 * MINUTE_MS }).waitMs).toBe(3 * MINUTE_MS)
  expect(judge({ remaining: 0, inARow: 5, resetInMs: -HOUR_MS }).waitMs).toBe(MINUTE_MS)
})

test('while 429s go on, the waits never shrink, also where the verdict turns to quota', () => {
  for (const remaining of [0, 100]) {
    const waits = Array.from({ length: 30 }, (_, index) => judge({ inARow: index + 1, remaining }).waitMs)
    expect(waits).toEqual([...waits].sort((one, other) => one - other))
  }
})

test('whatever the evidence, the wait is at least about a second and at most about six hours', () => {
  fc.assert(
    fc.property(
      fc.option(fc.oneof(fc.nat(20 * MINUTE_MS), fc.constant(1e18))),
      fc.integer({ min: 1, max: 10_000 }),
      fc.nat(1000),
      fc.integer({ min: -HOUR_MS, max: 8 * 24 * HOUR_MS }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (retryAfterMs, inARow, remaining, resetInMs, drawn) => {
        const { kind, waitMs } = judge({ retryAfterMs, inARow, remaining, resetInMs }, () => drawn)
        expect(waitMs).toBeGreaterThanOrEqual(900)
        expect(waitMs).toBeLessThanOrEqual(kind === 'throttle' ? 2 * MINUTE_MS : 6.6 * HOUR_MS)
        const believed = retryAfterMs !== null && retryAfterMs <= 2 * MINUTE_MS
        if (kind === 'throttle' && believed) expect(waitMs).toBeGreaterThanOrEqual(retryAfterMs)
      },
    ),
  )
})
