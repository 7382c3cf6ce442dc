/**
 * Chooses an issuer's fiscal year end, its reporting periods and its report dates. The choice depends on the issuer, so
 * that all its share classes have the same dates.
 */
import type { Issuer } from '../market/issuers.ts'
import { addDays, monthEnd, onBusinessDay } from './dates.ts'
import type { ShareClasses } from './share-classes.ts'

/** A period of whole months; both days are included. */
export interface Period {
  from: string
  to: string
}

/** Last months (1 to 12) of fiscal years, repeated by how often companies choose them. */
const YEAR_ENDS = [12, 12, 12, 12, 3, 3, 6, 9]

/** Days from the end of a period to the first and the latest day of a report on it. */
const EARLIEST_REPORT_DAYS = 45
const LATEST_REPORT_DAYS = 75
/** A day before every period. */
const BEFORE_ALL = '2023-06-30'

/** Last month, 1 to 12, of this issuer's fiscal year. */
export function yearEndMonth(issuer: Issuer, chance: ShareClasses['chance']): number {
  const [first] = issuer.instruments
  return first === undefined ? 12 : chance(first, 'fiscal year').pick(YEAR_ENDS)
}

/** Generates the fiscal year's periods of `months` months (a divisor of 12), oldest first, endlessly. */
export function* fiscalPeriods(endMonth: number, months: number): Generator<Period & { endsYear: boolean }> {
  let to = BEFORE_ALL
  while ((monthOf(to) - endMonth + 12) % months !== 0) to = monthEnd(to, 1)
  for (;;) {
    const from = addDays(to, 1)
    to = monthEnd(to, months)
    yield { from, to, endsYear: monthOf(to) === endMonth }
  }
}

/** The day on which an issuer reports on a period, and declares its dividends for it. */
export function reportDate(issuer: Issuer, { to }: Period, chance: ShareClasses['chance']): string {
  const [first] = issuer.instruments
  const after =
    first === undefined
      ? LATEST_REPORT_DAYS
      : chance(first, `report:${to}`).between(EARLIEST_REPORT_DAYS, LATEST_REPORT_DAYS)
  return onBusinessDay(addDays(to, after))
}

/** The latest day on which an issuer reports on a period. */
export function latestReportDate({ to }: Period): string {
  return onBusinessDay(addDays(to, LATEST_REPORT_DAYS))
}

function monthOf(day: string): number {
  return Number(day.slice(5, 7))
}
