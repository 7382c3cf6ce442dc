/** Reads and writes the text of the browser's field for date and time as London's clocks show them. Pure. */
import { londonTime } from '../times.ts'

const HOUR_MS = 3_600_000

/** ms since 1970 of `2026-02-03T07:00` in London; null for other text, and for the hour that a spring leaves out. */
export function londonMs(text: string): number | null {
  const asUtc = Date.parse(`${text}Z`)
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text) || Number.isNaN(asUtc)) return null
  // Of the hour that an autumn has twice the first is meant.
  const found = [asUtc - HOUR_MS, asUtc].find((ms) => londonInput(ms) === text.slice(0, 16))
  return found ?? null
}

/** The same moment as text of the field, to the minute. */
export function londonInput(ms: number): string {
  const { date, time } = londonTime(ms)
  return `${date}T${time.slice(0, 5)}`
}
