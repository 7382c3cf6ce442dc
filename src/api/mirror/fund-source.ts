/**
 * The port between the fund paths of the upstream API (specification §4.4) and whatever answers them: the sandbox's
 * funds, or a bridge that passes them through. Owns the words of that contract. Refuses the shapes of the data: upstream
 * does not publish them.
 */
import type { MirrorAnswer } from './answer.ts'
import type { InstrumentIdentifier } from './instrument-identifier.ts'

/** Resources of one instrument that are answered whole. */
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

/** What one instrument has at present. */
export interface SingleQuery {
  kind: 'single'
  resource: FundSingle
  instrument: InstrumentIdentifier
}

/** What one instrument has had. Bounds are ms since 1970, included; null = none. */
export interface HistoryQuery {
  kind: 'history'
  resource: FundHistory
  instrument: InstrumentIdentifier
  fromMs: number | null
  toMs: number | null
  pageSize: number
  pageNumber: number
}

/** A request of one of the nine paths, read and checked. */
export type FundQuery = NavsQuery | SingleQuery | HistoryQuery

export interface FundSource {
  /** As those of a route. */
  readonly refusals?: Readonly<Record<number, string>>
  /** `target` is the path below the base address with its query, as they were sent. */
  answer(query: FundQuery, target: string): MirrorAnswer | Promise<MirrorAnswer>
}
