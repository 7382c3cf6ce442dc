import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../src/core/durations.ts'
import {
  afterSuccess,
  type ClassifierState,
  classify429,
  type Evidence,
  INITIAL_CLASSIFIER,
} from '../../../src/governor/quota/throttle-classifier.ts'
import { causes, type Episode, headers, playEpisode } from '../../support/worlds/episodes.ts'

const NOW_MS = Date.UTC(2026, 5, 1, 7)
const REFILL_MS = 2 * SECOND_MS

const middle = (): number => 0.5

/**
 * Verdicts on consecutive 429s, each received when the wait before it was over. `repeating`: times of Retry-After that come
 * in turn.
 */
function row(
  length: number,
  given: Partial<Evidence> = {},
  initial: ClassifierState = INITIAL_CLASSIFIER,
  repeating: readonly (number | null)[] = [null],
) {
  return rowAndState(length, given, initial, repeating).verdicts
}

/** The same, and the state after them. */
function rowAndState(
  length: number,
  given: Partial<Evidence> = {},
  initial: ClassifierState = INITIAL_CLASSIFIER,
  repeating: readonly (number | null)[] = [null],
) {
  let nowMs = NOW_MS
  let state = initial
  const verdicts = Array.from({ length }, (_, index) => {
    const retryAfterMs = repeating[index % repeating.length] ?? null
    const evidence = { retryAfterMs, leftShare: 0.5, resetMs: null, refillMs: REFILL_MS, nowMs }
    const classified = classify429(state, { ...evidence, ...given }, middle)
    state = classified.state
    nowMs += classified.verdict.waitMs
    return classified.verdict
  })
  return { verdicts, state }
}
const kinds = (length: number, given: Partial<Evidence> = {}, initial?: ClassifierState): string[] =>
  row(length, given, initial).map(({ kind }) => kind)

/** Requests that refused 429s cost in a day, with these times of Retry-After in turn, seconds. */
function requestsOfADay(form: readonly (number | null)[]): number {
  const repeating = form.map((seconds) => (seconds === null ? null : seconds * SECOND_MS))
  const waits = row(60, { leftShare: 0.9999 }, INITIAL_CLASSIFIER, repeating).map(({ waitMs }) => waitMs)
  let [requests, passedMs] = [1, waits[0] ?? 0]
  for (; passedMs < 24 * HOUR_MS; requests++) passedMs += waits[requests] ?? 0
  return requests
}

const nearlySpent = { leftShare: 0.05 }

test('with a ledger far from spent, six retries follow within half a minute each, then ever rarer probes', () => {
  const verdicts = row(13)
  expect(verdicts.slice(0, 6).map(({ waitMs }) => waitMs / SECOND_MS)).toEqual([3, 6, 12, 24, 25, 25])
  expect(verdicts.slice(0, 6).every(({ kind }) => kind !== 'quota')).toBe(true)
  const minutes = verdicts.slice(6).map(({ waitMs }) => Math.round(waitMs / MINUTE_MS))
  expect(minutes).toEqual([1, 3, 7, 18, 46, 119, 309])
  expect(verdicts.slice(6).every(({ kind }) => kind === 'quota')).toBe(true)
})

test('a spent quota costs sixteen requests in its first day, two more than with probes after 1, 2, 4 min … 6 h', () => {
  expect([null, 1e15].map((seconds) => requestsOfADay([seconds]))).toEqual([16, 16])
  // Twelve more where each answer says seconds, as a throttle does.
  const forms = [[1], [3], [60], [3, null], [null, 3], [1, null], [3, 3, 3, 3, 3, 3, null]]
  for (const form of forms) expect(requestsOfADay(form)).toBeLessThanOrEqual(28)
})

test.each([1, 2, 5, 10, 30, 60])(
  'after a throttle of %i minutes the poller is blind for at most 1.7 times as long',
  (minutes) => {
    let passedMs = 0
    for (const { waitMs } of row(40, { leftShare: 0.9999 })) {
      passedMs += waitMs
      if (passedMs >= minutes * MINUTE_MS) break
    }
    expect(passedMs - minutes * MINUTE_MS).toBeLessThanOrEqual(1.7 * minutes * MINUTE_MS)
  },
)

