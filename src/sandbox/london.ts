/**
 * Moments of the market's day: London seconds of a business day as milliseconds since 1970. Owns the zone
 * and the weekends of the sandbox's market. Refuses to know holidays: the synthetic market has none.
 */
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

/** Second of the day of a time written `HH:MM` or `HH:MM:SS`. */
export function secondOfDay(text: string): number {
  const [hour = 0, minute = 0, second = 0] = text.split(':').map(Number)
  return hour * 3600 + minute * 60 + second
}

/** Midnight in London at which the seconds of `day` (`YYYY-MM-DD`) count from, ms since 1970. */
export function londonMidnightMs(day: string): number {
  const asUtcMs = Date.parse(`${day}T00:00:00Z`)
  // The market is closed in the hour in which London changes its clocks, so the offset at noon holds.
  const hour = new Intl.DateTimeFormat('en-GB', {
    timeZone: 'Europe/London',
    hour: '2-digit',
    hourCycle: 'h23',
  })
  return asUtcMs - (Number(hour.format(asUtcMs + DAY_MS / 2)) - 12) * HOUR_MS
}

/** The business day after `day` (`step` 1) or before it (`step` −1). */
export function nextBusinessDay(day: string, step: 1 | -1): string {
  const next = new Date(Date.parse(`${day}T00:00:00Z`) + step * DAY_MS)
  const text = next.toISOString().slice(0, 10)
  const weekend = next.getUTCDay() === 0 || next.getUTCDay() === 6
  return weekend ? nextBusinessDay(text, step) : text
}
