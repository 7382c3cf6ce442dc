/**
 * Defines the store from which the mirror (paths that answer as the upstream API does) reads announcements. Two stores
 * implement it, each with its own order and cursors: the sandbox's invented market, and the bridge's archive of the
 * events on disk.
 */
import type { Selection } from '../../core/filter/selection.ts'

/** One stored item: its JSON text, unchanged, and its cursor in the store's order. */
export interface StoredItem {
  cursor: string
  raw: string
}

/** The newest matching items, newest first; `more` is true if the limit cut off further ones. */
export interface NewestPage {
  items: StoredItem[]
  more: boolean
}

type Awaitable<T> = T | Promise<T>

/**
 * Reads items for the mirror, newest first, synchronously or not. A cursor of another store is a BridgeError
 * `cursor_invalid`. When `gone` aborts, the client has disconnected and a slow store may return a partial result. `caller`: the id of its token, where a
 * store shares its time among callers.
 */
export interface ItemStore {
  /** At most `limit` items from a scan position: `next` of the previous page, null = from the newest and after the last. */
  pageBefore(
    selection: Selection,
    position: string | null,
    limit: number,
    gone: AbortSignal,
    caller?: string,
  ): Awaitable<{ items: StoredItem[]; next: string | null }>
  /** The newest `limit` of the items strictly after the cursor. */
  newestSince(
    selection: Selection,
    cursor: string,
    limit: number,
    gone: AbortSignal,
    caller?: string,
  ): Awaitable<NewestPage>
  /** At most `limit` items after skipping the `offset` newest, and the total of matching items. */
  pageAt(
    selection: Selection,
    offset: number,
    limit: number,
    gone: AbortSignal,
    caller?: string,
  ): Awaitable<{ items: StoredItem[]; total: number }>
  /** JSON text of the latest revision with that guid, or null. */
  byGuid(guid: string): Awaitable<string | null>
  /** JSON text of the item whose latest revision has that `yyyy-mm-dd.<rnsId>`, or null. */
  byRnsDateId(rnsDateId: string): Awaitable<string | null>
}
