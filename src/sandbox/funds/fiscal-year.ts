/**
 * Chooses an issuer's fiscal year end, its reporting periods and its report dates. The choice depends on the issuer, so
 * that all its share classes have the same dates.
 */
import { addDays, monthEnd, onBusinessDay } from './dates.ts'
import type { ShareClass } from './share-classes.ts'

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

/** Generates the fiscal year's periods of `months` months (a divisor of 12), oldest first, endlessly. */
export function* fiscalPeriods(
  shareClass: ShareClass,
  months: number,
): Generator<{ period: Period; endsYear: boolean }> {
  const endMonth = shareClass.issuerChance('fiscal year').pick(YEAR_ENDS)
  let to = BEFORE_ALL
  while ((monthOf(to) - endMonth + 12) % months !== 0) to = monthEnd(to, 1)
  for (;;) {
    const from = addDays(to, 1)
    to = monthEnd(to, months)
    yield { period: { from, to }, endsYear: monthOf(to) === endMonth }
  }
}

/** The day on which an issuer reports on a period, and declares its dividends for it. */
export function reportDate(shareClass: ShareClass, { to }: Period): string {
  const after = shareClass.issuerChance(`report:${to}`).between(EARLIEST_REPORT_DAYS, LATEST_REPORT_DAYS)
  return onBusinessDay(addDays(to, after))
}

/** The latest day on which an issuer reports on a period. */
export function latestReportDate({ to }: Period): string {
  return onBusinessDay(addDays(to, LATEST_REPORT_DAYS))
}

function monthOf(day: string): number {
  return Number(day.slice(5, 7))
}
