/**
 * Requests announcements from the upstream API: pages of the list, and single items. Before a request is sent, one unit of
 * the weekly quota is durably counted for it, then it waits for the rate limit.
 */
import type { Purpose } from '../core/purpose.ts'
import { ITEMS_PATH } from '../core/upstream-paths.ts'
import { type UpstreamListQuery, writeListQuery } from './list-parameters.ts'
import type { Outcome, Timing } from './outcome.ts'
import { type Page, type RawItem, readPage, readSingle } from './page.ts'
import type { Transport } from './transport.ts'

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

/** The client of announcements. */
export type UpstreamClient = ReturnType<typeof createUpstreamClient>

/** What a client is built from. */
export interface UpstreamClientOptions {
  transport: Transport
  /** Our clock, ms since 1970. */
  now: () => number
  /** What the live service has in the place of `native` in names of parameters. */
  nativeWord: string
}

/** A client over that transport. */
export function createUpstreamClient({ transport, now, nativeWord }: UpstreamClientOptions) {
  const send = countedSend(transport, now)
  return {
    /** One page of the list. A failure of upstream is an outcome. Throws what the permit throws. */
    async list(
      query: UpstreamListQuery,
      purpose: Purpose,
      permit: SendPermit,
      signal: AbortSignal,
    ): Promise<Outcome<Page>> {
      const path = `${ITEMS_PATH}?${writeListQuery(query, nativeWord)}`
      return parsed(await send(path, purpose, permit, signal), readPage)
    },
    /** One announcement, by guid or by `yyyy-mm-dd.<rnsId>`. What does not exist is `refused` with 404. As `list`. */
    async item(
      identifier: string,
      purpose: Purpose,
      permit: SendPermit,
      signal: AbortSignal,
    ): Promise<Outcome<RawItem>> {
      const path = `${ITEMS_PATH}/${encodeURIComponent(identifier)}`
      return parsed(await send(path, purpose, permit, signal), readSingle)
    },
    close: (): Promise<void> => transport.close(),
  }
}

/** The outcome with its body parsed; a body that cannot be parsed makes it `invalid`. */
export function parsed<T>(
  outcome: Outcome<string>,
  parse: (body: string) => { ok: true; value: T } | { ok: false; reason: string },
): Outcome<T> {
  if (outcome.kind !== 'ok') return outcome
  const read = parse(outcome.value)
  return read.ok
    ? { ...outcome, value: read.value }
    : { ...withoutValue(outcome), kind: 'invalid', reason: read.reason }
}

/** When and whether a request was sent, without its result. */
export function withoutValue({ startedMs, endedMs, serverMs, sent }: Timing): Timing {
  return { startedMs, endedMs, serverMs, sent }
}