test('a throttle of ten minutes does not slow the retries of the next one, nor does its quota verdict', () => {
  const { verdicts, state } = rowAndState(9)
  expect(verdicts.at(-1)?.kind).toBe('quota')
  const passedMs = verdicts.reduce((sum, { waitMs }) => sum + waitMs, 0)
  expect(passedMs).toBeGreaterThan(10 * MINUTE_MS)
  expect(row(7, {}, afterSuccess(state))).toEqual(row(7))
})

test('where a Retry-After comes and goes, a 429 that counts as a throttle never waits for minutes', () => {
  const waits = row(8, {}, INITIAL_CLASSIFIER, [3000, 3000, 3000, 3000, 3000, 3000, null])
    .filter(({ kind }) => kind !== 'quota')
    .map(({ waitMs }) => waitMs / SECOND_MS)
  expect(waits).toEqual([...Array(6).fill(3), 25, 3])
})

test('after a quota that others have spent, 429s are probed as before for three days, then retried soon again', () => {
  const spent = { ...INITIAL_CLASSIFIER, lastQuotaMs: NOW_MS - 24 * HOUR_MS }
  expect(row(3, {}, spent).map(({ waitMs }) => waitMs / SECOND_MS)).toEqual([3, 60, 60])
  expect(kinds(3, {}, spent)).toEqual(['unknown', 'unknown', 'quota'])
  const longAgo = { ...INITIAL_CLASSIFIER, lastQuotaMs: NOW_MS - 73 * HOUR_MS }
  expect(row(7, {}, longAgo)).toEqual(row(7))
})

test('with a ledger nearly spent, two probes classify a 429: after 1.5 refill times, then 30', () => {
  expect(row(3, nearlySpent)).toEqual([
    { kind: 'unknown', waitMs: 3 * SECOND_MS, advisedMs: 0 },
    { kind: 'unknown', waitMs: MINUTE_MS, advisedMs: 0 },
    { kind: 'quota', waitMs: MINUTE_MS, advisedMs: 0 },
  ])
})

test('a short Retry-After is followed to the moment twelve times, then six times within half a minute, and is never undercut', () => {
  for (const seconds of [3, 20]) {
    const waits = row(18, { retryAfterMs: seconds * SECOND_MS }).map(({ waitMs }) => waitMs / SECOND_MS)
    expect(waits).toEqual([...Array(12).fill(seconds), ...Array(6).fill(25)])
  }
  expect(row(1, { retryAfterMs: 2 * MINUTE_MS })[0]?.waitMs).toBe(2 * MINUTE_MS)
  expect(row(1, { ...nearlySpent, retryAfterMs: SECOND_MS })[0]?.waitMs).toBe(3 * SECOND_MS)
})

test('a short Retry-After while units are left is counted as a throttle, an absent one as unknown', () => {
  expect(kinds(6, { leftShare: 0.9999, retryAfterMs: 3 * SECOND_MS })).toEqual(Array(6).fill('throttle'))
  expect(kinds(6, { leftShare: 0.9999 })).toEqual(Array(6).fill('unknown'))
})

test('a Retry-After of hours is confirmed by two probes while units are left; a nonsensical one is ignored', () => {
  expect(kinds(3, { retryAfterMs: HOUR_MS })).toEqual(['unknown', 'unknown', 'quota'])
  for (const retryAfterMs of [null, 0, 7 * 24 * HOUR_MS + 1, 1e18]) {
    expect(row(2, { retryAfterMs })).toEqual(row(2))
  }
})

test('a 429 is classified as quota at once when the ledger has no units left', () => {
  expect(kinds(1, { leftShare: 0 })).toEqual(['quota'])
  expect(kinds(1, { leftShare: 0.01 })).toEqual(['unknown'])
})

