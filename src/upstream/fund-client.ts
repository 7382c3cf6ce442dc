/**
 * The typed client of upstream's fund and investor-relations paths (specification §4.4). Owns their paths and parameters.
 * Refuses to decode: upstream does not publish these shapes, so an answer stays text and is only known to have `data`.
 */
import { isoSeconds } from '../core/dates.ts'
import { type CountedSend, countedSend, type Gate, withoutValue } from './client.ts'
import type { Outcome, Timing } from './outcome.ts'
import type { Transport } from './transport.ts'

/** The latest NAVs, page by page, or those after a cursor. */
export interface NavsRequest {
  /** Without it every instrument. */
  isins?: readonly string[]
  pageSize?: number
  /** From 1. */
  pageNumber?: number
  /** Excludes `pageNumber`. */
  sinceCursor?: string
}

/** One page of a history, newest first. */
export interface HistoryRequest {
  /** Inclusive bounds, ms since 1970, widened to whole seconds. */
  fromMs?: number
  toMs?: number
  pageSize?: number
  /** From 1. */
  pageNumber?: number
}

/** Upstream has nothing of that sort under that identifier, which is an answer and no mistake. */
export type NotFound = Timing & { kind: 'not_found'; message: string }

/**
 * `ok`: the JSON text of a 200 whose top level is an object with an object or a list in `data`. A key whose plan has no
 * funds is `unauthorised` with status 403.
 */
export type FundOutcome = Outcome<string> | NotFound

/** What travels with every request. */
export interface FundCall {
  gate: Gate
  signal: AbortSignal
}

/**
 * One method a path. `identifier`: an ISIN, a symbol, or `<MIC>:<symbol>`.
 * Every method costs one unit of purpose `gateway` and throws what the gate throws; the request has not left then.
 */
export interface FundClient {
  navs(request: NavsRequest, call: FundCall): Promise<FundOutcome>
  nav(identifier: string, call: FundCall): Promise<FundOutcome>
  navHistory(identifier: string, request: HistoryRequest, call: FundCall): Promise<FundOutcome>
  buybacks(identifier: string, call: FundCall): Promise<FundOutcome>
  buybackHistory(identifier: string, request: HistoryRequest, call: FundCall): Promise<FundOutcome>
  dividends(identifier: string, call: FundCall): Promise<FundOutcome>
  dividendHistory(identifier: string, request: HistoryRequest, call: FundCall): Promise<FundOutcome>
  events(identifier: string, call: FundCall): Promise<FundOutcome>
  performance(identifier: string, call: FundCall): Promise<FundOutcome>
}

type Resource = 'nav' | 'buybacks' | 'dividends' | 'events' | 'performance'

/** A client over that transport, which its maker closes. `now` is our clock, ms since 1970. */
export function createFundClient(transport: Transport, now: () => number): FundClient {
  const send = countedSend(transport, now)
  const single =
    (resource: Resource): FundClient['nav'] =>
    (identifier, call) =>
      ask(send, `/${resource}/${encodeURIComponent(identifier)}`, call)
  const history =
    (resource: Resource): FundClient['navHistory'] =>
    (identifier, request, call) => {
      const path = `/${resource}/${encodeURIComponent(identifier)}/history`
      return ask(send, withParameters(path, historyParameters(request)), call)
    }
  return {
    navs: (request, call) => ask(send, withParameters('/nav', navsParameters(request)), call),
    nav: single('nav'),
    navHistory: history('nav'),
    buybacks: single('buybacks'),
    buybackHistory: history('buybacks'),
    dividends: single('dividends'),
    dividendHistory: history('dividends'),
    events: single('events'),
    performance: single('performance'),
  }
}

async function ask(send: CountedSend, path: string, { gate, signal }: FundCall): Promise<FundOutcome> {
  const outcome = await send(path, 'gateway', gate, signal)
  if (outcome.kind === 'refused' && outcome.status === 404) {
    return { ...withoutValue(outcome), kind: 'not_found', message: outcome.message }
  }
  if (outcome.kind !== 'ok' || hasData(outcome.value)) return outcome
  return { ...withoutValue(outcome), kind: 'invalid', reason: 'the answer is no JSON object with `data`' }
}

/** True for JSON whose top level is an object with an object or a list in `data`. */
function hasData(text: string): boolean {
  try {
    const answer: unknown = JSON.parse(text)
    const data = answer !== null && typeof answer === 'object' && 'data' in answer ? answer.data : null
    return data !== null && typeof data === 'object'
  } catch {
    return false
  }
}

function navsParameters({ isins, pageSize, pageNumber, sinceCursor }: NavsRequest) {
  return { isins: isins?.join(','), pageSize, pageNumber, sinceCursor }
}

function historyParameters({ fromMs, toMs, pageSize, pageNumber }: HistoryRequest) {
  return {
    dateFrom: fromMs === undefined ? undefined : isoSeconds(fromMs),
    dateTo: toMs === undefined ? undefined : isoSeconds(toMs + 999),
    pageSize,
    pageNumber,
  }
}

function withParameters(path: string, values: Record<string, string | number | undefined>): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) parameters.set(name, String(value))
  }
  return parameters.size === 0 ? path : `${path}?${parameters}`
}
