/**
 * Prepares an endpoint of the registry for delivery: opens its secrets, so that each signs until its time and no longer. An
 * endpoint whose secret cannot be read counts as paused and keeps its position.
 */
import type { KeyObject } from 'node:crypto'
import { signingKey } from '../../core/signature.ts'
import { BridgeError, isBridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Endpoint } from '../../registry/endpoints.ts'
import type { DeliveryEndpoint } from '../delivery-state/endpoint-state.ts'
import { signingSecrets } from '../endpoints/endpoint-secrets.ts'
import type { SecretBox } from '../endpoints/secrets.ts'

/** A prepared endpoint; `fault`: why nothing can be sent to it, null where all is well. */
export interface Prepared {
  endpoint: DeliveryEndpoint
  fault: BridgeError | null
}

/** Prepares an endpoint with the keys of this bridge. */
export function prepareEndpoint(found: Endpoint, box: SecretBox, clock: Clock): Prepared {
  const { id, tenant, url, filter, headers, maxConcurrency, rateLimit, order, start } = found
  const { fault, keysAt } = openedSecrets(found, box, clock.now())
  return {
    fault,
    endpoint: {
      id,
      tenant,
      url,
      filter,
      headers,
      maxConcurrency,
      rateLimit,
      order,
      start,
      status: fault === null ? found.status : 'paused',
      get keys() {
        return keysAt(clock.now())
      },
    },
  }
}

interface OpenedSecrets {
  fault: BridgeError | null
  /** The keys that sign at that moment, the newest first. */
  keysAt(nowMs: number): readonly KeyObject[]
}

function openedSecrets(found: Endpoint, box: SecretBox, preparedMs: number): OpenedSecrets {
  /** The next moment at which one of the secrets expires. */
  const endAfter = (nowMs: number): number =>
    Math.min(
      ...found.secrets.map(({ untilMs }) => (untilMs !== null && untilMs > nowMs ? untilMs : Infinity)),
    )
  const open = (nowMs: number): KeyObject[] =>
    signingSecrets(found, box, nowMs).map((text) => signingKey(text) ?? unusable(found.id))
  try {
    let keys = open(preparedMs)
    let endMs = endAfter(preparedMs)
    return {
      fault: null,
      keysAt(nowMs) {
        if (nowMs >= endMs) {
          keys = open(nowMs)
          endMs = endAfter(nowMs)
        }
        return keys
      },
    }
  } catch (error) {
    if (!isBridgeError(error, 'secret_unreadable')) throw error
    return { fault: error, keysAt: () => [] }
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
