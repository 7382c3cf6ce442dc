import { expect, test } from 'vitest'
import { createIssuers } from '../../../src/sandbox/market/issuers.ts'
import {
  isHalfDay,
  londonMomentMs,
  nextBusinessDay,
  parseSecondOfDay,
} from '../../../src/sandbox/market/london.ts'
import { normalDay } from '../../../src/sandbox/market/scenario.ts'

const iso = (day: string, time: string): string => new Date(londonMomentMs(day, time)).toISOString()

test('times are in London time: 07:00 is 06:00Z in summer, and hours from 24 on are on later days', () => {
  expect(iso('2026-02-03', '07:00:00')).toBe('2026-02-03T07:00:00.000Z')
  expect(iso('2026-07-07', '07:00:00')).toBe('2026-07-07T06:00:00.000Z')
  expect(iso('2026-02-03', '54:59:58')).toBe('2026-02-05T06:59:58.000Z')
  expect(parseSecondOfDay('13:30')).toBe(48_600)
})

test('business days skip weekends and bank holidays in both directions', () => {
  expect(nextBusinessDay('2026-02-06', 1)).toBe('2026-02-09')
  expect(nextBusinessDay('2026-04-02', 1)).toBe('2026-04-07')
  expect(nextBusinessDay('2026-05-05', -1)).toBe('2026-05-01')
})

test('a usual half day ends at 13:30', () => {
  expect([isHalfDay('2026-12-24'), isHalfDay('2026-12-23')]).toEqual([true, false])
  const market = { seed: 1, issuers: createIssuers(1) }
  const whole = normalDay(market, '2026-12-23', 300)
  const half = normalDay(market, '2026-12-24', 300)
  const end = londonMomentMs('2026-12-24', '13:30')
  expect(half.length).toBeGreaterThan(100)
  expect(half.length).toBeLessThan(whole.length)
  expect(half.filter(({ atMs }) => atMs >= end)).toEqual([])
})
