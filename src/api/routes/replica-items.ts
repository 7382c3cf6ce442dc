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

/** The list and the single item over the copy. */
export function copiedItemRoutes(parts: {
  items: ArchiveItems
  /** Whether they are all there. */
  copy: Reader['replica']
  /** Upstream's present moment, from which the default range counts back; ms since 1970. */
  now: () => number
  /** What stands for `native` in parameter names. */
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
 * What is said to a list whose range begins before the copy does, at the time of its first item. A poll asks for what came
 * after its cursor: this copy has all of that, unless events behind the cursor have been pruned.
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
