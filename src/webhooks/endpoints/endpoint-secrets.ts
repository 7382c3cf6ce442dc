/**
 * Rotates the signing secrets of an endpoint, and selects those that sign deliveries at present.
 */
import { DAY_MS } from '../../core/durations.ts'
import { isBridgeError } from '../../errors.ts'
import type { EndpointSecret } from '../../registry/endpoint-rows.ts'
import type { SecretBox } from './secrets.ts'

/** How long a secret still signs beside the one that took its place. */
export const OLD_SECRET_MS = DAY_MS
/** Most secrets of an endpoint; of more rotations inside a day the oldest stops early. */
export const MOST_SECRETS = 4

/** The secrets after a rotation to this wrapped one: what signed before goes on for a day. */
export function rotated(
  secrets: readonly EndpointSecret[],
  wrapped: string,
  nowMs: number,
): EndpointSecret[] {
  const before = valid(secrets, nowMs).map((secret) => ({
    ...secret,
    untilMs: secret.untilMs ?? nowMs + OLD_SECRET_MS,
  }))
  return [{ wrapped, untilMs: null }, ...before].slice(0, MOST_SECRETS)
}

/**
 * The texts of the secrets that sign now, the newest first. One before the newest that no key opens is left out, so that an
 * endpoint whose secret was lost delivers again as soon as it has been rotated.
 * @throws BridgeError `secret_unreadable` where the newest cannot be opened
 */
export function signingSecrets(
  { id, secrets }: { id: string; secrets: readonly EndpointSecret[] },
  box: SecretBox,
  nowMs: number,
): string[] {
  return valid(secrets, nowMs).flatMap(({ wrapped }, place) => {
    try {
      return box.unwrap(wrapped, id)
    } catch (error) {
      if (place === 0 || !isBridgeError(error, 'secret_unreadable')) throw error
      return []
    }
  })
}

/**
 * The secrets under the present key, without those that sign no more; null where all are under it already.
 * @throws BridgeError `secret_unreadable`
 */
export function rewrapped(
  { id, secrets }: { id: string; secrets: readonly EndpointSecret[] },
  box: SecretBox,
  nowMs: number,
): EndpointSecret[] | null {
  let isChanged = false
  const fresh = valid(secrets, nowMs).map((secret) => {
    const wrapped = box.rewrap(secret.wrapped, id)
    isChanged ||= wrapped !== null
    return { ...secret, wrapped: wrapped ?? secret.wrapped }
  })
  return isChanged ? fresh : null
}

function valid(secrets: readonly EndpointSecret[], nowMs: number): EndpointSecret[] {
  return secrets.filter(({ untilMs }) => untilMs === null || untilMs > nowMs)
}
