import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'

const calendar = createCalendar()
const at = (text: string): number => Date.parse(text)

const intl = new Intl.DateTimeFormat('en-CA', {
  timeZone: 'Europe/London',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
})

/** Date and minute of the day by the machine's zone data alone. */
function byIntl(ms: number): { date: string; minute: number } {
  const parts = Object.fromEntries(intl.formatToParts(ms).map(({ type, value }) => [type, value]))
  return {
    date: `${parts.year}-${parts.month}-${parts.day}`,
    minute: Number(parts.hour) * 60 + Number(parts.minute),
  }
}

const moment = fc.oneof(
  fc.integer({ min: at('1985-01-01T00:00Z'), max: at('2060-01-01T00:00Z') }),
  // around the nights in which clocks change
  fc
    .tuple(
      fc.constantFrom('2025-03-30', '2025-10-26', '2026-03-29', '2026-10-25', '2027-03-28'),
      fc.integer({ min: -180, max: 300 }),
    )
    .map(([date, minute]) => at(`${date}T00:00Z`) + minute * 60_000),
)

describe('London time', () => {
  test('date and minute are those of the zone data', () => {
    fc.assert(
      fc.property(moment, (ms) => {
        expect({ date: calendar.londonDate(ms), minute: calendar.minuteOfDay(ms) }).toEqual(byIntl(ms))
      }),
      { numRuns: 500 },
    )
  })

  test('the start of a London day is its first moment, also when the clocks change', () => {
    fc.assert(
      fc.property(moment, (ms) => {
        const date = calendar.londonDate(ms)
        const startMs = calendar.momentMs(date, 0)
        expect(startMs).toBeLessThanOrEqual(ms)
        expect(calendar.londonDate(startMs)).toBe(date)
        expect(calendar.londonDate(startMs - 1)).not.toBe(date)
      }),
      { numRuns: 500 },
    )
  })

  test('a minute of a day converts back to that minute, except in the hour skipped in spring', () => {
    fc.assert(
      fc.property(moment, fc.integer({ min: 0, max: 1439 }), (ms, minute) => {
        const date = calendar.londonDate(ms)
        const there = calendar.momentMs(date, minute)
        expect(calendar.londonDate(there)).toBe(date)
        const skipped = calendar.minuteOfDay(there) !== minute
        if (skipped) expect(calendar.minuteOfDay(there)).toBe(minute + 60)
        expect(skipped).toBe(
          calendar.momentMs(date, 180) - calendar.momentMs(date, 0) === 7_200_000 &&
            minute >= 60 &&
            minute < 120,
        )
      }),
      { numRuns: 500 },
    )
  })

  test('the nights in which clocks change', () => {
    expect(calendar.minuteOfDay(at('2026-03-29T00:59:59Z'))).toBe(59)
    expect(calendar.minuteOfDay(at('2026-03-29T01:00:00Z'))).toBe(120)
    expect(calendar.momentMs('2026-03-29', 90)).toBe(at('2026-03-29T01:30Z'))
    expect(calendar.minuteOfDay(at('2026-10-25T00:59:59Z'))).toBe(119)
    expect(calendar.minuteOfDay(at('2026-10-25T01:00:00Z'))).toBe(60)
    expect(calendar.momentMs('2026-10-25', 90)).toBe(at('2026-10-25T00:30Z'))
    expect(calendar.momentMs('2026-10-25', 0)).toBe(at('2026-10-24T23:00Z'))
    expect(calendar.momentMs('2026-10-26', 0)).toBe(at('2026-10-26T00:00Z'))
  })

  test('07:00 is 06:00Z in summer and 07:00Z in winter', () => {
    expect(calendar.releaseWindow('2026-07-01')).toEqual({
      fromMs: at('2026-07-01T06:00Z'),
      toMs: at('2026-07-01T17:30Z'),
    })
    expect(calendar.releaseWindow('2026-12-01')).toEqual({
      fromMs: at('2026-12-01T07:00Z'),
      toMs: at('2026-12-01T18:30Z'),
    })
  })
})

