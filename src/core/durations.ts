/**
 * Defines the units of time in milliseconds and parses ISO 8601 durations (`P1D`, `PT30S`, `P1Y`).
 * A year counts as 365 days and a month as 30: a setting means a length, not a date.
 */

/** A second in milliseconds. */
export const SECOND_MS = 1000
/** A minute in milliseconds. */
export const MINUTE_MS = 60 * SECOND_MS
/** An hour in milliseconds. */
export const HOUR_MS = 60 * MINUTE_MS
/** A day of 24 hours in milliseconds; a day of London's calendar may have 23 or 25. */
export const DAY_MS = 24 * HOUR_MS
/** Seven such days in milliseconds. */
export const WEEK_MS = 7 * DAY_MS
/** Days of a week on which announcements are published, bank holidays aside. */
export const BUSINESS_DAYS_A_WEEK = 5

const NUMBER = '(\\d{1,6}(?:[.,]\\d{1,3})?)'
const DURATION = new RegExp(
  `^P(?=\\d|T\\d)(?:${NUMBER}Y)?(?:${NUMBER}M)?(?:${NUMBER}W)?(?:${NUMBER}D)?(?:T(?=\\d)(?:${NUMBER}H)?(?:${NUMBER}M)?(?:${NUMBER}S)?)?$`,
)
/** Only the smallest unit of a duration may have decimals. */
const DECIMALS_INSIDE = /[.,]\d+[A-Z].*\d/
const UNITS_MS = [365 * DAY_MS, 30 * DAY_MS, WEEK_MS, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS]

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

/** A length in words for people, e.g. `0.84 s`, `12 s`, `3 min 12 s`, `2 h 5 min`, `4 d 1 h`. */
export function durationWords(ms: number): string {
  if (ms < 10 * SECOND_MS) return `${Number((ms / SECOND_MS).toFixed(ms < SECOND_MS ? 3 : 1))} s`
  const units = [
    ['d', DAY_MS],
    ['h', HOUR_MS],
    ['min', MINUTE_MS],
    ['s', SECOND_MS],
  ] as const
  const rounded =
    ms < HOUR_MS ? Math.round(ms / SECOND_MS) * SECOND_MS : Math.round(ms / MINUTE_MS) * MINUTE_MS
  const first = units.findIndex(([, unitMs]) => rounded >= unitMs)
  let leftMs = rounded
  return units
    .slice(first, first + 2)
    .flatMap(([name, unitMs]) => {
      const count = Math.floor(leftMs / unitMs)
      leftMs -= count * unitMs
      return count === 0 ? [] : [`${count} ${name}`]
    })
    .join(' ')
}
