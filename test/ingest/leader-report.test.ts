import { expect, test } from 'vitest'
import { aheadMs } from '../../src/ingest/leader-report.ts'
import { initialState, type Sighting } from '../../src/ingest/machine/state.ts'

const DAY = 86_400_000

function aheadOf(
  skewMs: number,
  sightings: readonly Sighting[] = [],
  lastGoodPollMs: number | null = 1,
): number | null {
  return aheadMs({ ...initialState(), hasDate: true, lastGoodPollMs, skewMs, sightings })
}

test("upstream's clock is as far ahead as is decided", () => {
  expect(aheadOf(4000)).toBe(4000)
  expect(aheadOf(5 * DAY, Array(5).fill('ours'))).toBe(0)
  expect(aheadOf(5 * DAY, Array(5).fill('date'))).toBe(5 * DAY)
  expect(aheadOf(270 * DAY, Array(5).fill('ours'))).toBe(0)
})

test('how far is not known before the first good poll, and while the clocks disagree and either may be right', () => {
  expect(aheadOf(4000, [], null)).toBeNull()
  expect(aheadOf(5 * DAY)).toBeNull()
  expect(aheadOf(-5 * DAY, ['ours', 'date', 'either', 'neither'])).toBeNull()
})

test("a Date months from our clock is a sandbox market's until new items show otherwise", () => {
  expect(aheadOf(-270 * DAY)).toBe(-270 * DAY)
})
