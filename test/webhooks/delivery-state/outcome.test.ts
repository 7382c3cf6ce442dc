import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type AttemptEnd,
  type AttemptOutcome,
  attemptOutcomes,
  outcomeOf,
} from '../../../src/core/attempt-end.ts'
import { DAY_MS } from '../../../src/core/durations.ts'
import {
  type DeliveryDecision,
  LONGEST_RETRY_AFTER_MS,
  MAX_RETRY_AFTER_TRIES,
  MOST_TRIES,
  retryDelayMs,
  verdictOn,
} from '../../../src/webhooks/delivery-state/outcome.ts'

const NOW_MS = Date.UTC(2026, 5, 1, 6)
/** Randomness that does not change a delay. */
const EVEN = 0.5

function answered(status: number, retryAfter: string | null = null): AttemptEnd {
  return { kind: 'answered', status, retryAfter }
}

const ends = fc.oneof(
  fc.record({
    kind: fc.constant('answered' as const),
    status: fc.integer({ min: 100, max: 999 }),
    retryAfter: fc.option(
      fc.oneof(
        fc.string(),
        fc.integer().map(String),
        fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
      ),
    ),
  }),
  fc.record({
    kind: fc.constant('failed' as const),
    fault: fc.constantFrom(
      ...(['timeout', 'dns', 'connect', 'tls', 'blocked', 'blocked_name', 'broken'] as const),
    ),
  }),
)

test.each<[AttemptEnd, AttemptOutcome, DeliveryDecision['next']]>([
  [answered(200), 'ok', 'delivered'],
  [answered(204), 'ok', 'delivered'],
  [answered(299), 'ok', 'delivered'],
  [answered(301), 'client_error', 'retry'],
  [answered(302), 'client_error', 'retry'],
  [answered(304), 'client_error', 'retry'],
  [answered(308), 'client_error', 'retry'],
  [answered(400), 'client_error', 'retry'],
  [answered(401), 'client_error', 'retry'],
  [answered(404), 'client_error', 'retry'],
  [answered(408), 'client_error', 'retry'],
  [answered(410), 'gone', 'disable'],
  [answered(429), 'throttled', 'retry'],
  [answered(500), 'server_error', 'retry'],
  [answered(503), 'server_error', 'retry'],
  [answered(599), 'server_error', 'retry'],
  [answered(600), 'server_error', 'retry'],
  [answered(999), 'server_error', 'retry'],
  [{ kind: 'failed', fault: 'timeout' }, 'timeout', 'retry'],
  [{ kind: 'failed', fault: 'dns' }, 'dns', 'retry'],
  [{ kind: 'failed', fault: 'connect' }, 'connect', 'retry'],
  [{ kind: 'failed', fault: 'tls' }, 'tls', 'retry'],
  [{ kind: 'failed', fault: 'blocked' }, 'blocked', 'retry'],
  [{ kind: 'failed', fault: 'blocked_name' }, 'blocked', 'retry'],
  [{ kind: 'failed', fault: 'broken' }, 'server_error', 'retry'],
])('%j is %s, and the delivery is next: %s', (end, outcome, next) => {
  expect(outcomeOf(end)).toBe(outcome)
  expect(verdictOn(end, { tries: 1, asked: 0, nowMs: NOW_MS, chance: EVEN }).next).toBe(next)
})

test('a delivery is attempted nine times over 39 hours, then it is dead', () => {
  const delays = Array.from({ length: MOST_TRIES }, (_, at) => retryDelayMs(at + 1, EVEN))
  expect(delays).toEqual([
    ...[5_000, 30_000, 120_000, 600_000, 3_600_000, 14_400_000, 36_000_000, 86_400_000],
    null,
  ])
  expect(verdictOn(answered(500), { tries: MOST_TRIES, asked: 0, nowMs: NOW_MS, chance: EVEN })).toEqual({
    next: 'dead',
  })
})

test('Retry-After does not use up the nine attempts, even a hundred times', () => {
  const on = (tries: number, asked: number): DeliveryDecision =>
    verdictOn(answered(429, '20'), { tries, asked, nowMs: NOW_MS, chance: EVEN })
  expect(on(MOST_TRIES, 0)).toEqual({ next: 'retry', delayMs: 20_000, asked: 1 })
  expect(on(100, 99)).toEqual({ next: 'retry', delayMs: 20_000, asked: 100 })
  expect(on(101, MAX_RETRY_AFTER_TRIES)).toEqual({ next: 'retry', delayMs: 20_000, asked: 100 })
  expect(on(102, MAX_RETRY_AFTER_TRIES)).toEqual({ next: 'retry', delayMs: 30_000, asked: 100 })
  expect(on(100 + MOST_TRIES, MAX_RETRY_AFTER_TRIES)).toEqual({ next: 'dead' })
  const failed = verdictOn(answered(500), { tries: 8, asked: 7, nowMs: NOW_MS, chance: EVEN })
  expect(failed).toEqual({ next: 'retry', delayMs: 5_000, asked: 7 })
})

const later = (ms: number): string => new Date(NOW_MS + ms).toUTCString()

test.each([
  [429, '60', 60_000],
  [503, '60', 60_000],
  [503, ' 7 ', 7_000],
  [429, later(90_000), 90_000],
  [503, later(DAY_MS / 2), DAY_MS / 2],
  [429, '0', 5_000],
  [429, '1', 1_000],
  [429, null, 5_000],
  [429, '', 5_000],
  [429, '-1', 5_000],
  [429, 'NaN', 5_000],
  [429, '1e9', 5_000],
  [429, '1.5', 5_000],
  [429, 'soon', 5_000],
  [429, later(-60_000), 5_000],
  [429, '1000000000', DAY_MS],
  [429, '999999999999999999999999', 5_000],
  [503, later(400 * DAY_MS), DAY_MS],
  [500, '60', 5_000],
  [404, '60', 5_000],
  [302, '60', 5_000],
])('after %i with Retry-After %j the next attempt follows in %i ms', (status, retryAfter, delayMs) => {
  const verdict = verdictOn(answered(status, retryAfter), { tries: 1, asked: 0, nowMs: NOW_MS, chance: EVEN })
  expect(verdict).toMatchObject({ next: 'retry', delayMs })
})

test('the next attempt is at the earliest a tenth before schedule unless Retry-After sets it, at the latest after 1.1 days', () => {
  fc.assert(
    fc.property(
      ends,
      fc.integer({ min: 1, max: MOST_TRIES + 3 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (end, tries, chance) => {
        const verdict = verdictOn(end, { tries, asked: 0, nowMs: NOW_MS, chance })
        expect(attemptOutcomes).toContain(outcomeOf(end))
        const plainMs = retryDelayMs(tries, EVEN)
        const over = outcomeOf(end) === 'ok' || outcomeOf(end) === 'gone'
        if (verdict.next !== 'retry') {
          expect(over || plainMs === null).toBe(true)
          return
        }
        expect(Number.isSafeInteger(verdict.delayMs)).toBe(true)
        if (verdict.asked === 0)
          expect(verdict.delayMs).toBeGreaterThanOrEqual((plainMs ?? Number.POSITIVE_INFINITY) * 0.9 - 1)
        expect(verdict.delayMs).toBeLessThanOrEqual(LONGEST_RETRY_AFTER_MS * 1.1 + 1)
      },
    ),
  )
})

test('random jitter spreads a delay evenly by a tenth in both directions', () => {
  expect(retryDelayMs(5, 0)).toBe(3_240_000)
  expect(retryDelayMs(5, 0.25)).toBe(3_420_000)
  expect(retryDelayMs(5, 0.999_999)).toBe(3_959_999)
})
