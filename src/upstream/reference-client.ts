/**
 * The typed client of upstream's exchange references (specification §4.3). Owns their paths and parameters. They are open
 * to everybody, so the key stays here and no unit is spent; the throttle is waited for as before every request of this
 * process. Refuses to retry and to judge.
 */
import type { Throttle } from './client.ts'
import { type ExchangeDetail, type ExchangePage, readExchange, readExchangePage } from './exchange.ts'
import type { Outcome } from './outcome.ts'
import type { Transport } from './transport.ts'

export interface ReferenceClient {
  /**
   * One page of the list, the first without `pageCursor`. `pageSize` 1 to 200. Upstream's doings are outcomes.
   * @throws what the permit throws; the request has not left then
   */
  exchanges(
    query: { pageSize: number; pageCursor?: string },
    permit: Throttle,
    signal: AbortSignal,
  ): Promise<Outcome<ExchangePage>>
  /** The exchange with that operating MIC. Same throws. */
  exchange(mic: string, permit: Throttle, signal: AbortSignal): Promise<Outcome<ExchangeDetail>>
}

const EXCHANGES = '/references/exchanges'

/** A client over that transport, whose owner closes it. */
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
      return send(`${EXCHANGES}?${parameters}`, permit, signal, readExchangePage)
    },
    exchange: (mic, permit, signal) =>
      send(`${EXCHANGES}/${encodeURIComponent(mic)}`, permit, signal, (body) => readExchange(body, mic)),
  }
}
