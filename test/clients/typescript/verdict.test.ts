import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type ConnectionEnd,
  delayMs,
  failureOf,
  StreamFailure,
} from '../../../clients/typescript/src/verdict.ts'
import { closeCodes, errorNames } from '../../../src/streams/transport/refusal.ts'

function endOf(closeCode: number | null, extra: Partial<ConnectionEnd> = {}): ConnectionEnd {
  return {
    closeCode,
    cause: 'closed',
    why: `closed with ${closeCode}`,
    error: null,
    reconnectInMs: null,
    ...extra,
  }
}

describe('the range of a close code decides whether to reconnect', () => {
  test('40xx is final, each with its name; 41xx, 42xx and unknown codes are not', () => {
    const verdicts = [...closeCodes, 4099, 4199, 4299, 4300, 1000, 1001, 1005, 1006, 1012, 3000].map(
      (code) => [code, failureOf(endOf(code))?.code ?? null],
    )
    expect(verdicts).toEqual([
      [1003, 'refused'],
      [1009, 'refused'],
      [1011, null],
      [4001, 'unauthenticated'],
      [4003, 'forbidden'],
      [4006, 'too_many_connections'],
      [4007, 'ended'],
      [4010, 'cursor_invalid'],
      [4100, null],
      [4108, null],
      [4129, null],
      [4200, null],
      [4201, null],
      [4099, 'refused'],
      [4199, null],
      [4299, null],
      [4300, null],
      [1000, null],
      [1001, null],
      [1005, null],
      [1006, null],
      [1012, null],
      [3000, null],
    ])
  })

  test('a cursor beyond retention names the oldest, a refused subscription its error', () => {
    const error = { code: 410, detail: 'what follows this cursor is no longer kept; oldest=AUh4' }
    const tooOld = failureOf(endOf(4010, { error }))
    expect(tooOld).toBeInstanceOf(StreamFailure)
    expect(tooOld).toMatchObject({
      code: 'cursor_too_old',
      oldestCursor: 'AUh4',
      closeCode: 4010,
      message: error.detail,
    })
    const filter = { code: 410, detail: '"fcaCategory" is no field; did you mean fcaCategories?' }
    expect(failureOf(endOf(1000, { error: filter }))).toMatchObject({
      code: 'subscription_refused',
      message: filter.detail,
    })
    expect(failureOf(endOf(1011, { error: { code: 500, detail: 'inside' } }))).toBeNull()
  })

  test('an error that leaves the connection open is never passed over, an unknown one neither', () => {
    const kept = [402, 404, 429, 500]
    for (const code of [...Object.keys(errorNames).map(Number), 451, Number.NaN]) {
      const error = { code, detail: 'the reason' }
      const failure = failureOf(endOf(1005, { error }))
      if (kept.includes(code)) expect(failure).toBeNull()
      else expect(failure).toMatchObject({ code: 'subscription_refused', message: 'the reason' })
      expect(failureOf(endOf(4100, { error }))).toBeNull()
    }
  })
})

describe('the delay before the next connection', () => {
  const shares = fc.integer({ min: 0, max: 999 }).map((share) => share / 1000)

  test('is random up to a limit that doubles to 30 s, and starts higher if the code asks for it', () => {
    const limits = (code: number) =>
      [0, 1, 2, 3, 4, 5, 6, 7, 50].map((useless) => delayMs(endOf(code), useless, () => 1))
    expect(limits(1006)).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000])
    expect(limits(4200)).toEqual(limits(1006))
    expect(limits(4100)).toEqual([4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000, 30_000, 30_000])
    expect(limits(1011)).toEqual(limits(4100))
    expect(delayMs(endOf(4100), 5, () => 0)).toBe(0)
  })

  test('is never below the bridge’s request, and exactly that after a useful connection', () => {
    fc.assert(
      fc.property(fc.nat(20), shares, fc.nat(299_999), (useless, share, reconnectInMs) => {
        const waitedMs = delayMs(endOf(4200, { reconnectInMs }), useless, () => share)
        expect(waitedMs).toBeGreaterThanOrEqual(reconnectInMs)
        if (useless === 0) expect(waitedMs).toBe(reconnectInMs)
      }),
    )
    expect(delayMs(endOf(4200, { reconnectInMs: 1e12 }), 0, () => 0)).toBe(300_000)
    for (const reconnectInMs of [Number.NaN, -1, Number.NEGATIVE_INFINITY])
      expect(delayMs(endOf(4200, { reconnectInMs }), 0, () => 1)).toBe(delayMs(endOf(4200), 0, () => 1))
  })
})
