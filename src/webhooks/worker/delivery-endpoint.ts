/**
 * Prepares a registered endpoint for delivery: decrypts its headers and secrets, and lets each secret sign only until it
 * expires. An endpoint for which one of them cannot be read counts as paused and keeps its position.
 */
import { signingKey } from '../../core/signature.ts'
import { BridgeError, isBridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Endpoint } from '../../registry/endpoints.ts'
import type { DeliveryEndpoint } from '../delivery-state/endpoint-state.ts'
import { signingSecrets } from '../endpoints/endpoint-secrets.ts'
import type { SecretBox } from '../endpoints/secrets.ts'
import { headersOf } from '../endpoints/stored-headers.ts'

/** A prepared endpoint; `fault`: why nothing can be sent to it, null where all is well. */
export interface Prepared {
  endpoint: DeliveryEndpoint
  fault: BridgeError | null
}

/** Prepares an endpoint with the keys of this bridge. */
export function prepareEndpoint(found: Endpoint, box: SecretBox, clock: Clock): Prepared {
  const { id, version, tenant, url, filter, maxConcurrency, rateLimit, order, start, status } = found
  const { maxBatch = null } = found
  const plain = { id, version, tenant, url, filter, maxConcurrency, rateLimit, order, maxBatch, start }
  /** The keys that sign at that moment, the newest first, and the next moment at which one of the secrets expires. */
  const open = (nowMs: number) => ({
    keys: signingSecrets(found, box, nowMs).map((text) => signingKey(text) ?? unusable(id)),
    endMs: Math.min(
      ...found.secrets.map(({ untilMs }) => (untilMs !== null && untilMs > nowMs ? untilMs : Infinity)),
    ),
  })
  try {
    let opened = open(clock.now())
    const endpoint = {
      ...plain,
      headers: headersOf(found, box),
      status,
      get keys() {
        if (clock.now() >= opened.endMs) opened = open(clock.now())
        return opened.keys
      },
    }
    return { endpoint, fault: null }
  } catch (error) {
    if (!isBridgeError(error, 'secret_unreadable')) throw error
    return { endpoint: { ...plain, headers: {}, status: 'paused', keys: [] }, fault: error }
  }
}

function unusable(id: string): never {
  throw new BridgeError(
    'secret_unreadable',
    `the stored secret of endpoint ${id} is not a valid signing secret`,
    {
      hint: 'Another program wrote to the tables of the log. Rotate the secret of the endpoint.',
    },
  )
}
