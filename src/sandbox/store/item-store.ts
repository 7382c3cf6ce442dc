/**
 * Stores the currently listed items, ordered by (timestamp, guid), and answers filtered page queries. An item that
 * arrives late with an older timestamp sorts before cursors already issued, as the live service seems to do.
 */
import type { ItemStore, NewestPage, StoredItem } from '../../api/mirror/item-store.ts'
import { type Company, companyKey, spelling } from '../../core/filter/facts.ts'
import { EVERYTHING, type InstrumentField, type Selection } from '../../core/filter/selection.ts'
import { type ShelfFacts, shelfTest } from './item-facts.ts'
import { comparePlaces, type ListPlace, placeCursor, readPlaceCursor } from './place-cursor.ts'

/** One listed item: its position, its text, and the fields that filters use. */
export interface Shelved extends ListPlace {
  /** The guid, or a substitute if the item has none. */
  key: string
  guid: string | null
  /** `yyyy-mm-dd.<rnsId>`, or null. */
  rnsDateId: string | null
  raw: string
  facts: ShelfFacts
}

/** The item store with the market's write operations and lookups. */
export interface Shelf extends ItemStore {
  /** Inserts an item; replaces an earlier revision with the same guid. */
  put(item: Shelved): void
  /** Removes an item from the list. */
  remove(guid: string): void
  /** The last item in the order, or null. */
  newest(): Shelved | null
  /** The listed item with that guid, or null. */
  find(guid: string): Shelved | null
  /** The listed item with that `yyyy-mm-dd.<rnsId>`, or null. */
  findByDateId(rnsDateId: string): Shelved | null
  readonly size: number
}

/** Creates an empty item store. */
export function createShelf(): Shelf {
  const rising: Shelved[] = []
  const byGuid = new Map<string, Shelved>()
  const byDateId = new Map<string, Shelved>()
  /** Issuers that have ever published under `isin:<isin>` or `symbol:<symbol>`; grows with companies, not items. */
  const issuersOf = new Map<string, Set<string>>()

  const remove = (guid: string): void => {
    const held = byGuid.get(guid)
    if (held === undefined) return
    rising.splice(firstNotBefore(rising, held), 1)
    byGuid.delete(guid)
    if (held.rnsDateId !== null && byDateId.get(held.rnsDateId) === held) byDateId.delete(held.rnsDateId)
  }
  const learn = (field: InstrumentField, issuer: Company): void => {
    const identifier = spelling(issuer, field)
    const key = companyKey(issuer)
    if (identifier === undefined || key === null) return
    const name = `${field}:${identifier}`
    issuersOf.set(name, (issuersOf.get(name) ?? new Set()).add(key))
  }
  const wanted = (selection: Selection): ((item: Shelved) => boolean) => {
    const test = shelfTest(selection, (field, identifier) => issuersOf.get(`${field}:${identifier}`) ?? [])
    return (item) => test(item.timeMs, item.facts)
  }

  return {
    put(item) {
      if (item.guid !== null) {
        remove(item.guid)
        byGuid.set(item.guid, item)
      }
      if (item.rnsDateId !== null) byDateId.set(item.rnsDateId, item)
      rising.splice(firstNotBefore(rising, item), 0, item)
      learn('isin', item.facts.facts.issuer)
      learn('symbol', item.facts.facts.issuer)
    },
    remove,
    newest: () => rising.at(-1) ?? null,
    find: (guid) => byGuid.get(guid) ?? null,
    findByDateId: (rnsDateId) => byDateId.get(rnsDateId) ?? null,
    get size() {
      return rising.length
    },
    pageBefore(selection, walk, limit) {
      const end = walk === null ? rising.length : firstNotBefore(rising, readPlaceCursor(walk))
      const { items, more } = newestFirst(rising, { start: 0, end }, wanted(selection), limit)
      return { items, next: more ? (items.at(-1)?.cursor ?? null) : null }
    },
    newestSince(selection, cursor, limit) {
      const start = firstAfter(rising, readPlaceCursor(cursor))
      return newestFirst(rising, { start, end: rising.length }, wanted(selection), limit)
    },
    pageAt(selection, offset, limit) {
      const matching = rising.filter(wanted(selection)).reverse()
      return { items: matching.slice(offset, offset + limit).map(stored), total: matching.length }
    },
    byGuid: (guid) => byGuid.get(guid)?.raw ?? null,
    byRnsDateId: (rnsDateId) => byDateId.get(rnsDateId)?.raw ?? null,
  }
}

/** Wraps a store so that it ignores every filter, as a service that answers 200 regardless. */
export function withoutFilters(store: ItemStore): ItemStore {
  return {
    pageBefore: (_selection, ...asked) => store.pageBefore(EVERYTHING, ...asked),
    newestSince: (_selection, ...asked) => store.newestSince(EVERYTHING, ...asked),
    pageAt: (_selection, ...asked) => store.pageAt(EVERYTHING, ...asked),
    byGuid: (guid) => store.byGuid(guid),
    byRnsDateId: (rnsDateId) => store.byRnsDateId(rnsDateId),
  }
}

function newestFirst(
  rising: readonly Shelved[],
  range: { start: number; end: number },
  wants: (item: Shelved) => boolean,
  limit: number,
): NewestPage {
  const items: StoredItem[] = []
  for (let index = range.end - 1; index >= range.start; index--) {
    const item = rising[index]
    if (item === undefined || !wants(item)) continue
    if (items.length === limit) return { items, more: true }
    items.push(stored(item))
  }
  return { items, more: false }
}

function stored(item: Shelved): StoredItem {
  return { cursor: placeCursor(item), raw: item.raw }
}

function firstNotBefore(rising: readonly Shelved[], place: ListPlace): number {
  return lowerBound(rising, (item) => comparePlaces(item, place) >= 0)
}

function firstAfter(rising: readonly Shelved[], place: ListPlace): number {
  return lowerBound(rising, (item) => comparePlaces(item, place) > 0)
}

/** Binary search for the first index at which `holds` is true; `holds` must be true for all later ones. */
function lowerBound(rising: readonly Shelved[], holds: (item: Shelved) => boolean): number {
  let low = 0
  let high = rising.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const item = rising[middle]
    if (item !== undefined && holds(item)) high = middle
    else low = middle + 1
  }
  return low
}
