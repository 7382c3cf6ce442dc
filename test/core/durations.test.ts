import { expect, test } from 'vitest'
import { parseDuration } from '../../src/core/durations.ts'

const DAY_MS = 86_400_000

test.each([
  ['P1D', DAY_MS],
  ['PT30S', 30_000],
  ['PT0.25S', 250],
  ['P1Y', 365 * DAY_MS],
  ['P2M', 60 * DAY_MS],
  ['P1W', 7 * DAY_MS],
  ['P1DT2H3M4.5S', DAY_MS + 7_384_500],
  ['PT0S', 0],
  ['PT1.5M', 90_000],
  ['PT0,5S', 500],
  ['P1DT1.5H', DAY_MS + 5_400_000],
  ['P0.5W', 3.5 * DAY_MS],
])('%s is %i ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms)
})

test.each([
  '',
  'P',
  'PT',
  'P1',
  '1D',
  'P1H',
  'PT1D',
  'P1DT',
  'P-1D',
  'P1.5DT1H',
  'PT1.5M2S',
  'PT1.5M0.5S',
  'PT1.S',
  'p1d',
  'P1D ',
  'PT1S1M',
  'P9999999D',
])('%j is none', (text) => {
  expect(parseDuration(text)).toBeNull()
})
