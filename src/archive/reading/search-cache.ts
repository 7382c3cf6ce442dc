/**
 * Caches the compiled searches of recently used filters, so that a consumer's next read continues its index scan. The cache
 * is limited by filters (a search holds two kilobytes), by identifiers (one filter may name ten thousand) and by candidates
 * (the filter of a single request leaves up to eight thousand).
 */
import type { Filter, PlainFilter } from '../../core/filter/filter.ts'
import { type Search, searchFor } from './query.ts'
import { KeptBatches } from './scan-cursor.ts'

const MAX_SEARCHES = 1000
const MAX_IDENTIFIERS = 100_000

/** Searches by filter object, the least recently used first. */
export class SearchCache {
  readonly #searches = new Map<Filter, Search>()
  readonly #kept: KeptBatches
  #identifiers = 0

  constructor(kept = new KeptBatches()) {
    this.#kept = kept
  }

  /** The search for that filter object; null = every event. */
  for(filter: Filter | null): Search {
    if (filter === null) return searchFor(null)
    const search = this.#searches.get(filter) ?? this.#begin(filter)
    this.#forget(filter)
    this.#searches.set(filter, search)
    this.#identifiers += identifiersIn(filter)
    for (const oldest of this.#searches.keys()) {
      if (this.#searches.size <= MAX_SEARCHES && this.#identifiers <= MAX_IDENTIFIERS) break
      const cursor = this.#searches.get(oldest)?.scanCursor
      if (cursor) this.#kept.end(cursor)
      this.#forget(oldest)
    }
    return search
  }

  #begin(filter: Filter): Search {
    const search = searchFor(filter)
    if (search.scanCursor !== null) search.scanCursor.kept = this.#kept
    return search
  }

  #forget(filter: Filter): void {
    if (this.#searches.delete(filter)) this.#identifiers -= identifiersIn(filter)
  }
}

/** How many identifiers a filter names. */
function identifiersIn({ exclude, filters = [], ...own }: Filter): number {
  const plain = [own, ...filters, ...(exclude === undefined ? [] : [exclude])]
  const count = ({ isins = [], symbols = [], leis = [] }: PlainFilter): number =>
    isins.length + symbols.length + leis.length
  return plain.reduce((sum, one) => sum + count(one), 0)
}
