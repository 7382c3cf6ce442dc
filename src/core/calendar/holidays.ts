/**
 * Computes the bank holidays of England and Wales since 1978, and the half days of the London Stock Exchange. Holidays
 * proclaimed for one year are listed from 1999 on.
 */
import { DAY_MS } from '../durations.ts'

const MONDAY = 1
const SATURDAY = 6
const SUNDAY = 0

/** Days that were proclaimed for one year. */
const proclaimed: readonly string[] = [
  '1999-12-31', // eve of 2000
  '2002-06-03', // golden jubilee
  '2011-04-29', // royal wedding
  '2012-06-05', // diamond jubilee
  '2022-06-03', // platinum jubilee
  '2022-09-19', // state funeral
  '2023-05-08', // coronation
]

/** Holidays that were moved in one year, from the date of the rule. */
const moved: Readonly<Record<string, string>> = {
  '1995-05-01': '1995-05-08',
  '2002-05-27': '2002-06-04',
  '2012-05-28': '2012-06-04',
  '2020-05-04': '2020-05-08',
  '2022-05-30': '2022-06-02',
}

/** Days since 1970 of a proleptic Gregorian date; `month` from 1. */
function dayNumber(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, day) / DAY_MS
}

/** 0 is Sunday. */
function weekday(day: number): number {
  return (((day + 4) % 7) + 7) % 7
}

/** `YYYY-MM-DD` of a day number. */
function isoDate(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}

/** Easter Sunday by the anonymous Gregorian algorithm (Meeus, Jones, Butcher). */
function easterSunday(year: number): number {
  const golden = year % 19
  const century = Math.floor(year / 100)
  const inCentury = year % 100
  const skippedLeaps = Math.floor((century + 8) / 25)
  const moonShift = Math.floor((century - skippedLeaps + 1) / 3)
  const epact = (19 * golden + century - Math.floor(century / 4) - moonShift + 15) % 30
  const toSunday = (32 + 2 * (century % 4) + 2 * Math.floor(inCentury / 4) - epact - (inCentury % 4)) % 7
  const late = Math.floor((golden + 11 * epact + 22 * toSunday) / 451)
  const index = epact + toSunday - 7 * late + 114
  return dayNumber(year, Math.floor(index / 31), (index % 31) + 1)
}

/** First Monday on or after the day. */
function mondayFrom(day: number): number {
  return day + ((MONDAY - weekday(day) + 7) % 7)
}

function isWeekend(day: number): boolean {
  return weekday(day) === SATURDAY || weekday(day) === SUNDAY
}

/** Christmas Day and Boxing Day, each on the next free weekday where it falls on a weekend. */
function christmas(year: number): number[] {
  const days = [dayNumber(year, 12, 25), dayNumber(year, 12, 26)]
  const kept = days.filter((day) => !isWeekend(day))
  let substitute = dayNumber(year, 12, 27)
  while (kept.length < days.length) {
    if (!isWeekend(substitute)) kept.push(substitute)
    substitute += 1
  }
  return kept
}

/** Every bank holiday of the year that falls on a weekday, as `YYYY-MM-DD`. */
export function bankHolidays(year: number): Set<string> {
  const easter = easterSunday(year)
  const newYear = dayNumber(year, 1, 1)
  const ruled = [
    isWeekend(newYear) ? mondayFrom(newYear) : newYear,
    easter - 2,
    easter + 1,
    mondayFrom(dayNumber(year, 5, 1)),
    mondayFrom(dayNumber(year, 5, 25)),
    mondayFrom(dayNumber(year, 8, 25)),
    ...christmas(year),
  ].map(isoDate)
  return new Set([
    ...ruled.map((date) => moved[date] ?? date),
    ...proclaimed.filter((date) => date.startsWith(`${year}-`)),
  ])
}

/** The days that close early: 24 and 31 December, each the Friday before where it falls on a weekend. */
export function halfDays(year: number): Set<string> {
  const eves = [dayNumber(year, 12, 24), dayNumber(year, 12, 31)]
  return new Set(eves.map((eve) => isoDate(eve - fridayDistance(eve))))
}

function fridayDistance(day: number): number {
  if (weekday(day) === SATURDAY) return 1
  return weekday(day) === SUNDAY ? 2 : 0
}

/** True on Saturday and Sunday. `date` is `YYYY-MM-DD`. */
export function isWeekendDate(date: string): boolean {
  return isWeekend(Date.parse(`${date}T00:00:00Z`) / DAY_MS)
}
