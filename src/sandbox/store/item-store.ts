/**
 * Stores the currently listed items, ordered by (timestamp, guid), and answers filtered page queries. An item that
 * arrives late with an older timestamp sorts before cursors already issued, as the live service seems to do.
 */
import { crc32 } from 'node:zlib'
import type { ItemStore, NewestPage, StoredItem } from '../../api/mirror/item-store.ts'
import {
  type Company,
  companyKey,
  type Facts,
  type InstrumentField,
  spelling,
} from '../../core/filter/facts.ts'
import { type ListingTag, tagsOf } from '../../core/filter/listing.ts'
import { channels, EVERYTHING, isInRange, type Selection, selects } from '../../core/filter/selection.ts'
import { BridgeError } from '../../errors.ts'
import { comparePlaces, type ListPlace, placeCursor, readPlaceCursor } from './place-cursor.ts'

/** One listed item: its position, its text, and the fields that filters use. */
export interface ListedItem extends ListPlace {
  /** The guid, or a substitute if the item has none. */
  key: string
  /** null for an unreadable item. */
  guid: string | null
  /** `yyyy-mm-dd.<rnsId>`, or null. */
  rnsDateId: string | null
  raw: string
  facts: Facts
  /** When it became visible, market time, ms since 1970. */
  visibleMs: number
}

/** The item store with the market's write operations and lookups. */
export class MarketItems implements ItemStore {
  /** Ascending. */
  readonly #items: ListedItem[] = []
  readonly #byGuid = new Map<string, ListedItem>()
  readonly #byDateId = new Map<string, ListedItem>()
  /** Issuers that have ever published under `isin:<isin>` or `symbol:<symbol>`; grows with companies, not items. */
  readonly #issuersOf = new Map<string, Set<string>>()
  /** The tags that have ever come in one item with a tag. */
  readonly #linked = new Map<ListingTag, Set<ListingTag>>()

  /** Inserts an item; replaces an earlier revision with the same guid. */
  put(item: ListedItem): void {
    if (item.guid !== null) {
      this.remove(item.guid)
      this.#byGuid.set(item.guid, item)
    }
    if (item.rnsDateId !== null) this.#byDateId.set(item.rnsDateId, item)
    this.#items.splice(this.#indexOf(item), 0, item)
    this.#learn('isin', item.facts.issuer)
    this.#learn('symbol', item.facts.issuer)
    const tags = tagsOf(item.facts.issuer)
    for (const tag of tags) this.#linked.set(tag, new Set([...(this.#linked.get(tag) ?? []), ...tags]))
  }

  /** Removes an item from the list. */
  remove(guid: string): void {
    const item = this.#byGuid.get(guid)
    if (item === undefined) return
    this.#items.splice(this.#indexOf(item), 1)
    this.#byGuid.delete(guid)
    if (item.rnsDateId !== null && this.#byDateId.get(item.rnsDateId) === item) {
      this.#byDateId.delete(item.rnsDateId)
    }
  }

  /** The last item in the order. */
  newest(): ListedItem | undefined {
    return this.#items.at(-1)
  }

  /** The listed item with that `yyyy-mm-dd.<rnsId>`. */
  findByDateId(rnsDateId: string): ListedItem | undefined {
    return this.#byDateId.get(rnsDateId)
  }

  pageBefore(selection: Selection, position: string | null, limit: number) {
    const end = position === null ? this.#items.length : this.#indexOf(placeOf(position))
    const { items, more } = this.#newestFirst(selection, { start: 0, end }, limit)
    return { items, next: more ? (items.at(-1)?.cursor ?? null) : null }
  }

  newestSince(selection: Selection, cursor: string, limit: number): NewestPage {
    const start = this.#indexOf(placeOf(cursor), 'after')
    return this.#newestFirst(selection, { start, end: this.#items.length }, limit)
  }

  pageAt(selection: Selection, offset: number, limit: number) {
    const matching = this.#items.filter(this.#test(selection)).reverse()
    return { items: matching.slice(offset, offset + limit).map(stored), total: matching.length }
  }

  byGuid(guid: string): string | null {
    return this.#byGuid.get(guid)?.raw ?? null
  }

  byRnsDateId(rnsDateId: string): string | null {
    return this.findByDateId(rnsDateId)?.raw ?? null
  }

  #learn(field: InstrumentField, issuer: Company): void {
    const identifier = spelling(issuer, field)
    const key = companyKey(issuer)
    if (identifier === undefined || key === null) return
    const name = `${field}:${identifier}`
    this.#issuersOf.set(name, (this.#issuersOf.get(name) ?? new Set()).add(key))
  }

  #test(selection: Selection): (item: ListedItem) => boolean {
    const { channel } = selection
    const isSelected = selects(selection, {
      publishersUnder: (field, id) => this.#issuersOf.get(`${field}:${id}`) ?? [],
      linkedTags: (tag) => this.#linked.get(tag) ?? [],
    })
    return (item) =>
      isInRange(selection, item.timeMs) &&
      (channel === null || (item.guid !== null && channelsOf(item.guid).includes(channel))) &&
      (isSelected === null || isSelected(item.facts))
  }

  #newestFirst(selection: Selection, range: { start: number; end: number }, limit: number): NewestPage {
    const wants = this.#test(selection)
    const items: StoredItem[] = []
    for (let index = range.end - 1; index >= range.start; index--) {
      const item = this.#items[index]
      if (item === undefined || !wants(item)) continue
      if (items.length === limit) return { items, more: true }
      items.push(stored(item))
    }
    return { items, more: false }
  }

  /** Index of the first item at or after the place, or strictly after it (binary search). */
  #indexOf(place: ListPlace, side: 'at' | 'after' = 'at'): number {
    const least = side === 'at' ? 0 : 1
    let low = 0
    let high = this.#items.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const item = this.#items[middle]
      if (item !== undefined && comparePlaces(item, place) >= least) high = middle
      else low = middle + 1
    }
    return low
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

/** Channels on which an item is distributed. Derived from the guid; upstream documents no rule. */
function channelsOf(guid: string): string[] {
  return channels.filter((_, index) => (crc32(guid) >>> index) % 2 === 1)
}

function placeOf(cursor: string): ListPlace {
  const place = readPlaceCursor(cursor)
  if (place === null) throw new BridgeError('cursor_invalid', 'this is not a cursor of the sandbox')
  return place
}

function stored(item: ListedItem): StoredItem {
  return { cursor: placeCursor(item), raw: item.raw }
}
