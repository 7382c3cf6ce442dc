/**
 * Builds the body of `POST /v1/webhooks` from command-line flags. The values are checked by the bridge that receives
 * them, so text in place of a number is sent unchanged.
 */
import { BridgeError, textOf } from '../../errors.ts'
import { filterFlags, filterOf } from './filter-flags.ts'

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
 * The body without its URL; a flag that is not given is left out.
 * @throws BridgeError `usage` for a header without a colon, and for filter flags that do not go together
 */
export function endpointBody(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return {
    description: values.description,
    filter: filterOf(values),
    headers: readHeaders(values.header),
    maxConcurrency: numberOrText(values['max-concurrency']),
    rateLimit: numberOrText(values['rate-limit']),
    order: values.order,
    since: values.since,
  }
}

function readHeaders(given: unknown): Record<string, string> | undefined {
  if (!Array.isArray(given)) return undefined
  const headers = new Map<string, string>()
  for (const line of given.map(textOf)) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).trim()
    if (colon < 1 || headers.has(name)) {
      throw new BridgeError('usage', '--header must be NAME: VALUE, and each name may occur once', {
        hint: "For example --header 'x-api-key: secret'",
      })
    }
    headers.set(name, line.slice(colon + 1).trim())
  }
  return Object.fromEntries(headers)
}

function numberOrText(value: unknown): unknown {
  return typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value
}
