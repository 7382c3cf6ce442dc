/**
 * The members of a new endpoint as flags. Owns the flags and their way into the body of `POST /v1/webhooks`. Refuses to
 * judge values: what is no number goes as the text that it is, and the bridge says what is wrong.
 */
import { filterValue } from '../../core/filter/filter-query.ts'
import { BridgeError, isBridgeError } from '../../errors.ts'
import { filterFlags, filterParameters } from './filter-flags.ts'

/** For `readFlags`. */
export const endpointFlags = {
  ...filterFlags,
  description: { type: 'string' },
  header: { type: 'string', multiple: true },
  'max-concurrency': { type: 'string' },
  'rate-limit': { type: 'string' },
  order: { type: 'string' },
  since: { type: 'string' },
} as const

/**
 * The body but for its URL; absent flags are absent members.
 * @throws BridgeError `usage` for a header without a colon, and for filter flags that do not go together
 */
export function endpointBody(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return {
    description: values.description,
    filter: readFilter(values),
    headers: readHeaders(values.header),
    maxConcurrency: numberOrText(values['max-concurrency']),
    rateLimit: numberOrText(values['rate-limit']),
    order: values.order,
    since: values.since,
  }
}

function readFilter(values: Readonly<Record<string, unknown>>): unknown {
  try {
    return filterValue(filterParameters(values))
  } catch (error) {
    if (!isBridgeError(error, 'filter_invalid')) throw error
    throw new BridgeError('usage', error.message, {
      ...(error.hint !== undefined && { hint: error.hint }),
      errors: error.errors,
    })
  }
}

function readHeaders(given: unknown): Record<string, string> | undefined {
  if (!Array.isArray(given)) return undefined
  const headers = new Map<string, string>()
  for (const line of given.map(String)) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).trim()
    if (colon < 1 || headers.has(name)) {
      throw new BridgeError('usage', '--header takes a name, a colon and a text, each name once', {
        hint: "e.g. --header 'x-key: of the receiver'",
      })
    }
    headers.set(name, line.slice(colon + 1).trim())
  }
  return Object.fromEntries(headers)
}

function numberOrText(value: unknown): unknown {
  return typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value
}
