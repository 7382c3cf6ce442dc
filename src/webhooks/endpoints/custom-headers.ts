/**
 * The headers that a tenant adds to its webhooks. Owns which ones may be added: none that steers the connection, says what
 * the body is, or carries what the bridge itself says. Refuses to send.
 */
import type { FieldError } from '../../errors.ts'

const MOST_HEADERS = 20
/** Longest name, and most of all names and values together. */
const LONGEST_NAME = 100
const MOST_BYTES = 4096
/** Characters of a wrong name that an answer repeats. */
const LONGEST_ECHO = 40

/** A token (RFC 9110) that begins with a letter or digit. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9!#$%&'*+.^_`|~-]*$/
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

/** The headers in a JSON value, their names as they were written; or everything that is wrong with them. */
export function readCustomHeaders(value: unknown): { headers: Record<string, string>; errors: FieldError[] } {
  const errors: FieldError[] = []
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    return {
      headers: {},
      errors: [{ field: 'headers', message: 'must be an object of names and texts, e.g. {"x-key": "…"}' }],
    }
  }
  const entries = Object.entries(value)
  if (entries.length > MOST_HEADERS) {
    return { headers: {}, errors: [{ field: 'headers', message: `are more than ${MOST_HEADERS}` }] }
  }
  const seen = new Set<string>()
  let bytes = 0
  for (const [name, text] of entries) {
    const message = wrongName(name, seen) ?? wrongValue(text)
    if (message !== null) errors.push({ field: `headers.${name.slice(0, LONGEST_ECHO)}`, message })
    seen.add(name.toLowerCase())
    bytes += name.length + String(text).length
  }
  if (bytes > MOST_BYTES) errors.push({ field: 'headers', message: `have more than ${MOST_BYTES} bytes` })
  return { headers: Object.fromEntries(entries), errors }
}

function wrongName(name: string, seen: ReadonlySet<string>): string | null {
  const lower = name.toLowerCase()
  if (!NAME.test(name) || name.length > LONGEST_NAME) {
    return `is no name of a header: 1 to ${LONGEST_NAME} letters, digits or dashes`
  }
  if (REFUSED.includes(lower) || REFUSED_FAMILIES.some((family) => lower.startsWith(family))) {
    return 'is not yours to set: it belongs to the connection, the body or the bridge'
  }
  return seen.has(lower) ? 'is there twice: case does not tell headers apart' : null
}

function wrongValue(value: unknown): string | null {
  if (typeof value === 'string' && VALUE.test(value)) return null
  return 'must be text of printable ASCII characters, without a blank at either end'
}
