/**
 * ISO 8601 durations of settings (`P1D`, `PT30S`, `P1Y`) as milliseconds. Owns the parsing.
 * Refuses calendars: a year is 365 days and a month 30, since a setting means a length and not a date.
 */

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const NUMBER = '(\\d{1,6}(?:[.,]\\d{1,3})?)'
const DURATION = new RegExp(
  `^P(?=\\d|T\\d)(?:${NUMBER}Y)?(?:${NUMBER}M)?(?:${NUMBER}W)?(?:${NUMBER}D)?(?:T(?=\\d)(?:${NUMBER}H)?(?:${NUMBER}M)?(?:${NUMBER}S)?)?$`,
)
/** Only the smallest unit of a duration may have decimals. */
const DECIMALS_INSIDE = /[.,]\d+[A-Z].*\d/
const UNITS_MS = [365 * DAY_MS, 30 * DAY_MS, 7 * DAY_MS, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS]

/** Milliseconds of an ISO 8601 duration, or null when the text is none. Its last number may have up to three decimals. */
export function parseDuration(text: string): number | null {
  const match = DURATION.exec(text)
  if (match === null || DECIMALS_INSIDE.test(text)) return null
  return Math.round(
    UNITS_MS.reduce(
      (total, unitMs, index) => total + unitMs * Number((match[index + 1] ?? '0').replace(',', '.')),
      0,
    ),
  )
}
