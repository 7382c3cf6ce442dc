/**
 * The members of a JSON body, read strictly: unknown names and values out of range are refused, all at once. Owns the
 * reading. Refuses to know what a member is for. Its sibling for query strings is `parameters.ts`.
 */
import { didYouMean } from '../core/near.ts'
import type { FieldError } from '../errors.ts'
import { HttpProblem } from './problem.ts'

/** Longest name of an unknown member that an answer repeats, and most of them. */
const LONGEST_NAME = 60
const MOST_ERRORS = 20
/** Control and format characters, line separators, halves of characters: nothing that could steer a terminal. */
const STEERING = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/** Reads values; what is wrong is kept until `check`, so that a client hears of everything at once. */
export interface Members {
  /** The value as it came; undefined, and noted as wrong, where it is absent. */
  required(name: string): unknown
  /** The value as it came; undefined where it is absent. */
  optional(name: string): unknown
  /** A whole number in the range, both ends included; `otherwise` where absent. */
  integer(name: string, range: { low: number; high: number; otherwise: number }): number
  /** Text of 1 to `longest` characters that steers no terminal; null where absent. */
  text(name: string, longest: number): string | null
  /** Notes what is wrong with a member, or with a part of it such as `scopes[0]`. */
  refuse(field: string, message: string): void
  /** @throws HttpProblem `body_invalid` naming every wrong member */
  check(): void
}

/**
 * Opens a parsed body. `known` = every name that may occur.
 * @throws HttpProblem `body_invalid` where it is no object
 */
export function openMembers(body: unknown, known: readonly string[]): Members {
  if (body === null || typeof body !== 'object' || Array.isArray(body)) {
    throw new HttpProblem('body_invalid', `the body must be a JSON object with ${known.join(', ')}`)
  }
  const members = body as Readonly<Record<string, unknown>>
  const errors: FieldError[] = Object.keys(members)
    .filter((name) => !known.includes(name))
    .slice(0, MOST_ERRORS)
    .map((name) => ({
      field: name.slice(0, LONGEST_NAME),
      message: `is not a member of this body${didYouMean(name, known)}`,
    }))
  const read = (name: string): unknown => (Object.hasOwn(members, name) ? members[name] : undefined)
  return {
    required(name) {
      const value = read(name)
      if (value === undefined) errors.push({ field: name, message: 'is missing; it is required' })
      return value
    },
    optional: read,
    refuse(field, message) {
      if (errors.length < MOST_ERRORS) errors.push({ field, message })
    },
    integer(name, { low, high, otherwise }) {
      const value = read(name)
      if (value === undefined) return otherwise
      if (Number.isInteger(value) && Number(value) >= low && Number(value) <= high) return Number(value)
      errors.push({ field: name, message: `must be a whole number from ${low} to ${high}` })
      return otherwise
    },
    text(name, longest) {
      const value = read(name)
      if (value === undefined) return null
      const fits = typeof value === 'string' && value !== '' && value.length <= longest
      if (fits && !STEERING.test(value)) return value
      errors.push({
        field: name,
        message: `must be text of 1 to ${longest} characters, without control characters`,
      })
      return null
    },
    check() {
      if (errors.length === 0) return
      const names = errors.map(({ field }) => field).join(', ')
      throw new HttpProblem('body_invalid', `wrong: ${names}`, { errors })
    },
  }
}
