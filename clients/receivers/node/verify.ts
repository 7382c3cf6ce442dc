/**
 * Is this webhook from the bridge? Standard Webhooks, scheme v1, with nothing but Node. Call it with the body as it came,
 * before anything parses it.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** Clocks may differ by this much, and a request may not be older. */
const TOLERANCE_SECONDS = 300
/** A shorter secret is none, e.g. a setting that is empty. */
const SHORTEST_SECRET_BYTES = 24

/** The three headers, '' where one is missing. */
export interface WebhookHeaders {
  id: string
  timestamp: string
  signature: string
}

/** `secret` is the text that the bridge gave: `whsec_…`. Throws where it is no secret. */
export function isGenuine(
  secret: string,
  { id, timestamp, signature }: WebhookHeaders,
  body: Uint8Array,
  nowSeconds = Date.now() / 1000,
): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  if (key.length < SHORTEST_SECRET_BYTES) throw new Error('the webhook secret is missing or cut')
  if (id === '' || !/^[0-9]{1,12}$/.test(timestamp)) return false
  if (Math.abs(nowSeconds - Number(timestamp)) > TOLERANCE_SECONDS) return false
  const mac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body)
  const expected = Buffer.from(`v1,${mac.digest('base64')}`)
  // One for each secret: two while a secret is being replaced.
  return signature.split(' ').some((given) => {
    const bytes = Buffer.from(given)
    return bytes.length === expected.length && timingSafeEqual(bytes, expected)
  })
}
