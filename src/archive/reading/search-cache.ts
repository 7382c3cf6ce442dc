/**
 * Caches the compiled searches of recently used filters, so that a consumer's next read continues its index scan. The cache
 * is limited by filters (a search holds two kilobytes) and by identifiers (one filter may name ten thousand).
 */
import type { Filter, PlainFilter } from '../../core/filter/filter.ts'
import { type Search, searchFor } from './query.ts'

const MAX_SEARCHES = 1000
const MAX_IDENTIFIERS = 100_000

/** Searches by filter object, the least recently used first. */
export class SearchCache {
  readonly #searches = new Map<Filter, Search>()
  #identifiers = 0

  /** The search for that filter object; null = every event. */
  for(filter: Filter | null): Search {
    if (filter === null) return searchFor(null)
    const search = this.#searches.get(filter) ?? searchFor(filter)
    this.#evict(filter)
    this.#searches.set(filter, search)
    this.#identifiers += identifiersIn(filter)
    for (const oldest of this.#searches.keys()) {
      if (this.#searches.size <= MAX_SEARCHES && this.#identifiers <= MAX_IDENTIFIERS) break
      this.#evict(oldest)
    }
    return search
  }

  #evict(filter: Filter): void {
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
