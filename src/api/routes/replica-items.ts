/**
 * Serves the item routes of the bridge's `/v2` from the replica. Unlike the upstream, it warns about `channel`, returns
 * everything after a poll's cursor, and says when a list begins before the replica does.
 */

import type { ArchiveItems } from '../../archive/items/items.ts'
import type { Reader } from '../../archive/reading/reader.ts'
import { requireCompleteReplica } from '../../archive/replica/replica-incomplete.ts'
import { isoSeconds } from '../../core/dates.ts'
import { itemRoutes } from '../mirror/item-routes.ts'
import type { ItemListQuery } from '../mirror/list-query.ts'
import type { MirrorRoute } from '../mirror/route.ts'
import { archiveItemStore, isBeforeCopy } from './archive-items.ts'

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
    store: archiveItemStore(items),
    check: () => requireCompleteReplica(copy),
    now,
    nativeWord,
    channel: 'ignore',
    pollRange: 'whole',
    caveats: (query) => copyCaveats(query, items),
  })
}

/**
 * Warns about a list whose range begins before the first item of this replica. A poll reads what follows its cursor, which
 * is complete here unless events after the cursor have been pruned.
 */
function copyCaveats({ selection, paging }: ItemListQuery, items: ArchiveItems): string[] {
  if (paging.mode === 'since' && !isBeforeCopy(items, paging.sinceCursor)) return []
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
