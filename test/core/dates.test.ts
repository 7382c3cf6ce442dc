import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  isoMillis,
  isoOrNull,
  isoSeconds,
  parseDateBound,
  parseTimeBound,
  parseTimestamp,
} from '../../src/core/dates.ts'
import { isBridgeError } from '../../src/errors.ts'

const someMs = fc.integer({ min: Date.parse('0001-01-01T00:00Z'), max: Date.parse('9999-12-31T23:59Z') })

describe('an upstream timestamp', () => {
  test.each([
    ['2026-07-01T06:00:01Z', '2026-07-01T06:00:01.000Z'],
    ['2026-07-01T06:00:01.5Z', '2026-07-01T06:00:01.500Z'],
    ['2026-07-01T06:00:01.123456Z', '2026-07-01T06:00:01.123Z'],
    ['2026-07-01T06:00:01.999999999Z', '2026-07-01T06:00:01.999Z'],
    ['2026-07-01T07:00:01+01:00', '2026-07-01T06:00:01.000Z'],
    ['2026-07-01T00:30:00.25-0530', '2026-07-01T06:00:00.250Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
  ])('%s is %s', (text, iso) => {
    expect(parseTimestamp(text)).toBe(Date.parse(iso))
  })

  test('is the same moment with 0 to 9 decimals and in any zone', () => {
    fc.assert(
      fc.property(
        someMs,
        fc.integer({ min: 0, max: 9 }),
        fc.integer({ min: -23 * 60 - 59, max: 23 * 60 + 59 }),
        (ms, decimals, zoneMinutes) => {
          const local = new Date(ms + zoneMinutes * 60_000)
          fc.pre(local.getUTCFullYear() >= 0 && local.getUTCFullYear() <= 9999)
          const fraction = local.toISOString().slice(20, 23).padEnd(9, '7').slice(0, decimals)
          const two = (value: number): string => String(Math.floor(value)).padStart(2, '0')
          const ahead = Math.abs(zoneMinutes)
          const zone = `${zoneMinutes < 0 ? '-' : '+'}${two(ahead / 60)}:${two(ahead % 60)}`
          const text = `${local.toISOString().slice(0, 19)}${decimals === 0 ? '' : `.${fraction}`}${zone}`
          const kept = decimals >= 3 ? 1 : 10 ** (3 - decimals)
          const second = Math.floor(ms / 1000) * 1000
          expect(parseTimestamp(text)).toBe(second + Math.floor((ms - second) / kept) * kept)
        },
      ),
    )
  })

  test.each([
    '',
    '2026-07-01',
    '2026-07-01T06:00Z',
    '2026-02-30T06:00:01Z',
    '2025-02-29T06:00:01Z',
    '2026-13-01T06:00:01Z',
    '2026-07-01T24:00:00Z',
    '2026-07-01T06:60:00Z',
    '2026-07-01T06:00:01.1234567890Z',
    '2026-07-01T06:00:01+99:00',
    '2026-07-01T06:00:01+01:60',
    '٢٠٢٦-07-01T06:00:01Z',
    '2026-07-01T06:00:01Z\n',
    ' 2026-07-01T06:00:01Z',
  ])('%j is none', (text) => {
    expect(parseTimestamp(text)).toBeNull()
  })
})

describe('a date bound', () => {
  test.each([
    ['2026', '2026-01-01T00:00:00.000Z', '2026-12-31T23:59:59.999Z'],
    ['2026-02', '2026-02-01T00:00:00.000Z', '2026-02-28T23:59:59.999Z'],
    ['2024-02', '2024-02-01T00:00:00.000Z', '2024-02-29T23:59:59.999Z'],
    ['2026-12', '2026-12-01T00:00:00.000Z', '2026-12-31T23:59:59.999Z'],
    ['2026-12-31', '2026-12-31T00:00:00.000Z', '2026-12-31T23:59:59.999Z'],
    ['2026-07-01T06:59', '2026-07-01T06:59:00.000Z', '2026-07-01T06:59:59.999Z'],
    ['2026-07-01T06:00:01Z', '2026-07-01T06:00:01.000Z', '2026-07-01T06:00:01.000Z'],
    ['2026-07-01T06:00:01.25Z', '2026-07-01T06:00:01.250Z', '2026-07-01T06:00:01.250Z'],
  ])('%s runs from %s to %s', (text, from, to) => {
    expect(parseDateBound(text)).toEqual({ fromMs: Date.parse(from), toMs: Date.parse(to) })
  })

  test('in each partial form covers exactly the moments whose ISO text begins with it', () => {
    fc.assert(
      fc.property(someMs, someMs, fc.constantFrom(4, 7, 10, 16), (ms, other, length) => {
        const text = isoMillis(ms).slice(0, length)
        const { fromMs, toMs } = parseDateBound(text)
        expect(fromMs <= ms && ms <= toMs).toBe(true)
        for (const moment of [other, fromMs, toMs, fromMs - 1, toMs + 1]) {
          expect(moment >= fromMs && moment <= toMs).toBe(isoMillis(moment).slice(0, length) === text)
        }
      }),
    )
  })

  test('in full form is that instant twice', () => {
    fc.assert(
      fc.property(someMs, (ms) => {
        expect(parseDateBound(isoMillis(ms))).toEqual({ fromMs: ms, toMs: ms })
      }),
    )
  })

  test.each([
    '',
    '26',
    '2026-2',
    '2026-02-30',
    '2026-13',
    '2026-00',
    '2026-07-01T06',
    '2026-07-01T25:00',
    '2026-07-01T06:00:01+01:00',
    '2026-07-01 06:00',
    'yesterday',
    '2026-07-01T06:00:01Z2026',
  ])('%j is rejected with a message that lists the five forms', (text) => {
    const attempt = (): unknown => parseDateBound(text)
    expect(attempt).toThrow(
      expect.toSatisfy(
        (error) => isBridgeError(error, 'date_invalid') && /YYYY-MM-DDTHH:MM/.test(error.hint ?? ''),
      ),
    )
  })

  test('a huge text is rejected with a short message', () => {
    expect(() => parseDateBound('9'.repeat(1_000_000))).toThrow(/^.{1,100}$/)
  })
})

describe('a time in a reader’s request', () => {
  test.each([
    ['2026-02-03T10:02:26+00:00', '2026-02-03T10:02:26.000Z'],
    ['2026-02-03t10:02:27z', '2026-02-03T10:02:27.000Z'],
    ['2026-02-03T12:00:00+02:00', '2026-02-03T10:00:00.000Z'],
    ['2026-02-03T00:30:00.25-05:30', '2026-02-03T06:00:00.250Z'],
    ['2026-02-03T10:02:26-00:00', '2026-02-03T10:02:26.000Z'],
    ['2026-02-03T10:02:26', '2026-02-03T10:02:26.000Z'],
  ])('%s is %s', (text, iso) => {
    expect(parseTimeBound(text)).toEqual({ fromMs: Date.parse(iso), toMs: Date.parse(iso) })
  })

  test('accepts any time that upstream may send, and any bound that upstream accepts', () => {
    const hours = fc.integer({ min: -14, max: 14 })
    fc.assert(
      fc.property(someMs, hours, fc.constantFrom(4, 7, 10, 16, 19), (ms, offset, length) => {
        const two = String(Math.abs(offset)).padStart(2, '0')
        const stamp = `${isoMillis(ms).slice(0, -1)}${offset < 0 ? '-' : '+'}${two}:00`
        expect(parseTimeBound(stamp).fromMs).toBe(parseTimestamp(stamp))
        const bound = length === 19 ? isoSeconds(ms) : isoMillis(ms).slice(0, length)
        expect(parseTimeBound(bound)).toEqual(parseDateBound(bound))
      }),
    )
  })

  test.each([
    '',
    '2026-13',
    '2026-02-30T10:00:00+00:00',
    '2026-02-03T10:00+02:00',
    'yesterday',
    '2026-02-03 10:02',
  ])('%j is rejected with a message that lists the forms', (text) => {
    expect(() => parseTimeBound(text)).toThrow(
      expect.toSatisfy(
        (error) => isBridgeError(error, 'date_invalid') && /YYYY-MM-DDTHH:MM.*\+02:00/.test(error.hint ?? ''),
      ),
    )
  })
})

describe('formatting a time', () => {
  test('isoSeconds rounds down, also before 1970', () => {
    expect(isoSeconds(Date.parse('2026-07-01T06:00:01.999Z'))).toBe('2026-07-01T06:00:01Z')
    expect(isoSeconds(-1)).toBe('1969-12-31T23:59:59Z')
  })

  test('isoMillis parses back to the same moment', () => {
    fc.assert(
      fc.property(someMs, (ms) => {
        expect(parseTimestamp(isoMillis(ms))).toBe(ms)
      }),
    )
  })
})

test('isoOrNull gives null only where there is no moment', () => {
  expect(isoOrNull(null)).toBeNull()
  expect(isoOrNull(0)).toBe('1970-01-01T00:00:00.000Z')
})

describe('an upstream timestamp without a zone', () => {
  test('is UTC, like every other time from upstream', () => {
    expect(parseTimestamp('2026-07-01T06:00:01')).toBe(Date.UTC(2026, 6, 1, 6, 0, 1))
  })
})
