/**
 * Reads query parameters strictly: unknown names, repeated single values and numbers out of range are refused together.
 */
import { parseTimeBound } from '../core/dates.ts'
import { didYouMean } from '../core/near.ts'
import { BridgeError, type FieldError } from '../errors.ts'
import { HttpProblem } from './problem.ts'

/** The offset of a time whose `+` was not escaped, so that it arrives as a blank. */
const BARE_OFFSET = / (\d\d:?\d\d)$/

/** Reads values; what is wrong is kept until `check`, so that a client hears of everything at once. */
export interface Query {
  /** All parameters as they came. */
  readonly params: URLSearchParams
  /** The one value, null where absent. */
  text(name: string): string | null
  /** The one value as a whole number in the range, both ends included; `otherwise` where absent. */
  integer(name: string, range: { low: number; high: number; otherwise: number }): number
  /** The one value as the first millisecond of a date or time, null where absent. The `+` of an offset may be a blank. */
  timeMs(name: string): number | null
  /** Notes that the values contradict each other. */
  refuse(field: string, message: string): void
  /** @throws HttpProblem `parameter_invalid` naming every wrong parameter */
  check(): void
}

/** Opens the query of a request's URL. `known` = every name that may occur. */
export function openQuery(url: string, known: readonly string[]): Query {
  const start = url.indexOf('?')
  const params = new URLSearchParams(start < 0 ? '' : url.slice(start + 1))
  const errors: FieldError[] = []
  for (const name of new Set(params.keys())) {
    if (known.includes(name)) continue
    const message = `is not a parameter of this path${didYouMean(name, known)}`
    errors.push({ field: name.slice(0, 60), message })
  }
  const refuse = (field: string, message: string): void => {
    errors.push({ field, message })
  }
  const text = (name: string): string | null => {
    const [value, ...more] = params.getAll(name)
    if (value === undefined) return null
    if (more.length > 0) refuse(name, 'is given more than once; it takes one value')
    else if (value === '') refuse(name, 'is empty; give a value or leave it out')
    else return value
    return null
  }
  return {
    params,
    text,
    integer(name, { low, high, otherwise }) {
      const value = text(name)
      if (value === null) return otherwise
      const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN
      if (number >= low && number <= high) return number
      refuse(name, `must be a whole number from ${low} to ${high}`)
      return otherwise
    },
    timeMs(name) {
      const value = text(name)
      if (value === null) return null
      try {
        return parseTimeBound(value.replace(BARE_OFFSET, '+$1')).fromMs
      } catch (error) {
        if (!(error instanceof BridgeError)) throw error
        refuse(name, `is not a time. ${error.hint ?? ''}`)
        return null
      }
    },
    refuse,
    check() {
      if (errors.length === 0) return
      const names = [...new Set(errors.map(({ field }) => field))].join(', ')
      throw new HttpProblem('parameter_invalid', `wrong: ${names}`, { errors })
    },
  }
}
