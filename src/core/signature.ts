/**
 * Signs webhooks by Standard Webhooks 1.0.0, scheme `v1` (HMAC-SHA256), and derives the id that all retries of a
 * delivery share.
 */
import { createHash, createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'

const SECRET_PREFIX = 'whsec_'
/** Bounds of a secret in Standard Webhooks, bytes. */
const SHORTEST_SECRET_BYTES = 24
const LONGEST_SECRET_BYTES = 64
/** Bytes of a secret that the bridge makes. */
const SECRET_BYTES = 32
/** Hex digits of the hash in a `webhook-id`: 128 bits. */
const ID_DIGITS = 32

/**
 * The `webhook-id` of an event for an endpoint: the same on every attempt and replay, and after a change of epoch for the
 * same content only, because a new epoch may give the event id to other content. `data`: the bytes of the event's `data`.
 * Hashed because Standard Webhooks allows no dot in it, and guids hold dots.
 */
export function webhookId(endpointId: string, eventId: string, data: Uint8Array): string {
  return batchWebhookId(endpointId, [{ eventId, data }])
}

/**
 * The `webhook-id` of a batch: the same for the same events in the same order, and for one event that of the event alone. No
 * event id and no `data` holds a newline, so different batches never hash the same bytes.
 */
export function batchWebhookId(
  endpointId: string,
  events: readonly { eventId: string; data: Uint8Array }[],
): string {
  const hash = createHash('sha256').update(endpointId)
  for (const { eventId, data } of events) hash.update(`\n${eventId}\n`).update(data)
  return `msg_${hash.digest('hex').slice(0, ID_DIGITS)}`
}

/**
 * The text of a secret, as a receiver gets it: `whsec_` and base64.
 * @throws RangeError where there are fewer than 24 or more than 64 bytes
 */
export function secretText(bytes: Uint8Array): string {
  if (!fits(bytes)) throw new RangeError(`a secret has 24 to 64 bytes, not ${bytes.length}`)
  return `${SECRET_PREFIX}${Buffer.from(bytes).toString('base64')}`
}

/** The text of a new secret. */
export function newSecret(): string {
  return secretText(randomBytes(SECRET_BYTES))
}

/** The bytes of a secret's text; null where it has another form or length, or is not canonical base64. */
export function secretBytes(text: string): Uint8Array | null {
  if (!text.startsWith(SECRET_PREFIX)) return null
  const bytes = Buffer.from(text.slice(SECRET_PREFIX.length), 'base64')
  return fits(bytes) && secretText(bytes) === text ? bytes : null
}

/** The signing key of a secret's text, to be created once: it cuts a signature from 20 µs to 5 µs. Null as above. */
export function signingKey(text: string): KeyObject | null {
  const bytes = secretBytes(text)
  return bytes === null ? null : createSecretKey(bytes)
}

/** The parts of a webhook that are signed. */
export interface SignedMessage {
  /** The `webhook-id`; holds no dot. */
  id: string
  /** The `webhook-timestamp` of this attempt: whole seconds since 1970. */
  timestampSeconds: number
  /** The body as it is sent. */
  body: Uint8Array
}

/** The `webhook-signature`: one signature per key, separated by a space; two during a rotation. */
export function signatures(message: SignedMessage, keys: readonly KeyObject[]): string {
  return keys.map((key) => signature(message, key)).join(' ')
}

function signature({ id, timestampSeconds, body }: SignedMessage, key: KeyObject): string {
  const mac = createHmac('sha256', key).update(`${id}.${timestampSeconds}.`).update(body)
  return `v1,${mac.digest('base64')}`
}

function fits({ length }: Uint8Array): boolean {
  return length >= SHORTEST_SECRET_BYTES && length <= LONGEST_SECRET_BYTES
}
