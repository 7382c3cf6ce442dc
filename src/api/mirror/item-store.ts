/**
 * The port between the upstream API as a server and whatever holds the items: the sandbox's market, the bridge's
 * archive. Owns the words of that contract. Refuses to know an order: the store supplies it (the sandbox by time and
 * guid, the archive by sequence) together with cursor texts that nobody else reads.
 */

/** How an instrument or listing filter reaches items (specification §4.1.4). */
export const matches = ['issuer', 'related', 'exact'] as const
export type Match = (typeof matches)[number]

/** Distribution channels of specification §4.1.1. */
export const channels = ['app', 'bot', 'internal', 'social', 'widget'] as const
export type Channel = (typeof channels)[number]

/**
 * Which items are asked for: AND across members, OR inside a list; null = not asked.
 * Lists are never empty. Codes and identifiers are compared as they are.
 */
export interface Selection {
  /** First moment, ms since 1970, included. */
  fromMs: number | null
  /** Last moment, ms since 1970, included. */
  toMs: number | null
  isins: readonly string[] | null
  symbols: readonly string[] | null
  /** Holds for `isins` and `symbols`. `issuer` widens each to every item of that issuer: same LEI, else same name. */
  match: Match
  fcaCategories: readonly string[] | null
  nativeCategories: readonly string[] | null
  /** Substring of the headline, compared without case. */
  q: string | null
  /** Only items whose issuer has a listing symbol. */
  hasSymbol: boolean
  channel: Channel | null
}

/** One item as it leaves: its JSON text untouched, and its place in the store's order. */
export interface StoredItem {
  cursor: string
  raw: string
}

/** Newest first; `more` says that matching items were left out by the limit. */
export interface StoredPage {
  items: StoredItem[]
  more: boolean
}

/** Any method may answer at once or later. A cursor that is not the store's own: BridgeError `cursor_invalid`. */
export interface ItemStore {
  /** At most `limit` items strictly before the cursor (from the newest where it is null). */
  pageBefore(selection: Selection, cursor: string | null, limit: number): StoredPage | Promise<StoredPage>
  /** The newest `limit` of the items strictly after the cursor. */
  newestSince(selection: Selection, cursor: string, limit: number): StoredPage | Promise<StoredPage>
  /** `limit` items after leaving out the `offset` newest, and how many match in all. */
  pageAt(
    selection: Selection,
    offset: number,
    limit: number,
  ): { items: StoredItem[]; total: number } | Promise<{ items: StoredItem[]; total: number }>
  /** JSON text of the latest revision with that guid, or null. */
  byGuid(guid: string): string | null | Promise<string | null>
  /** JSON text of the latest revision of `yyyy-mm-dd.<rnsId>`, or null. */
  byRnsDateId(rnsDateId: string): string | null | Promise<string | null>
}
