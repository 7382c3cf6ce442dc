/**
 * Loads the calendar of London business days, with the operator's overrides from `BRIDGE_CALENDAR_FILE`: holidays,
 * business days and half days that differ from the computed calendar.
 */
import { z } from 'zod'
import { type Calendar, type CalendarOverrides, createCalendar } from '../core/calendar/calendar.ts'
import { didYouMean } from '../core/near.ts'
import { BridgeError, type FieldError, fieldPath, MOST_ERRORS, messageOf } from '../errors.ts'
import { readTextFile } from './environment.ts'

const days = z.array(z.iso.date('must be a date as YYYY-MM-DD'), 'must be a list of dates').default([])
const lists = z.strictObject({ holidays: days, businessDays: days, halfDays: days })
const listNames = Object.keys(lists.shape) as (keyof CalendarOverrides)[]
/** The content of the file: each list may be missing, and a day is in one list at most. */
const calendarFile = lists.superRefine((given, context) => {
  const listOfDay = new Map<string, string>()
  for (const name of listNames) {
    for (const [index, day] of given[name].entries()) {
      const other = listOfDay.get(day) ?? name
      listOfDay.set(day, name)
      if (other === name) continue
      const message = `repeats ${day}, which is in ${other} too`
      context.addIssue({ code: 'custom', path: [name, index], message })
    }
  }
})

/**
 * The calendar; null = no file, by the rules alone.
 * @throws BridgeError `settings` when the file cannot be read, or is refused
 */
export function loadCalendar(path: string | null): Calendar {
  if (path === null) return createCalendar()
  let text: string
  try {
    text = readTextFile(path)
  } catch (error) {
    throw new BridgeError('settings', `the calendar file cannot be read: ${messageOf(error)}`, {
      hint: 'Let BRIDGE_CALENDAR_FILE name a file that this user can read, or leave it out.',
    })
  }
  return createCalendar(parseCalendarOverrides(text))
}

/**
 * Reads `{"holidays":["YYYY-MM-DD"],"businessDays":[…],"halfDays":[…]}`.
 * @throws BridgeError `settings` with each wrong place
 */
export function parseCalendarOverrides(text: string): CalendarOverrides {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw refusal(`it is not JSON: ${messageOf(cause).slice(0, 120)}`, [])
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw refusal('it is not a JSON object', [])
  }
  const unknown = Object.keys(value).filter((name) => !listNames.some((known) => known === name))
  const { data, error } = calendarFile.safeParse(value)
  const errors: FieldError[] = [
    ...unknown.map((name) => ({
      field: name.slice(0, 64),
      message: `is not a list of this file${didYouMean(name, listNames)}`,
    })),
    ...(error?.issues ?? [])
      .filter(({ code }) => code !== 'unrecognized_keys')
      .map(({ path, message }) => ({ field: fieldPath(path), message })),
  ]
  const [first] = errors
  if (data !== undefined && first === undefined) return data
  throw refusal(`${first?.field} ${first?.message}`, errors.slice(0, MOST_ERRORS))
}

function refusal(message: string, errors: readonly FieldError[]): BridgeError {
  return new BridgeError('settings', `the calendar file is refused: ${message}`, {
    hint: 'Write {"holidays":["YYYY-MM-DD"],"businessDays":[],"halfDays":[]}; lists may be left out.',
    errors,
  })
}
