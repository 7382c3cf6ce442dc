/**
 * Reads the headers that a tenant adds to its webhooks. Names that steer the connection, describe the body or belong to the
 * bridge are refused.
 */
import { z } from 'zod'
import { LONGEST_ECHO } from '../../errors.ts'

const MOST_HEADERS = 20
/** Longest name, and most of all names and values together. */
const LONGEST_NAME = 100
const MOST_BYTES = 4096

/** Less than RFC 9110 allows: many receivers read `_` and `.` as `-`, which would imitate a refused name. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9-]*$/
/** Printable ASCII, with blanks and tabs inside. */
const VALUE = /^[\x21-\x7e]([\t\x20-\x7e]*[\x21-\x7e])?$/

/** What belongs to the connection, to the message, or to the bridge; lower case. */
const REFUSED = [
  'accept-encoding',
  'connection',
  'date',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'keep-alive',
  'max-forwards',
  'te',
  'traceparent',
  'tracestate',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
]
/** Beginnings of names that are refused whole families at a time. */
const REFUSED_FAMILIES = ['content-', 'proxy-', 'sec-', 'webhook-', 'x-forwarded-']

/** The rule in words, for the docs. */
export const CUSTOM_HEADERS_RULE = `at most ${MOST_HEADERS} and ${MOST_BYTES / 1024} KB, names of letters, digits and \`-\`, values of printable ASCII; none of ${REFUSED.map((name) => `\`${name}\``).join(', ')}, nothing that begins with ${REFUSED_FAMILIES.map((name) => `\`${name}\``).join(', ')}`

/** The headers in a JSON value, their names as they were written. */
export const customHeaders = z
  .unknown()
  .transform((value, context): Record<string, string> => {
    const refuse = (message: string, ...path: string[]): void => {
      context.addIssue({ code: 'custom', message, path })
    }
    if (value === null || typeof value !== 'object' || Array.isArray(value)) {
      refuse('must be an object of names and texts, e.g. {"x-key": "…"}')
      return {}
    }
    const entries = Object.entries(value)
    if (entries.length > MOST_HEADERS) {
      refuse(`are more than ${MOST_HEADERS}`)
      return {}
    }
    const seen = new Set<string>()
    for (const [name, text] of entries) {
      const message = wrongName(name, seen) ?? wrongValue(text)
      if (message !== null) refuse(message, name.slice(0, LONGEST_ECHO))
      seen.add(name.toLowerCase())
    }
    const bytes = entries.reduce(
      (sum, [name, text]) => sum + name.length + (typeof text === 'string' ? text.length : 0),
      0,
    )
    if (bytes > MOST_BYTES) refuse(`have more than ${MOST_BYTES} bytes`)
    return Object.fromEntries(entries)
  })
  .meta({ type: 'object', additionalProperties: { type: 'string' } })

function wrongName(name: string, seen: ReadonlySet<string>): string | null {
  const lower = name.toLowerCase()
  if (!NAME.test(name) || name.length > LONGEST_NAME) {
    return `is not a header name: 1 to ${LONGEST_NAME} letters, digits or dashes`
  }
  if (REFUSED.includes(lower) || REFUSED_FAMILIES.some((family) => lower.startsWith(family))) {
    return 'cannot be set: it belongs to the connection, the body or the bridge'
  }
  return seen.has(lower) ? 'is there twice: header names are compared without case' : null
}

function wrongValue(value: unknown): string | null {
  if (typeof value === 'string' && VALUE.test(value)) return null
  return 'must be text of printable ASCII characters, without a blank at either end'
}
