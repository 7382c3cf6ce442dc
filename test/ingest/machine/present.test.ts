/** Tests how upstream's present is told where our clock and upstream's `Date` disagree. */
import { expect, it } from 'vitest'
import { earliestPresentMs, observeTimes } from '../../../src/ingest/machine/present.ts'
import { initialState, type StepContext } from '../../../src/ingest/machine/state.ts'
import { ingestConfig } from '../../support/worlds/ingest-config.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const NOW_MS = Date.parse('2026-01-06T22:36:00Z')

function contextOf(skewMs: number): StepContext {
  const state = { ...initialState(), hasDate: true, skewMs }
  return { state, nowMs: NOW_MS, config: ingestConfig(), actions: [] }
}

it('items that fit only one of two clocks show that it is right', () => {
  const times = Array.from({ length: 15 }, (_, index) => NOW_MS + 3 * DAY - index * MINUTE)
  expect(earliestPresentMs(contextOf(3 * DAY))).toBe(NOW_MS)
  const context = contextOf(3 * DAY)
  observeTimes(context, times)
  expect(earliestPresentMs(context, times)).toBe(NOW_MS + 3 * DAY)
})

it('items that are stamped ahead of both clocks never do, however many of a page they are', () => {
  const ahead = Array.from({ length: 25 }, (_, index) => NOW_MS + (2500 + index) * 365 * DAY)
  const usual = Array.from({ length: 24 }, (_, index) => NOW_MS - (6 * 60 + index) * MINUTE)
  const context = contextOf(3 * DAY)
  observeTimes(context, [...ahead, ...usual])
  expect(earliestPresentMs(context, [...ahead, ...usual])).toBe(NOW_MS)
})
