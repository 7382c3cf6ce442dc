/** Collects fetched items until they are published, each revision once. */
import type { FetchedItem } from './state.ts'

/** Unpublished items, and the latest revision of each guid fetched so far, published since or not. */
export interface FetchedItems {
  fetched: FetchedItem[]
  latest: ReadonlyMap<string, FetchedItem>
}

/** Adds the fresh items: content that is already there is skipped, other content of a known guid is its next revision. */
export function addFetched({ fetched, latest }: FetchedItems, fresh: readonly FetchedItem[]): FetchedItems {
  const known = new Map(latest)
  const all = [...fetched]
  for (const item of fresh) {
    const before = known.get(item.disclosure.guid)
    if (before?.hash === item.hash) continue
    const next = before === undefined ? item : { ...item, revision: before.revision + 1 }
    known.set(item.disclosure.guid, next)
    all.push(next)
  }
  return { fetched: all, latest: known }
}

/** The latest revision of each guid among these items. */
export function latestOf(items: readonly FetchedItem[]): ReadonlyMap<string, FetchedItem> {
  return new Map(items.map((item) => [item.disclosure.guid, item]))
}
