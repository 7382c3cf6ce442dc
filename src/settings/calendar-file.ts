/**
 * Loads the London calendar with the operator's overrides from `BRIDGE_CALENDAR_FILE`.
 */
import { readFileSync } from 'node:fs'
import { type Calendar, createCalendar } from '../core/calendar/calendar.ts'
import { parseCalendarOverrides } from '../core/calendar/calendar-overrides.ts'
import { BridgeError, messageOf } from '../errors.ts'

/**
 * The calendar; null = no file, by the rules alone.
 * @throws BridgeError `settings` when the file cannot be read, or is refused
 */
export function loadCalendar(path: string | null): Calendar {
  if (path === null) return createCalendar()
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new BridgeError('settings', `the calendar file cannot be read: ${messageOf(error)}`, {
      hint: 'Let BRIDGE_CALENDAR_FILE name a file that this user can read, or leave it out.',
    })
  }
  return createCalendar(parseCalendarOverrides(text))
}