describe('days', () => {
  test('weekends and bank holidays are no business days, half days are', () => {
    const days = [
      '2026-08-28',
      '2026-08-29',
      '2026-08-30',
      '2026-08-31',
      '2026-09-01',
      '2026-12-24',
      '2026-12-28',
    ]
    expect(days.filter(calendar.isBusinessDay)).toEqual(['2026-08-28', '2026-09-01', '2026-12-24'])
    expect(days.filter(calendar.isHalfDay)).toEqual(['2026-12-24'])
  })

  test('a half day closes at 13:30, a holiday has no window', () => {
    expect(calendar.releaseWindow('2026-12-24')?.toMs).toBe(at('2026-12-24T13:30Z'))
    expect(calendar.releaseWindow('2026-12-25')).toBeNull()
  })

  test('a half day that was proclaimed a holiday is not a half day', () => {
    expect(calendar.isBusinessDay('1999-12-31')).toBe(false)
    expect(calendar.isHalfDay('1999-12-31')).toBe(false)
  })

  test('business days between two moments: after the first date, up to the second', () => {
    const between = (from: string, to: string): number => calendar.businessDaysBetween(at(from), at(to))
    expect(between('2026-08-28T16:00Z', '2026-08-28T20:00Z')).toBe(0)
    expect(between('2026-08-28T16:00Z', '2026-08-31T20:00Z')).toBe(0)
    expect(between('2026-08-28T16:00Z', '2026-09-01T05:00Z')).toBe(1)
    expect(between('2026-09-04T16:00Z', '2026-09-07T05:00Z')).toBe(1)
    expect(between('2026-09-07T16:00Z', '2026-09-04T05:00Z')).toBe(0)
    // 23:30Z in summer is the next day in London
    expect(between('2026-09-07T22:30Z', '2026-09-07T23:30Z')).toBe(1)
  })

  test('business days add up over any three moments', () => {
    const days = fc.integer({ min: at('2024-01-01T00:00Z'), max: at('2028-01-01T00:00Z') })
    fc.assert(
      fc.property(days, days, days, (...moments) => {
        const [a, b, c] = moments.sort((left, right) => left - right) as [number, number, number]
        expect(calendar.businessDaysBetween(a, b) + calendar.businessDaysBetween(b, c)).toBe(
          calendar.businessDaysBetween(a, c),
        )
      }),
      { numRuns: 50 },
    )
  })
})

describe('overrides', () => {
  const corrected = createCalendar({
    holidays: ['2026-09-02', '2026-12-31'],
    businessDays: ['2026-08-31', '2026-12-24', '2026-09-05'],
    halfDays: ['2026-09-03', '2026-12-25'],
  })

  test('holidays close, businessDays open all day, halfDays close early', () => {
    expect(corrected.isBusinessDay('2026-09-02')).toBe(false)
    expect(corrected.isHalfDay('2026-12-31')).toBe(false)
    for (const date of ['2026-08-31', '2026-12-24', '2026-09-05']) {
      expect(corrected.isBusinessDay(date)).toBe(true)
      expect(corrected.isHalfDay(date)).toBe(false)
    }
    for (const date of ['2026-09-03', '2026-12-25']) {
      expect(corrected.isBusinessDay(date)).toBe(true)
      expect(corrected.isHalfDay(date)).toBe(true)
    }
  })
})

describe('phase', () => {
  test.each([
    ['06:29:59.999', 'closed', 'closed'],
    ['06:30:00.000', 'pre', 'pre'],
    ['06:59:59.999', 'pre', 'pre'],
    ['07:00:00.000', 'burst', 'burst'],
    ['07:11:59.999', 'burst', 'burst'],
    ['07:12:00.000', 'open', 'open'],
    ['12:29:59.999', 'open', 'open'],
    ['12:30:00.000', 'open', 'late'],
    ['13:29:59.999', 'open', 'late'],
    ['13:30:00.000', 'open', 'closed'],
    ['16:29:59.999', 'open', 'closed'],
    ['16:30:00.000', 'late', 'closed'],
    ['18:29:59.999', 'late', 'closed'],
    ['18:30:00.000', 'closed', 'closed'],
  ])('%s is %s, and %s on a half day', (time, full, half) => {
    expect(calendar.phase(at(`2026-12-01T${time}Z`))).toBe(full)
    expect(calendar.phase(at(`2026-12-24T${time}Z`))).toBe(half)
  })

  test('is closed all day on weekends and holidays', () => {
    for (let minute = 0; minute < 1440; minute += 10) {
      expect(calendar.phase(calendar.momentMs('2026-08-30', minute))).toBe('closed')
      expect(calendar.phase(calendar.momentMs('2026-08-31', minute))).toBe('closed')
    }
  })

  test('is not closed exactly from half an hour before the release window to its end', () => {
    fc.assert(
      fc.property(moment, (ms) => {
        const window = calendar.releaseWindow(calendar.londonDate(ms))
        const inside = window !== null && ms >= window.fromMs - 1_800_000 && ms < window.toMs
        expect(calendar.phase(ms) !== 'closed').toBe(inside)
      }),
      { numRuns: 500 },
    )
  })
})
