/**
 * Validates a parsed JSON request body with its zod object and reports all faults at once. An unknown member is
 * refused, with a suggestion of the most similar name.
 */
import { z } from 'zod'
import { type DateBound, parseTimeBound } from '../core/dates.ts'
import { didYouMean } from '../core/near.ts'
import { type FieldError, fieldPath, isBridgeError, MOST_ERRORS } from '../errors.ts'
import { HttpProblem, wrongFields } from './problem.ts'
import { MISSING, mustBe } from './schemas/json-schema.ts'

/** Longest name of an unknown member that an answer repeats. */
const LONGEST_NAME = 60
/** Characters of a wrong word that are compared with the known ones. */
const LONGEST_WORD = 40
/** Control and format characters, line separators, halves of characters: nothing that could steer a terminal. */
const STEERING = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/**
 * The value of a body.
 * @throws HttpProblem `body_invalid` naming every wrong member
 */
export function readBody<Body extends z.ZodObject>(schema: Body, body: unknown): z.output<Body> {
  const known = Object.keys(schema.shape)
  if (body === null || typeof body !== 'object' || Array.isArray(body)) {
    throw new HttpProblem('body_invalid', `the body must be a JSON object with ${known.join(', ')}`)
  }
  const read = schema.safeParse(body)
  const errors = faultsOf(body, known, read.error)
  if (read.success && errors.length === 0) return read.data
  throw wrongFields('body_invalid', errors)
}

/** The first fault of each member, unknown members first. */
function faultsOf(body: object, known: readonly string[], error: z.ZodError | undefined): FieldError[] {
  const unknown = Object.keys(body).filter((name) => !known.includes(name))
  const wrong = new Map<string, string>()
  for (const { code, path, message } of error?.issues ?? []) {
    const field = fieldPath(path)
    if (code !== 'unrecognized_keys' && !wrong.has(field)) wrong.set(field, message)
  }
  return [
    ...unknown.map((name) => ({
      field: name.slice(0, LONGEST_NAME),
      message: `is not a member of this body${didYouMean(name, known)}`,
    })),
    ...[...wrong].map(([field, message]) => ({ field, message })),
  ].slice(0, MOST_ERRORS)
}

/** Text of 1 to `longest` characters that steers no terminal. */
export function plainText(longest: number) {
  const rule = mustBe(`must be text of 1 to ${longest} characters, without control characters`)
  return z
    .string(rule)
    .min(1, rule)
    .max(longest, rule)
    .refine((text) => !STEERING.test(text), rule)
}

/** One of these words; another one is refused with the near match. */
export function oneOf<const Words extends readonly string[]>(words: Words) {
  return z.enum(words, {
    error: ({ input }) => {
      if (input === undefined) return MISSING
      const near = typeof input === 'string' ? didYouMean(input.slice(0, LONGEST_WORD), words) : ''
      return `must be one of ${words.join(', ')}${near}`
    },
  })
}

/** A date or time as `parseTimeBound` reads it: the first and the last millisecond that it covers. */
export function timeText() {
  return z
    .string(mustBe('must be a time such as 2027-01-31T12:00:00Z'))
    .transform((text, context): DateBound => readTime(text, context) ?? z.NEVER)
}

/** The time that a text means; null, with a fault in `context`, where it is no time. */
function readTime(text: string, context: z.core.$RefinementCtx): DateBound | null {
  try {
    return parseTimeBound(text)
  } catch (error) {
    if (!isBridgeError(error, 'date_invalid')) throw error
    context.addIssue({ code: 'custom', message: `is not a time. ${error.hint ?? ''}` })
    return null
  }
}

/** A place in the log: a cursor, or a date or time. */
export type LogPosition = { kind: 'cursor'; text: string } | ({ kind: 'time' } & DateBound)

/** A cursor or a time. No cursor begins with a digit: its first byte is the number of its form. */
export function placeText(message: string) {
  return z
    .string(mustBe(message))
    .min(1, message)
    .transform((text, context): LogPosition => {
      if (!/^\d/.test(text)) return { kind: 'cursor', text }
      const time = readTime(text, context)
      return time === null ? z.NEVER : { kind: 'time', ...time }
    })
}
