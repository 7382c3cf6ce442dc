/** Arranges days as a calendar has them: weeks from Monday to Sunday, the latest first. Dates are `YYYY-MM-DD`. */

const DAY_MS = 86_400_000

/** A week: its seven dates, the Monday first. */
export type Week = readonly string[]

/** The weeks from that of `last` back to that of `first`. */
export function weeksBetween(first: string, last: string): Week[] {
  const weeks: Week[] = []
  for (let monday = mondayOf(last); monday > shifted(first, -7); monday = shifted(monday, -7))
    weeks.push(Array.from({ length: 7 }, (_, index) => shifted(monday, index)))
  return weeks
}

/** The date so many days later, or earlier if negative. */
export function shifted(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10)
}

function mondayOf(date: string): string {
  const weekday = new Date(`${date}T00:00:00Z`).getUTCDay()
  return shifted(date, -((weekday + 6) % 7))
}

const longDate = new Intl.DateTimeFormat('en-GB', {
  weekday: 'long',
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
})

/** A date as people say it, e.g. `Tuesday 3 February 2026`. */
export function dateWords(date: string): string {
  return longDate.format(Date.parse(`${date}T00:00:00Z`)).replace(',', '')
}
