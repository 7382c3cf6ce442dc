/** Formats moments as London time with its offset from UTC, a form that every `--since` takes. */
import { MINUTE_MS } from '../../core/durations.ts'

/** The Swedish locale writes dates as ISO 8601 does. */
const format = new Intl.DateTimeFormat('sv-SE', {
  timeZone: 'Europe/London',
  dateStyle: 'short',
  timeStyle: 'medium',
})

/** E.g. `2026-07-07T07:00:01+01:00`; parts of a second are cut. `ms`: ms since 1970. */
export function londonTime(ms: number): string {
  const local = format.format(ms).replace(' ', 'T')
  const minutes = Math.round((Date.parse(`${local}Z`) - ms) / MINUTE_MS)
  const two = (count: number): string => count.toString().padStart(2, '0')
  return `${local}${minutes < 0 ? '-' : '+'}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`
}

/** The moment of a text from outside as London time; text that is not a time is null. */
export function londonTimeOf(text: unknown): string | null {
  const ms = typeof text === 'string' ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? null : londonTime(ms)
}
