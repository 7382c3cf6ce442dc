/**
 * Parses the text of the operator's calendar file: holidays, business days and half days that override the computed
 * calendar.
 */
import type { FieldError } from '../../errors.ts'
import { BridgeError, MOST_ERRORS, messageOf } from '../../errors.ts'
import { parseTimestamp } from '../dates.ts'
import { didYouMean } from '../near.ts'

/** Days as `YYYY-MM-DD` that differ from the computed calendar. A day is in one list at most. */
export interface CalendarOverrides {
  /** Closed, whatever the rules say. */
  holidays: readonly string[]
  /** Open all day, whatever the rules say; also a weekend, holiday or half day. */
  businessDays: readonly string[]
  /** Open until the early close. */
  halfDays: readonly string[]
}

/** The calendar as the rules alone make it. */
export const NO_OVERRIDES: CalendarOverrides = Object.freeze({ holidays: [], businessDays: [], halfDays: [] })

const listNames = [
  'holidays',
  'businessDays',
  'halfDays',
] as const satisfies readonly (keyof CalendarOverrides)[]
const DATE = /^\d{4}-\d{2}-\d{2}$/

/**
 * Reads `{"holidays":["YYYY-MM-DD"],"businessDays":[…],"halfDays":[…]}`; each list may be missing.
 * @throws BridgeError `settings` with each wrong place
 */
export function parseCalendarOverrides(text: string): CalendarOverrides {
  const errors: FieldError[] = []
  const fields = objectIn(text)
  for (const name of Object.keys(fields)) {
    if (listNames.some((known) => known === name)) continue
    errors.push({
      field: name.slice(0, 64),
      message: `is not a list of this file${didYouMean(name, listNames)}`,
    })
  }
  const listOfDay = new Map<string, string>()
  const days = (name: (typeof listNames)[number]): string[] =>
    daysIn(Object.hasOwn(fields, name) ? fields[name] : [], name, listOfDay, errors)
  const overrides: CalendarOverrides = {
    holidays: days('holidays'),
    businessDays: days('businessDays'),
    halfDays: days('halfDays'),
  }
  const [first] = errors
  if (first !== undefined) throw refusal(`${first.field} ${first.message}`, errors.slice(0, MOST_ERRORS))
  return overrides
}

function objectIn(text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw refusal(`it is not JSON: ${messageOf(cause).slice(0, 120)}`, [])
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw refusal('it is not a JSON object', [])
  }
  return value as Record<string, unknown>
}

function daysIn(
  value: unknown,
  name: string,
  listOfDay: Map<string, string>,
  errors: FieldError[],
): string[] {
  if (!Array.isArray(value)) {
    errors.push({ field: name, message: 'must be a list of dates' })
    return []
  }
  return value.filter((day: unknown, index): day is string => {
    const field = `${name}[${index}]`
    if (typeof day !== 'string' || !DATE.test(day) || parseTimestamp(`${day}T00:00:00Z`) === null) {
      errors.push({ field, message: 'must be a date as YYYY-MM-DD' })
      return false
    }
    const other = listOfDay.get(day)
    if (other !== undefined && other !== name) {
      errors.push({ field, message: `repeats ${day}, which is in ${other} too` })
    }
    listOfDay.set(day, name)
    return true
  })
}

function refusal(message: string, errors: readonly FieldError[]): BridgeError {
  return new BridgeError('settings', `the calendar file is refused: ${message}`, {
    hint: 'Write {"holidays":["YYYY-MM-DD"],"businessDays":[],"halfDays":[]}; lists may be left out.',
    errors,
  })
}
