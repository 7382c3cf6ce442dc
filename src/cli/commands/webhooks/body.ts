/**
 * Builds the bodies that create and change an endpoint from command-line flags. The values are checked by the bridge that
 * receives them, so text in place of a number is sent unchanged.
 */
import { BridgeError, textOf } from '../../../errors.ts'
import { FILTER_HELP, filterFlags, filterOf } from '../../client/filter-flags.ts'

/** What can be set at any time. */
export const changeFlags = {
  ...filterFlags,
  description: { type: 'string' },
  header: { type: 'string', multiple: true },
  'max-concurrency': { type: 'string' },
  'rate-limit': { type: 'string' },
  order: { type: 'string' },
  'max-batch': { type: 'string' },
} as const

/** What can be set when an endpoint is created. */
export const endpointFlags = { ...changeFlags, since: { type: 'string' } } as const

/** The lines of help about `changeFlags`. */
export const CHANGE_HELP = `Which events; fields and values as in docs/use/filters.md, lists separated by commas or repeated:
${FILTER_HELP}
How:
  --description TEXT    what it is for
  --header 'NAME: TEXT' extra header of every delivery; may be repeated
  --max-concurrency N   most deliveries at once, 1 to 64
  --rate-limit N        most deliveries per second
  --order issuer        delivers the events of one issuer in order
  --max-batch N         sends up to N events in one request, 2 to 100`

/** How flags of `bridge webhooks update` take back what was set. */
const NOTHING = 'none'

/**
 * The body of a change without its URL: as `endpointBody`, and `none` takes a description, headers, a rate limit or batches back.
 * @throws BridgeError `usage` as `endpointBody`
 */
export function patchBody(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { description, header, 'rate-limit': rate, 'max-batch': batch } = values
  const [line, ...more] = Array.isArray(header) ? header : []
  const dropsHeaders = line === NOTHING && more.length === 0
  return {
    ...endpointBody(dropsHeaders ? { ...values, header: undefined } : values),
    ...(description === NOTHING && { description: null }),
    ...(dropsHeaders && { headers: {} }),
    ...(rate === NOTHING && { rateLimit: null }),
    ...(batch === NOTHING && { maxBatch: null }),
  }
}

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
    maxBatch: numberOrText(values['max-batch']),
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
