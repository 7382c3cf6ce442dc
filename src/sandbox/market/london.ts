/**
 * Converts London times of day to milliseconds since 1970 and finds the next or previous business day.
 */
import { businessDayBeside, createCalendar } from '../../core/calendar/calendar.ts'
import { DAY_MS, MINUTE_MS } from '../../core/durations.ts'

/** Shared, because it caches offsets and holidays: computing one takes a hundred times as long. */
const calendar = createCalendar()

/** True on days that end at 13:30. */
export const { isHalfDay } = calendar

/** Parses `HH:MM` or `HH:MM:SS` to the second of the day. Hours from 24 on belong to the following days. */
export function parseSecondOfDay(text: string): number {
  const [hour = 0, minute = 0, second = 0] = text.split(':').map(Number)
  return hour * 3600 + minute * 60 + second
}

/** London midnight from which the seconds of `day` (`YYYY-MM-DD`) are counted, ms since 1970. */
export function londonMidnightMs(day: string): number {
  // The market is closed in the hour in which London changes its clocks, so the offset at noon holds.
  return calendar.momentMs(day, DAY_MS / 2 / MINUTE_MS) - DAY_MS / 2
}

/** Converts a time as in `parseSecondOfDay` on that London day to ms since 1970. */
export function londonMomentMs(day: string, time: string): number {
  return londonMidnightMs(day) + parseSecondOfDay(time) * 1000
}

/** The business day after `day` (`step` 1) or before it (`step` −1). */
export function nextBusinessDay(day: string, step: 1 | -1): string {
  return businessDayBeside(calendar, day, step)
}
