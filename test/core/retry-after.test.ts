import fc from 'fast-check'
import { expect, test } from 'vitest'
import { retryAfterMs } from '../../src/core/retry-after.ts'

const NOW_MS = Date.UTC(2026, 5, 1, 7)

test('both forms are read: whole seconds and a date', () => {
  expect(retryAfterMs('120', NOW_MS)).toBe(120_000)
  expect(retryAfterMs(' 0 ', NOW_MS)).toBe(0)
  expect(retryAfterMs('Mon, 01 Jun 2026 07:02:00 GMT', NOW_MS)).toBe(120_000)
})

test('a value that makes no sense counts as absent', () => {
  const senseless = [null, '', ' ', '-1', '1.5', '1e3', 'soon', 'NaN', '120, 120', '0x10', '9'.repeat(400)]
  for (const header of senseless) expect(retryAfterMs(header, NOW_MS)).toBeNull()
  expect(retryAfterMs('Mon, 01 Jun 2026 06:59:59 GMT', NOW_MS)).toBeNull()
  expect(retryAfterMs('Thu, 01 Jan 1970 00:00:00 GMT', NOW_MS)).toBeNull()
})

test('whatever the header says, the wait is null or a finite time that is not negative', () => {
  const header = fc.oneof(
    fc.string(),
    fc.integer().map(String),
    fc.date({ noInvalidDate: true }).map((d) => d.toUTCString()),
  )
  fc.assert(
    fc.property(header, (text) => {
      const waitMs = retryAfterMs(text, NOW_MS)
      if (waitMs !== null) {
        expect(waitMs).toBeGreaterThanOrEqual(0)
        expect(Number.isFinite(waitMs)).toBe(true)
      }
    }),
  )
})
