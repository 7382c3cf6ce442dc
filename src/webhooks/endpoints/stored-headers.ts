/**
 * Encrypts an endpoint's custom headers for the log, as they often hold a receiver's API key, and reads them back. Rows of
 * older builds hold them in clear; `POST /v1/webhooks/rewrap` encrypts those.
 */
import { z } from 'zod'
import { BridgeError, isBridgeError } from '../../errors.ts'
import type { Endpoint, EndpointChange } from '../../registry/endpoints.ts'
import type { SecretBox } from './secrets.ts'

/** Header names with their values. */
export type Headers = Readonly<Record<string, string>>

/** The members of an endpoint that are read here. */
type HeaderOwner = Pick<Endpoint, 'id' | 'headers'>

const stored = z.record(z.string(), z.string())

/** The headers as a row holds them: encrypted, and bound to the endpoint. None stay in clear, for older builds. */
export function storedHeaders(headers: Headers, id: string, box: SecretBox): Endpoint['headers'] {
  return Object.keys(headers).length === 0 ? {} : box.wrap(JSON.stringify(headers), boundTo(id))
}

/**
 * The headers of an endpoint.
 * @throws BridgeError `secret_unreadable` where no key of this bridge decrypts them
 */
export function headersOf({ id, headers }: HeaderOwner, box: SecretBox): Headers {
  if (typeof headers !== 'string') return headers
  const read = stored.safeParse(JSON.parse(box.unwrap(headers, boundTo(id))))
  if (read.success) return read.data
  throw new BridgeError('secret_unreadable', `the stored headers of endpoint ${id} are none`, {
    hint: 'Another program wrote to the tables of the log. Set the headers of the endpoint again.',
  })
}

/** The headers of an endpoint; null where no key of this bridge decrypts them. */
export function readableHeaders(endpoint: HeaderOwner, box: SecretBox): Headers | null {
  try {
    return headersOf(endpoint, box)
  } catch (error) {
    if (!isBridgeError(error, 'secret_unreadable')) throw error
    return null
  }
}

/** The change with its headers as a row holds them. Headers that are stored already stay as they are. */
export function withStoredHeaders(
  { headers, ...change }: EndpointChange,
  now: HeaderOwner,
  box: SecretBox,
): EndpointChange {
  if (headers === undefined || typeof headers === 'string') return change
  const isStored =
    typeof now.headers === 'string' && JSON.stringify(readableHeaders(now, box)) === JSON.stringify(headers)
  return isStored ? change : { ...change, headers: storedHeaders(headers, now.id, box) }
}

/**
 * The headers under the present key; null where they are under it already, or where there are none.
 * @throws BridgeError `secret_unreadable`
 */
export function rewrappedHeaders({ id, headers }: HeaderOwner, box: SecretBox): Endpoint['headers'] | null {
  if (typeof headers === 'string') return box.rewrap(headers, boundTo(id))
  return Object.keys(headers).length === 0 ? null : storedHeaders(headers, id, box)
}

/** What the ciphertext is bound to: neither another endpoint's headers nor a secret fits in its place. */
function boundTo(id: string): string {
  return `${id}/headers`
}