test('a spent quota is probed after 1, 2, 4 min … 6 h, and at its reset or the hinted time', () => {
  const waits = row(14, { leftShare: 0 }).map(({ waitMs }) => waitMs / MINUTE_MS)
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360, 360, 360, 360])
  const reset = row(2, { leftShare: 0, resetMs: NOW_MS + 90 * SECOND_MS }).map(({ waitMs }) => waitMs)
  expect(reset).toEqual([60 * SECOND_MS, 30 * SECOND_MS])
  const hinted = row(4, { leftShare: 0, retryAfterMs: 3 * MINUTE_MS }).map(({ waitMs }) => waitMs)
  expect(hinted).toEqual([1, 2, 3, 3].map((minutes) => minutes * MINUTE_MS))
})

test('two probes give a verdict, eighteen where units are left, with waits between one refill time and six hours', () => {
  const evidence = fc.record({
    retryAfterMs: fc.option(fc.oneof(fc.nat(20 * MINUTE_MS), fc.nat(8 * 24 * HOUR_MS), fc.constant(1e18))),
    leftShare: fc.double({ min: 0, max: 1, noNaN: true }),
    resetMs: fc.option(fc.integer({ min: NOW_MS - HOUR_MS, max: NOW_MS + 8 * 24 * HOUR_MS })),
    refillMs: fc.integer({ min: 100, max: 5000 }),
    nowMs: fc.integer({ min: NOW_MS - HOUR_MS, max: NOW_MS + HOUR_MS }),
  })
  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  fc.assert(
    fc.property(fc.array(evidence, { minLength: 1, maxLength: 24 }), chance, (row, drawn) => {
      let state = INITIAL_CLASSIFIER
      row.forEach((each, index) => {
        const classified = classify429(state, each, () => drawn)
        state = classified.state
        const { kind, waitMs } = classified.verdict
        const isFar = each.leftShare >= 0.1
        if (index >= (isFar ? 18 : 2)) expect(kind).not.toBe('unknown')
        expect(waitMs).toBeGreaterThanOrEqual(Math.min(each.refillMs, each.retryAfterMs || each.refillMs))
        expect(waitMs).toBeLessThanOrEqual(kind === 'quota' ? 6.6 * HOUR_MS : 5.5 * MINUTE_MS)
        const { retryAfterMs } = each
        const isShort = retryAfterMs !== null && retryAfterMs <= 2 * MINUTE_MS
        const isLong = retryAfterMs !== null && !isShort && retryAfterMs <= 7 * 24 * HOUR_MS
        if (kind !== 'quota' && isFar && !isLong)
          expect(waitMs).toBeLessThanOrEqual(Math.max(30 * SECOND_MS, isShort ? retryAfterMs : 0))
        if (kind !== 'quota' && isShort) expect(waitMs).toBeGreaterThanOrEqual(retryAfterMs)
      })
    }),
  )
})

/** The same over 10,000 episodes, with the table: `npm run bench -- classifier`. */
test('after a throttle the poller is back within 30 s of the last 429 while its ledger is far from spent', () => {
  const episodes = Array.from({ length: 600 }, (_, index) => playEpisode(index + 1))
  const throttled = episodes.filter(
    ({ cause, leftShare }) => cause.startsWith('throttle') && leftShare >= 0.1,
  )
  // An unruly process may spend the quota meanwhile: then there is no answer. A minute that is asked for is given.
  const answered = throttled.filter(({ probes, header }) => probes <= 6 && !/hour|week/.test(header))
  const isLate = ({ header, backMs }: Episode): boolean =>
    (backMs ?? 0) > (header === 'always 60' ? 61_000 : 30_000)
  expect(answered.filter(isLate)).toEqual([])
  expect(throttled.filter(({ isMistaken }) => isMistaken).length).toBeLessThanOrEqual(0.02 * throttled.length)
  // A hint of an hour is followed, and costs a probe an hour; a known reset costs one more.
  const spent = episodes.filter(
    ({ cause, header }) => cause.startsWith('quota') && header !== 'always an hour',
  )
  // Twelve more where the hint is one of a throttle.
  const most = ({ header }: Episode): number => (/^always (1|60)$|clocks apart/.test(header) ? 28 : 16)
  expect(spent.filter((one) => one.probes > most(one))).toEqual([])
  expect(new Set(episodes.map(({ cause }) => cause)).size).toBe(causes.length)
  expect(new Set(episodes.map(({ header }) => header)).size).toBe(headers.length)
})
