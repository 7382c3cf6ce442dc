/**
 * Defines the source behind the fund paths of the upstream API (specification §4.4): the sandbox's funds or the fund
 * gateway. Response bodies are untyped, because the upstream does not publish their schemas.
 */
import type { MirrorAnswer } from './answer.ts'
import type { InstrumentIdentifier } from './instrument-identifier.ts'

/** Resources of one instrument that have no pages. */
export const fundSingles = ['nav', 'buybacks', 'dividends', 'events', 'performance'] as const
export type FundSingle = (typeof fundSingles)[number]

/** Resources of one instrument that have a history, newest first. */
export const fundHistories = ['nav', 'buybacks', 'dividends'] as const
export type FundHistory = (typeof fundHistories)[number]

/** The latest NAVs, or those announced after a cursor. */
export interface NavsQuery {
  kind: 'navs'
  /** null = of every instrument. Never empty. */
  isins: readonly string[] | null
  pageSize: number
  paging: { mode: 'number'; pageNumber: number } | { mode: 'since'; sinceCursor: string }
  warnings: string[]
}

/** The present value of one resource of one instrument. */
export interface SingleQuery {
  kind: 'single'
  resource: FundSingle
  instrument: InstrumentIdentifier
}

/** The history of one resource of one instrument. Bounds are ms since 1970, inclusive; null = none. */
export interface HistoryQuery {
  kind: 'history'
  resource: FundHistory
  instrument: InstrumentIdentifier
  fromMs: number | null
  toMs: number | null
  pageSize: number
  pageNumber: number
}

/** A parsed and validated request to one of the nine paths. */
export type FundQuery = NavsQuery | SingleQuery | HistoryQuery

export interface FundSource {
  /** Statuses of refusals with their meanings, as in `MirrorRoute`. */
  readonly refusals?: Readonly<Record<number, string>>
  /** `target` is the path below the base address with its query, as sent. */
  answer(query: FundQuery, target: string): MirrorAnswer | Promise<MirrorAnswer>
}
