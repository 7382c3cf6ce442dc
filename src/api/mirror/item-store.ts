/**
 * Defines the store of announcements behind the mirror: the sandbox's market or the bridge's archive, each with its
 * own order and cursors.
 */

import type { Selection } from '../../core/filter/selection.ts'

/** One item as it leaves: its JSON text untouched, and its place in the store's order. */
export interface StoredItem {
  cursor: string
  raw: string
}

/** One page of a walk, newest first. */
export interface WalkPage {
  items: StoredItem[]
  /** Where the walk goes on; null where nothing that matches was left out. */
  next: string | null
}

/** The newest of what was asked, newest first; `more` says that matching items were left out by the limit. */
export interface NewestPage {
  items: StoredItem[]
  more: boolean
}

/** A page of a numbered list, newest first, and how many items match in all. */
export interface NumberedPage {
  items: StoredItem[]
  total: number
}

/**
 * Any method may answer at once or later. A cursor that is not the store's own: BridgeError `cursor_invalid`. A store that
 * takes its time may give up with whatever it has when `gone` aborts: nobody reads the answer.
 */
export interface ItemStore {
  /** At most `limit` items from where a walk stands (`next` of the page before; null = from the newest). */
  pageBefore(
    selection: Selection,
    walk: string | null,
    limit: number,
    gone: AbortSignal,
  ): WalkPage | Promise<WalkPage>
  /** The newest `limit` of the items strictly after the cursor. */
  newestSince(
    selection: Selection,
    cursor: string,
    limit: number,
    gone: AbortSignal,
  ): NewestPage | Promise<NewestPage>
  /** `limit` items after leaving out the `offset` newest. */
  pageAt(
    selection: Selection,
    offset: number,
    limit: number,
    gone: AbortSignal,
  ): NumberedPage | Promise<NumberedPage>
  /** JSON text of the latest revision with that guid, or null. */
  byGuid(guid: string): string | null | Promise<string | null>
  /** JSON text of the latest revision of `yyyy-mm-dd.<rnsId>`, or null. */
  byRnsDateId(rnsDateId: string): string | null | Promise<string | null>
}
