/**
 * Reads query parameters strictly: one error response lists all unknown names, repeated single values and numbers out
 * of range.
 */
import { type DateBound, parseTimeBound } from '../core/dates.ts'
import { didYouMean } from '../core/near.ts'
import { BridgeError, type FieldError, MOST_ERRORS } from '../errors.ts'
import { wrongFields } from './problem.ts'

/** The offset of a time whose `+` was not escaped, so that it arrives as a blank. */
const BARE_OFFSET = / (\d\d:?\d\d)$/

/** The query of one request. What is wrong is kept until `check`, so that a client hears of everything at once. */
export class Query {
  /** All parameters as they came. */
  readonly params: URLSearchParams
  readonly #errors: FieldError[] = []

  /** `known` = every name that may occur in the query of this URL. */
  constructor(url: string, known: readonly string[]) {
    const start = url.indexOf('?')
    this.params = new URLSearchParams(start < 0 ? '' : url.slice(start + 1))
    for (const name of new Set(this.params.keys())) {
      if (known.includes(name) || this.#errors.length === MOST_ERRORS) continue
      this.refuse(name.slice(0, 60), `is not a parameter of this path${didYouMean(name, known)}`)
    }
  }

  /** The one value, null where absent. */
  text(name: string): string | null {
    const [value, ...more] = this.params.getAll(name)
    if (value === undefined) return null
    if (more.length > 0) this.refuse(name, 'is given more than once; it takes one value')
    else if (value === '') this.refuse(name, 'is empty; give a value or leave it out')
    else return value
    return null
  }

  /** The one value as a whole number in the range, both ends included; `otherwise` where absent. */
  integer(name: string, { low, high, otherwise }: { low: number; high: number; otherwise: number }): number {
    const value = this.text(name)
    if (value === null) return otherwise
    const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN
    if (number >= low && number <= high) return number
    this.refuse(name, `must be a whole number from ${low} to ${high}`)
    return otherwise
  }

  /** The one value as the first millisecond of a date or time, null where absent. The `+` of an offset may be a blank. */
  timeMs(name: string): number | null {
    return this.time(name)?.fromMs ?? null
  }

  /** The one value as a date or time: the first and the last millisecond that it covers. As `timeMs` otherwise. */
  time(name: string): DateBound | null {
    const value = this.text(name)
    try {
      return value === null ? null : parseTimeBound(value.replace(BARE_OFFSET, '+$1'))
    } catch (error) {
      if (!(error instanceof BridgeError)) throw error
      this.refuse(name, `is not a time. ${error.hint ?? ''}`)
      return null
    }
  }

  /** Refuses all of these parameters that are given but one. */
  refuseAllButOne(names: readonly string[]): void {
    const [first, ...more] = names.filter((name) => this.params.has(name))
    for (const name of more) this.refuse(name, `cannot be combined with ${first}; give one of them`)
  }

  /** Notes what is wrong with a parameter, e.g. that it contradicts another one. Of all that is wrong the first 20 count. */
  refuse(field: string, message: string): void {
    if (this.#errors.length < MOST_ERRORS) this.#errors.push({ field, message })
  }

  /** @throws HttpProblem `parameter_invalid` naming every wrong parameter */
  check(): void {
    const errors = this.#errors
    if (errors.length === 0) return
    throw wrongFields('parameter_invalid', errors)
  }
}
