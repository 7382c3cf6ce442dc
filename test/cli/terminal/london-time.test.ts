import fc from 'fast-check'
import { expect, test } from 'vitest'
import { londonTime, londonTimeOf } from '../../../src/cli/terminal/london-time.ts'
import { parseTimeBound } from '../../../src/core/dates.ts'

test.each([
  ['2026-02-03T07:00:01.999Z', '2026-02-03T07:00:01+00:00'],
  ['2026-07-07T06:00:01Z', '2026-07-07T07:00:01+01:00'],
  ['2026-10-25T00:30:00Z', '2026-10-25T01:30:00+01:00'],
  ['2026-10-25T01:30:00Z', '2026-10-25T01:30:00+00:00'],
])('%s is %s in London', (utc, london) => {
  expect(londonTimeOf(utc)).toBe(london)
})

test('every printed moment is a time for --since, in summer, winter and both hours of a change', () => {
  const range = { min: Date.UTC(2000, 0), max: Date.UTC(2060, 0) }
  fc.assert(
    fc.property(fc.integer(range), (ms) => {
      expect(parseTimeBound(londonTime(ms)).fromMs).toBe(ms - (ms % 1000))
    }),
  )
})

test('a text that is no time has no London time', () => {
  expect([londonTimeOf('soon'), londonTimeOf(null), londonTimeOf(7)]).toEqual([null, null, null])
})
