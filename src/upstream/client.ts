/**
 * Requests announcements from the upstream API: pages of the list, and single items. Before a request is sent, one unit of
 * the weekly quota is durably counted for it, then it waits for the rate limit.
 */
import type { Purpose } from '../core/purpose.ts'
import { ITEMS_PATH } from '../core/upstream-paths.ts'
import { inSlices } from '../lifecycle/slices.ts'
import { type UpstreamListQuery, writeListQuery } from './list-parameters.ts'
import type { Outcome, Timing } from './outcome.ts'
import { type Page, type RawItem, type Result, readPage, readSingle } from './page.ts'
import type { RequestOptions, Transport } from './transport.ts'

/** Largest list response that is read. A page of 200 items of 1.5 KB has 300 KB. */
const LARGEST_LIST_BYTES = 64 * 1024 * 1024

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
 * 1970; `options` are those of the transport. The result throws what the permit throws; then the request has not left.
 */
export function countedSend(transport: Transport, now: () => number, options: RequestOptions = {}) {
  return async (
    path: string,
    purpose: Purpose,
    permit: SendPermit,
    signal: AbortSignal,
  ): Promise<Outcome<string>> => {
    await permit.spend(purpose, now())
    await permit.throttle(signal)
    return transport.get(path, signal, options)
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
  const sendForList = countedSend(transport, now, { largestBytes: LARGEST_LIST_BYTES })
  return {
    /**
     * One page of the list, parsed in slices. It may have more items than were asked for; then it has a warning. A failure of
     * upstream is an outcome. Throws what the permit throws.
     */
    async list(
      query: UpstreamListQuery,
      purpose: Purpose,
      permit: SendPermit,
      signal: AbortSignal,
    ): Promise<Outcome<Page>> {
      const path = `${ITEMS_PATH}?${writeListQuery(query, nativeWord)}`
      const outcome = await sendForList(path, purpose, permit, signal)
      if (outcome.kind !== 'ok') return outcome
      const read = await inSlices(readPage(outcome.value), now)
      return withResult(outcome, read.ok ? { ok: true, value: withSizeWarning(read.value, query) } : read)
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
export function parsed<T>(outcome: Outcome<string>, parse: (body: string) => Result<T>): Outcome<T> {
  return outcome.kind === 'ok' ? withResult(outcome, parse(outcome.value)) : outcome
}

function withResult<T>(outcome: Timing & { kind: 'ok' }, read: Result<T>): Outcome<T> {
  return read.ok
    ? { ...outcome, value: read.value }
    : { ...withoutValue(outcome), kind: 'invalid', reason: read.reason }
}

/** Every item of a page that is larger than asked counts, because no other page may hold it. */
function withSizeWarning(page: Page, { pageSize }: UpstreamListQuery): Page {
  const { length } = page.items
  if (pageSize === undefined || length <= pageSize) return page
  const warning = `the page has ${length} items, but only ${pageSize} were asked for`
  return { ...page, warnings: [...page.warnings, warning] }
}

/** When and whether a request was sent, without its result. */
export function withoutValue({ startedMs, endedMs, serverMs, sent }: Timing): Timing {
  return { startedMs, endedMs, serverMs, sent }
}
