/**
 * Requests pages of disclosures (regulatory announcements) from the upstream API. Before a request is sent, one unit of the
 * weekly quota is durably counted for it, then it waits for the rate limit.
 */
import { isoSeconds } from '../core/dates.ts'
import type { Purpose } from '../core/purpose.ts'
import { ITEMS_PATH } from '../core/upstream-paths.ts'
import type { Outcome, Timing } from './outcome.ts'
import type { Page } from './page.ts'
import { readPage } from './page.ts'
import type { Transport } from './transport.ts'

/** One request of the list: a poll with `sinceCursor`, else a page of a scan, the first one without `pageCursor`. */
export interface UpstreamListQuery {
  pageSize: number
  sinceCursor?: string
  pageCursor?: string
  /** Inclusive bounds, ms since 1970, widened to whole seconds. */
  fromMs?: number
  toMs?: number
}

/** What every request waits for. A rejection stops the request. */
export interface Throttle {
  /** Resolves when the plan's throttle allows one request. Called last, so that a slow disk never causes a burst of requests. */
  throttle(signal: AbortSignal): Promise<void>
}

/** What every request with the API key waits for. A rejection stops the request. */
export interface SendPermit extends Throttle {
  /** Resolves when one unit is durably counted for this request at `atMs`. */
  spend(purpose: Purpose, atMs: number): Promise<void>
}

/**
 * Counts the unit, waits for the throttle, and sends a GET of a path below the base address. `now` is our clock, ms since
 * 1970. The result throws what the permit throws; then the request has not left.
 */
export function countedSend(transport: Transport, now: () => number) {
  return async (
    path: string,
    purpose: Purpose,
    permit: SendPermit,
    signal: AbortSignal,
  ): Promise<Outcome<string>> => {
    await permit.spend(purpose, now())
    await permit.throttle(signal)
    return transport.get(path, signal)
  }
}

/** The client of the list of disclosures. */
export type UpstreamClient = ReturnType<typeof createUpstreamClient>

/** A client over that transport. `now` is our clock, ms since 1970. */
export function createUpstreamClient(transport: Transport, now: () => number) {
  const send = countedSend(transport, now)
  return {
    /** One page of disclosures. A failure of upstream is an outcome. Throws what the permit throws. */
    async list(
      query: UpstreamListQuery,
      purpose: Purpose,
      permit: SendPermit,
      signal: AbortSignal,
    ): Promise<Outcome<Page>> {
      const outcome = await send(`${ITEMS_PATH}?${listParameters(query)}`, purpose, permit, signal)
      if (outcome.kind !== 'ok') return outcome
      const read = readPage(outcome.value)
      return read.ok
        ? { ...outcome, value: read.page }
        : { ...withoutValue(outcome), kind: 'invalid', reason: read.reason }
    },
    close: (): Promise<void> => transport.close(),
  }
}

/** When and whether a request was sent, without its result. */
export function withoutValue({ startedMs, endedMs, serverMs, sent }: Timing): Timing {
  return { startedMs, endedMs, serverMs, sent }
}

function listParameters(query: UpstreamListQuery): URLSearchParams {
  const parameters = new URLSearchParams({ pageSize: String(query.pageSize) })
  if (query.sinceCursor !== undefined) parameters.set('sinceCursor', query.sinceCursor)
  if (query.pageCursor !== undefined) parameters.set('pageCursor', query.pageCursor)
  if (query.fromMs !== undefined) parameters.set('dateFrom', isoSeconds(query.fromMs))
  if (query.toMs !== undefined) parameters.set('dateTo', isoSeconds(query.toMs + 999))
  return parameters
}
