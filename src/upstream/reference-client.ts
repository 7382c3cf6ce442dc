/**
 * Requests upstream's reference data of stock exchanges (upstream specification §4.3). The data is public: no API key is
 * sent and no quota unit is spent, but the rate limit of the requests with the key applies.
 */
import { EXCHANGES_PATH } from '../core/upstream-paths.ts'
import type { Throttle } from './client.ts'
import { type ExchangePage, type ExchangeReference, readExchange, readExchangePage } from './exchange.ts'
import type { Outcome } from './outcome.ts'
import type { Transport } from './transport.ts'

/** The client of the reference paths. */
export interface ReferenceClient {
  /**
   * One page of the list, the first one without `pageCursor`. `pageSize` 1 to 200. A failure of upstream is an outcome.
   * @throws what the permit throws; then the request has not left
   */
  exchanges(
    query: { pageSize: number; pageCursor?: string },
    permit: Throttle,
    signal: AbortSignal,
  ): Promise<Outcome<ExchangePage>>
  /** The exchange with that operating MIC. Same throws. */
  exchange(mic: string, permit: Throttle, signal: AbortSignal): Promise<Outcome<ExchangeReference>>
}

/** A client over that transport; the caller closes the transport. */
export function createReferenceClient(transport: Transport): ReferenceClient {
  const send = async <T>(
    path: string,
    permit: Throttle,
    signal: AbortSignal,
    readBody: (body: string) => { ok: true; value: T } | { ok: false; reason: string },
  ): Promise<Outcome<T>> => {
    await permit.throttle(signal)
    const outcome = await transport.get(path, signal, { keyless: true })
    if (outcome.kind !== 'ok') return outcome
    const { startedMs, endedMs, serverMs, sent } = outcome
    const read = readBody(outcome.value)
    return read.ok
      ? { ...outcome, value: read.value }
      : { startedMs, endedMs, serverMs, sent, kind: 'invalid', reason: read.reason }
  }
  return {
    exchanges({ pageSize, pageCursor }, permit, signal) {
      const parameters = new URLSearchParams({ pageSize: String(pageSize) })
      if (pageCursor !== undefined) parameters.set('pageCursor', pageCursor)
      return send(`${EXCHANGES_PATH}?${parameters}`, permit, signal, readExchangePage)
    },
    exchange: (mic, permit, signal) =>
      send(`${EXCHANGES_PATH}/${encodeURIComponent(mic)}`, permit, signal, (body) => readExchange(body, mic)),
  }
}
