/**
 * Writes the query string of upstream's list of announcements: paging, time range and filters (upstream specification
 * §4.1.1).
 */
import { isoSeconds } from '../core/dates.ts'
import type { MatchMode } from '../core/filter/filter.ts'
import type { DistributionChannel } from '../core/filter/selection.ts'

/** Filters of the list; each needs a plan that has it (specification §8). Lists are not empty. */
export interface UpstreamFilters {
  isins?: readonly string[]
  symbols?: readonly string[]
  /** How `isins` and `symbols` are compared. */
  match?: MatchMode
  fcaCategories?: readonly string[]
  nativeCategories?: readonly string[]
  /** Part of the headline. */
  q?: string
  hasSymbol?: boolean
  channel?: DistributionChannel
}

/**
 * One request of the list. At most one of the three members of paging: a poll has `sinceCursor`, a page of a scan
 * `pageCursor` (the first one none), and a page by its number `pageNumber`.
 */
export interface UpstreamListQuery extends UpstreamFilters {
  pageSize: number
  sinceCursor?: string
  pageCursor?: string
  /** From 1. */
  pageNumber?: number
  /** Inclusive bounds, ms since 1970, widened to whole seconds. */
  fromMs?: number
  toMs?: number
}

/** The parameters of a query. `nativeWord` is what the live service has in the place of `native` in names. */
export function writeListQuery(query: UpstreamListQuery, nativeWord: string): URLSearchParams {
  const { fromMs, toMs } = query
  const named: Record<string, string | number | boolean | readonly string[] | undefined> = {
    pageSize: query.pageSize,
    sinceCursor: query.sinceCursor,
    pageCursor: query.pageCursor,
    pageNumber: query.pageNumber,
    dateFrom: fromMs === undefined ? undefined : isoSeconds(fromMs),
    dateTo: toMs === undefined ? undefined : isoSeconds(toMs + 999),
    isins: query.isins,
    symbols: query.symbols,
    match: query.match,
    fcaCategories: query.fcaCategories,
    [`${nativeWord}Categories`]: query.nativeCategories,
    q: query.q,
    hasSymbol: query.hasSymbol,
    channel: query.channel,
  }
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(named)) {
    if (value !== undefined) parameters.set(name, value.toString())
  }
  return parameters
}
