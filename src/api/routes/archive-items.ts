/**
 * Serves the item store of the bridge's `/v2` from its archive. A cursor names an event of the log; a page position also
 * has the end of the log when the scan began, so its pages see one snapshot.
 */

import type { ArchiveItems, Item } from '../../archive/items/items.ts'
import { NO_EPOCH } from '../../archive/store/archive.ts'
import { decodeCursor, encodeCursor } from '../../core/cursor.ts'
import { BridgeError, isBridgeError } from '../../errors.ts'
import type { ItemStore, StoredItem } from '../mirror/item-store.ts'

/** Separates the two cursors of a page position; occurs in neither. */
const SEPARATOR = '.'

/** True if events after the cursor have been pruned from this replica. False for an invalid cursor. */
export function isBeforeCopy(items: ArchiveItems, cursor: string): boolean {
  try {
    return sequenceIn(items, cursor) + 1 < items.oldest
  } catch (error) {
    if (isBridgeError(error, 'cursor_invalid')) return false
    throw error
  }
}

/** @throws BridgeError `cursor_invalid` if it is not a cursor of this log */
function sequenceIn(items: ArchiveItems, cursor: string): number {
  const { epoch, sequence } = decodeCursor(cursor)
  if (epoch === items.epoch) return sequence
  throw new BridgeError('cursor_invalid', 'this cursor is of another log')
}

/** Creates the store, ordered by the log's sequence, with the latest revision of each item. */
export function archiveItemStore(items: ArchiveItems): ItemStore {
  const sequenceOf = (cursor: string): number => sequenceIn(items, cursor)
  const cursorAt = (sequence: number, timeMs: number): string =>
    encodeCursor({ epoch: items.epoch ?? NO_EPOCH, sequence, timeMs })
  const stored = ({ sequence, timeMs, raw }: Item): StoredItem => ({
    cursor: cursorAt(sequence, timeMs),
    raw,
  })
  const walkAt = (last: Item, asOf: number): string =>
    `${cursorAt(last.sequence, last.timeMs)}${SEPARATOR}${cursorAt(asOf, 0)}`
  const readWalk = (walk: string): { before: number; asOf: number } => {
    const [place = '', asOf = ''] = walk.split(SEPARATOR)
    return { before: sequenceOf(place), asOf: sequenceOf(asOf) }
  }
  return {
    async pageBefore(selection, walk, limit, gone) {
      const { before, asOf } =
        walk === null ? { before: items.latest + 1, asOf: items.latest } : readWalk(walk)
      const range = { after: 0, through: before - 1, asOf }
      const page = await items.newest(selection, range, limit, gone)
      const last = page.items.at(-1)
      const next = page.more && last !== undefined ? walkAt(last, asOf) : null
      return { items: page.items.map(stored), next }
    },
    async newestSince(selection, cursor, limit, gone) {
      const range = { after: sequenceOf(cursor), through: items.latest, asOf: items.latest }
      const page = await items.newest(selection, range, limit, gone)
      return { items: page.items.map(stored), more: page.more }
    },
    async pageAt(selection, offset, limit, gone) {
      const page = await items.numbered(selection, offset, limit, gone)
      return { items: page.items.map(stored), total: page.total }
    },
    byGuid: (guid) => items.byGuid(guid),
    byRnsDateId: (rnsDateId) => items.byRnsDateId(rnsDateId),
  }
}
