import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bankHolidays, halfDays, isWeekendDate } from '../../../src/core/calendar/holidays.ts'

/** Published lists of the bank holidays of England and Wales. */
const published: Record<number, string> = {
  1995: '01-02 04-14 04-17 05-08 05-29 08-28 12-25 12-26',
  1999: '01-01 04-02 04-05 05-03 05-31 08-30 12-27 12-28 12-31',
  2002: '01-01 03-29 04-01 05-06 06-03 06-04 08-26 12-25 12-26',
  2011: '01-03 04-22 04-25 04-29 05-02 05-30 08-29 12-26 12-27',
  2012: '01-02 04-06 04-09 05-07 06-04 06-05 08-27 12-25 12-26',
  2020: '01-01 04-10 04-13 05-08 05-25 08-31 12-25 12-28',
  2021: '01-01 04-02 04-05 05-03 05-31 08-30 12-27 12-28',
  2022: '01-03 04-15 04-18 05-02 06-02 06-03 08-29 09-19 12-26 12-27',
  2023: '01-02 04-07 04-10 05-01 05-08 05-29 08-28 12-25 12-26',
  2024: '01-01 03-29 04-01 05-06 05-27 08-26 12-25 12-26',
  2025: '01-01 04-18 04-21 05-05 05-26 08-25 12-25 12-26',
  2026: '01-01 04-03 04-06 05-04 05-25 08-31 12-25 12-28',
  2027: '01-01 03-26 03-29 05-03 05-31 08-30 12-27 12-28',
}

test.each(Object.entries(published))('the bank holidays of %s are the published ones', (year, days) => {
  expect([...bankHolidays(Number(year))].sort()).toEqual(days.split(' ').map((day) => `${year}-${day}`))
})

test.each([
  [2021, ['2021-12-24', '2021-12-31']],
  [2022, ['2022-12-23', '2022-12-30']],
  [2023, ['2023-12-22', '2023-12-29']],
])('in %i the eves close early, on the Friday before where they fall on a weekend', (year, days) => {
  expect([...halfDays(year)]).toEqual(days)
})

test('every year has at least eight holidays, all on weekdays, and no half day is a holiday', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1996, max: 2400 }), (year) => {
      const holidays = bankHolidays(year)
      expect(holidays.size).toBeGreaterThanOrEqual(8)
      for (const date of holidays) {
        expect(isWeekendDate(date)).toBe(false)
        expect(date.slice(0, 4)).toBe(String(year))
      }
      for (const date of halfDays(year)) {
        expect(isWeekendDate(date)).toBe(false)
        expect(holidays.has(date) && year !== 1999).toBe(false)
      }
    }),
  )
})
