/** Times on the page are London's, and none of them can be taken for another: not the repeated hour, not another year. */
import { expect, test } from 'vitest'
import { briefly, clockOf, shortMoment } from '../../../src/console/page/parts/times.ts'

const at = (iso: string): number => Date.parse(iso)

test('a moment has its day where that is not today, and its year where that is not this one', () => {
  const now = at('2026-11-23T09:00:00Z')
  expect(shortMoment(at('2026-11-23T07:00:09Z'), now)).toBe('07:00:09')
  expect(shortMoment(at('2026-11-20T07:00:09Z'), now)).toBe('Fri 20 Nov 07:00:09')
  expect(shortMoment(at('2025-11-20T07:00:09Z'), now)).toBe('Thu 20 Nov 2025 07:00:09')
  expect(shortMoment(at('2027-01-04T07:00:09Z'), now)).toBe('Mon 4 Jan 2027 07:00:09')
})

test('in the hour that the clocks repeat a time says which of the two it is', () => {
  const now = at('2026-10-25T09:00:00Z')
  expect(shortMoment(at('2026-10-25T00:30:00Z'), now)).toBe('01:30:00 BST')
  expect(shortMoment(at('2026-10-25T01:30:00Z'), now)).toBe('01:30:00 GMT')
  expect(clockOf(at('2026-10-25T00:30:00Z'))).toBe('01:30 BST')
  expect(clockOf(at('2026-10-25T01:59:59Z'))).toBe('01:59 GMT')
  expect(clockOf(at('2026-10-25T02:00:00Z'))).toBe('02:00')
  expect(clockOf(at('2026-10-24T23:59:59Z'))).toBe('00:59')
  // The hour that is left out in March needs nothing.
  expect(clockOf(at('2026-03-29T00:59:59Z'))).toBe('00:59')
  expect(clockOf(at('2026-03-29T01:00:00Z'))).toBe('02:00')
})

test('a length of time has at most seven characters, whatever it is', () => {
  const day = 86_400_000
  expect([400, 12_000, 720_000, day / 4, 293 * day, 900 * day, 30_000 * day].map(briefly)).toEqual([
    '0.4 s',
    '12 s',
    '12 min',
    '6.0 h',
    '293 d',
    '2.5 y',
    '82.1 y',
  ])
})
