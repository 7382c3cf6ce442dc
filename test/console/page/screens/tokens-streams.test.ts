/** Tests what the screens of tokens and streams say, without a browser. */
import { expect, it } from 'vitest'
import { lagWords, trendWords, withSample } from '../../../../src/console/page/screens/streams/lag-words.ts'
import {
  allScopes,
  endOf,
  expiryWords,
  lastUseWords,
  lifetimes,
} from '../../../../src/console/page/screens/tokens/token-words.ts'
import { scopes } from '../../../../src/http/auth.ts'

const NOW = Date.parse('2026-02-03T07:00:00Z')
const after = (ms: number): string => new Date(NOW + ms).toISOString()
const DAY = 86_400_000

it('has a sentence for every scope that there is', () => {
  expect(allScopes).toEqual([...scopes])
})

it.each([
  [null, 'good', 'never'],
  [after(90 * DAY), 'good', 'in 90 d'],
  [after(3 * DAY), 'notice', 'in 3 d'],
  [after(-60_000), 'bad', 'expired 60 s ago'],
])('says of the end %s: %s, %s', (expiresAt, tone, text) => {
  expect(expiryWords(expiresAt, NOW)).toEqual({ tone, text })
})

it('says of the last use no more than the hour that is kept', () => {
  expect(lastUseWords(null, NOW)).toBe('never')
  expect(lastUseWords(after(-59 * 60_000), NOW)).toBe('within the hour')
  expect(lastUseWords(after(-5 * 3_600_000), NOW)).toBe('5.0 h ago')
})

it('ends tokens after the lifetime that is chosen', () => {
  expect(lifetimes.map(([name]) => endOf(name, NOW))).toEqual([
    null,
    after(DAY),
    after(30 * DAY),
    after(90 * DAY),
    after(365 * DAY),
  ])
})

it.each([
  [{ lagEvents: null, lagSeconds: null }, 'idle', 'not known'],
  [{ lagEvents: 0, lagSeconds: 0 }, 'good', 'has everything'],
  [{ lagEvents: 1, lagSeconds: 0.4 }, 'good', '1 event, 0.4 s behind'],
  [{ lagEvents: 1200, lagSeconds: 95 }, 'notice', '1,200 events, 95 s behind'],
  [{ lagEvents: 1200, lagSeconds: 4000 }, 'bad', '1,200 events, 1 h 06 min behind'],
  [{ lagEvents: 7, lagSeconds: null }, 'notice', '7 events behind'],
])('says of the lag %j: %s, %s', (lag, tone, text) => {
  expect(lagWords(lag)).toEqual({ tone, text })
})

it('says after ten seconds whether a lag grows, by the last minute', () => {
  const samples = (lags: readonly number[], everyMs = 5000) =>
    lags.reduce<ReturnType<typeof withSample>>(
      (before, lagEvents, index) => withSample(before, { atMs: NOW + index * everyMs, lagEvents }),
      [],
    )
  expect(trendWords([])).toBe('')
  expect(trendWords(samples([5, 9]))).toBe('')
  expect(trendWords(samples([5, 9, 15]))).toBe('▲ grows by 60 a minute')
  expect(trendWords(samples([900, 400, 0]))).toBe('▼ shrinks by 5,400 a minute')
  expect(trendWords(samples([7, 9, 7]))).toBe('steady')
  expect(trendWords(samples([0, 0, 0]))).toBe('')
  expect(trendWords(samples([1000, 0, 0, 0, 0], 20_000))).toBe('')
})
