/**
 * Serves the announcement routes of the bridge's `/v2` from this node's replica of the event log. Unlike the upstream,
 * it ignores `channel` with a warning, returns everything after a poll's cursor, and warns when the replica begins
 * later than the list. A page cursor also holds the end of the log at the first page, so all pages show one snapshot.
 */
import type { ArchiveItems, Item } from '../../archive/items/items.ts'
import type { Reader } from '../../archive/reading/reader.ts'
import { requireCompleteReplica } from '../../archive/replica/replica-incomplete.ts'
import { NO_EPOCH } from '../../archive/store/archive.ts'
import { decodeCursor, encodeCursor } from '../../core/cursor.ts'
import { isoSeconds } from '../../core/dates.ts'
import { BridgeError, isBridgeError } from '../../errors.ts'
import { itemRoutes } from '../mirror/item-routes.ts'
import type { ItemStore, StoredItem } from '../mirror/item-store.ts'
import type { ItemListQuery } from '../mirror/list-query.ts'
import type { MirrorRoute } from '../mirror/route.ts'

/** Builds the routes of the list and of the single item over the replica. */
export function copiedItemRoutes(parts: {
  items: ArchiveItems
  /** Whether the replica is complete. */
  copy: Reader['replica']
  /** The upstream's current time, from which the default range counts back; ms since 1970. */
  now: () => number
  /** The word that replaces `native` in parameter names. */
  nativeWord: string
}): MirrorRoute[] {
  const { items, copy, now, nativeWord } = parts
  return itemRoutes({
    store: archiveItemStore(items, copy.isLog),
    check: () => requireCompleteReplica(copy),
    now,
    nativeWord,
    channel: 'ignore',
    pollRange: 'whole',
    caveats: (query) => copyCaveats(query, items, copy.isLog),
  })
}

/**
 * Warns about a list whose range begins before the first item of this replica. A poll reads what follows its cursor, which
 * is complete here unless events after the cursor have been pruned.
 */
function copyCaveats({ selection, paging }: ItemListQuery, items: ArchiveItems, isLog: boolean): string[] {
  if (paging.mode === 'since' && !isBeforeCopy(items, paging.sinceCursor, isLog)) return []
  const beginsMs = items.firstItemMs()
  if (beginsMs === null) return ['This copy holds no items yet.']
  if (selection.fromMs !== null && selection.fromMs >= beginsMs) return []
  const begins = `This copy begins at ${isoSeconds(beginsMs)}`
  return [
    paging.mode === 'since'
      ? `${begins}, later than sinceCursor: what came between them is missing here.`
      : `${begins}: what the asked range has before that is missing here; send dateFrom to ask for less.`,
  ]
}

/** True if events after the cursor have been pruned from this replica. False for an invalid cursor. */
function isBeforeCopy(items: ArchiveItems, cursor: string, isLog: boolean): boolean {
  try {
    return sequenceIn(items, cursor, isLog) + 1 < items.archive.oldest
  } catch (error) {
    if (isBridgeError(error, 'cursor_invalid')) return false
    throw error
  }
}

/** Separates the two cursors of a page position; occurs in neither. */
const SEPARATOR = '.'

/** Creates the store, ordered by the log's sequence, with the latest revision of each item. `isLog` as in `ReplicaState`. */
export function archiveItemStore(items: ArchiveItems, isLog = true): ItemStore {
  const cursorAt = (sequence: number, timeMs: number): string =>
    encodeCursor({ epoch: items.archive.epoch ?? NO_EPOCH, sequence, timeMs })
  const stored = ({ sequence, timeMs, raw }: Item): StoredItem => ({
    cursor: cursorAt(sequence, timeMs),
    raw,
  })
  return {
    async pageBefore(selection, position, limit, gone, caller) {
      const [place, end] = position?.split(SEPARATOR) ?? []
      const before = place === undefined ? items.archive.latest + 1 : sequenceIn(items, place, isLog)
      const asOf = place === undefined ? items.archive.latest : sequenceIn(items, end ?? '', isLog)
      const range = { after: 0, through: before - 1, asOf }
      const page = await items.newest(selection, range, limit, gone, caller)
      const shown = page.items.map(stored)
      const last = shown.at(-1)
      const next = page.more && last !== undefined ? `${last.cursor}${SEPARATOR}${cursorAt(asOf, 0)}` : null
      return { items: shown, next }
    },
    async newestSince(selection, cursor, limit, gone, caller) {
      const range = {
        after: sequenceIn(items, cursor, isLog),
        through: items.archive.latest,
        asOf: items.archive.latest,
      }
      const page = await items.newest(selection, range, limit, gone, caller)
      return { items: page.items.map(stored), more: page.more }
    },
    async pageAt(selection, offset, limit, gone, caller) {
      const page = await items.numbered(selection, offset, limit, gone, caller)
      return { items: page.items.map(stored), total: page.total }
    },
    byGuid: (guid) => items.byGuid(guid),
    byRnsDateId: (rnsDateId) => items.byRnsDateId(rnsDateId),
  }
}

/** @throws BridgeError `cursor_invalid` if it is not a cursor of this log, or of what a backup has replaced in it */
function sequenceIn({ archive }: ArchiveItems, cursor: string, isLog: boolean): number {
  const { epoch, sequence, timeMs } = decodeCursor(cursor)
  if (epoch !== archive.epoch) {
    throw new BridgeError('cursor_invalid', 'this cursor was issued for another log (another epoch)')
  }
  // The second cursor of a page position has no time.
  const storedMs = timeMs === 0 ? null : archive.timeOf(sequence)
  const isKnown = storedMs === null ? !isLog || sequence <= archive.latest : storedMs === timeMs
  if (isKnown) return sequence
  throw new BridgeError('cursor_invalid', 'this cursor was issued before a backup of the log was restored')
}
