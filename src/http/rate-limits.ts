/**
 * Refuses requests of a token or an address that sends more than its rate, and tells each client in `RateLimit` headers
 * how much is left.
 */
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../lifecycle/clock.ts'
import type { HttpRefusalCause } from '../obs/metrics.ts'
import type { Caller } from './auth.ts'
import type { ClientAddress } from './bounds/remote-address.ts'
import { BURST_SECONDS, RequestRate } from './bounds/request-rate.ts'
import { HttpProblem } from './problem.ts'

/** What the limits are made of. */
export interface RateLimitOptions {
  /** Requests a second on average; null: no limit. */
  perToken: number | null
  perAddress: number | null
  addressOf: (request: IncomingMessage) => ClientAddress | null
  clock: Clock
  /** Called for every refused request. */
  onRefused: (cause: HttpRefusalCause) => void
}

/** The headers of an answer that its client can look at. Their names and forms: draft-ietf-httpapi-ratelimit-headers-06. */
export const RATE_HEADERS = [
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'RateLimit-Policy',
] as const

/** The headers of one answer; null where its client has no limit. */
export type RateHeaders = Readonly<Record<string, string>> | null

/** The limits of a node. */
export class RateLimits {
  readonly #options: RateLimitOptions
  readonly #tokens: RequestRate | null
  readonly #addresses: RequestRate | null

  constructor(options: RateLimitOptions) {
    this.#options = options
    this.#tokens = options.perToken === null ? null : new RequestRate(options.perToken)
    this.#addresses = options.perAddress === null ? null : new RequestRate(options.perAddress)
  }

  /** Counts a request of its address. @throws HttpProblem `rate_limited` */
  takeAddress(request: IncomingMessage): RateHeaders {
    const address = this.#addresses === null ? null : this.#options.addressOf(request)
    if (this.#addresses === null || address === null) return null
    return this.#take(this.#addresses, address.key, request, ['address_rate', 'your address'])
  }

  /** Counts a request of its token; that of the settings has no rate of its own. @throws HttpProblem `rate_limited` */
  takeToken(
    { tokenId, seesAllTenants }: Pick<Caller, 'tokenId' | 'seesAllTenants'>,
    request: IncomingMessage,
  ): RateHeaders {
    if (this.#tokens === null || seesAllTenants) return null
    return this.#take(this.#tokens, tokenId, request, ['token_rate', 'this token'])
  }

  #take(
    rate: RequestRate,
    key: string,
    { socket }: IncomingMessage,
    [cause, who]: readonly [HttpRefusalCause, string],
  ): RateHeaders {
    const { isWithin, remaining, fullInMs, nextInMs } = rate.take(key, this.#options.clock.now())
    const headers = {
      'RateLimit-Limit': `${rate.burst}`,
      'RateLimit-Remaining': `${remaining}`,
      'RateLimit-Reset': `${Math.ceil(fullInMs / 1000)}`,
      'RateLimit-Policy': `${rate.burst};w=${BURST_SECONDS}`,
    }
    if (isWithin) return headers
    this.#options.onRefused(cause)
    const detail = `${who} sends more than ${rate.burst / BURST_SECONDS} requests a second`
    // A connection that was refused from its first request on ends: of thousands, each would hold some kilobytes.
    const connection = socket.bytesWritten === 0 ? { Connection: 'close' } : {}
    throw rateLimited(detail, nextInMs, { ...headers, ...connection })
  }
}

/** The 429 for a request that would be taken `nextInMs` later. */
export function rateLimited(
  detail: string,
  nextInMs: number,
  headers: Readonly<Record<string, string>> = {},
): HttpProblem {
  const retryAfter = `${Math.max(1, Math.ceil(nextInMs / 1000))}`
  return new HttpProblem('rate_limited', detail, { headers: { ...headers, 'Retry-After': retryAfter } })
}
