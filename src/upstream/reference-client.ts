/**
 * Requests upstream's reference data of stock exchanges (upstream specification §4.3). The data is public: no API key is
 * sent and no quota unit is spent, but the rate limit of the requests with the key applies.
 */
import { EXCHANGES_PATH } from '../core/upstream-paths.ts'
import { parsed, type Throttle } from './client.ts'
import { type ExchangePage, readExchange, readExchangePage } from './exchange.ts'
import type { Outcome } from './outcome.ts'
import type { Transport } from './transport.ts'

/** One page of the list of exchanges, by cursor (the first one without) or by number. */
export interface ExchangeListQuery {
  /** 1 to 200. */
  pageSize: number
  pageCursor?: string
  /** From 1; excludes `pageCursor`. */
  pageNumber?: number
}

/** The client of the reference paths. */
export type ReferenceClient = ReturnType<typeof createReferenceClient>

/** A client over that transport; the caller closes the transport. */
export function createReferenceClient(transport: Transport) {
  const send = async (path: string, permit: Throttle, signal: AbortSignal): Promise<Outcome<string>> => {
    await permit.throttle(signal)
    return transport.get(path, signal, { keyless: true })
  }
  return {
    /**
     * One page of the list. A failure of upstream is an outcome.
     * @throws what the permit throws; then the request has not left
     */
    async exchanges(
      { pageSize, pageCursor, pageNumber }: ExchangeListQuery,
      permit: Throttle,
      signal: AbortSignal,
    ): Promise<Outcome<ExchangePage>> {
      const parameters = new URLSearchParams({
        pageSize: pageSize.toString(),
        ...(pageCursor !== undefined && { pageCursor }),
        ...(pageNumber !== undefined && { pageNumber: pageNumber.toString() }),
      })
      return parsed(await send(`${EXCHANGES_PATH}?${parameters}`, permit, signal), readExchangePage)
    },
    /** The exchange with that operating MIC. Same throws. */
    async exchange(mic: string, permit: Throttle, signal: AbortSignal) {
      const path = `${EXCHANGES_PATH}/${encodeURIComponent(mic)}`
      return parsed(await send(path, permit, signal), (body) => readExchange(body, mic))
    },
  }
}
