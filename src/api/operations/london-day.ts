/** Reads the parameter `date`, a day of London, of the routes that show one day, and shows which day an answer has. */
import { z } from 'zod'
import type { Calendar } from '../../core/calendar/calendar.ts'
import { isCalendarDate, isoSeconds } from '../../core/dates.ts'
import { SECOND_MS } from '../../core/durations.ts'
import { type LondonDay, londonDayOf } from '../../governor/arrivals/london-day.ts'
import { SLOT_S } from '../../governor/arrivals/profile.ts'
import type { Query } from '../../http/parameters.ts'
import { isoTime } from '../../http/schemas/json-schema.ts'

const NOON = 12 * 60

/** Length of the slots in which a day is shown, ms: those of the arrival profile, and of the quota ledger. */
export const SLOT_MS = SLOT_S * SECOND_MS

/** The parameter for the documents. */
export const dateParameter = z.string().meta({
  description: 'A day of London, e.g. `2026-02-03`; default: the one that upstream has now.',
  format: 'date',
})

/** The members that say which day is shown. */
export const dayShape = {
  date: z.string().describe('The day of London that is shown.'),
  from: isoTime('Its first moment.'),
  to: isoTime('The first moment of the next day: 23 to 25 hours later.'),
}

/** These members for a day. */
export function shownDay({ date, startMs, endMs }: LondonDay): { date: string; from: string; to: string } {
  return { date, from: isoSeconds(startMs), to: isoSeconds(endMs) }
}

/** The day of that parameter, by default the one that contains `presentMs`; what is wrong is noted in the query. */
export function readLondonDay(query: Query, calendar: Calendar, presentMs: number): LondonDay {
  const text = query.text('date')
  if (text !== null && isCalendarDate(text)) return londonDayOf(calendar, calendar.momentMs(text, NOON))
  if (text !== null) query.refuse('date', 'must be a date from 1970 to 2099 such as 2026-02-03')
  return londonDayOf(calendar, presentMs)
}
