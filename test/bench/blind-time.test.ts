import { expect, test } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../../src/core/durations.ts'
import { createBlindCount } from '../support/worlds/shared-key.ts'

const at = (time: string): number => Date.parse(`${time}:00Z`)

test('blind time counts release hours only, each stretch for the 429 that began it', () => {
  const blind = createBlindCount()
  blind.answered('ok', at('2026-01-09T17:00'))
  blind.answered('throttle', at('2026-01-09T18:00'))
  blind.answered('quota', at('2026-01-12T06:40'))
  blind.answered('ok', at('2026-01-12T08:00'))
  blind.answered('ok', at('2026-01-12T12:00'))
  expect(blind.until(at('2026-01-13T00:00'))).toEqual({ throttle: 30 * MINUTE_MS, quota: HOUR_MS })
})

test('a time that lasts beyond a week counts in both weeks', () => {
  const blind = createBlindCount()
  blind.answered('quota', at('2026-01-09T18:00'))
  expect(blind.until(at('2026-01-12T00:00'))).toEqual({ throttle: 0, quota: 30 * MINUTE_MS })
  expect(blind.until(at('2026-01-12T09:00'))).toEqual({ throttle: 0, quota: 2 * HOUR_MS })
})
