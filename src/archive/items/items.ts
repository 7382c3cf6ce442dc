/**
 * Reads items for the `/v2` API, which answers as the upstream API does: the latest revision of each item, newest first.
 * Pages of one request, or of one cursor chain, see a snapshot: an item amended meanwhile keeps its old position and content
 * there.
 */
import type { Selection } from '../../core/filter/selection.ts'
import { BridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { createSearchSlices, type SearchSlices } from '../reading/search-slices.ts'
import type { Archive } from '../store/archive.ts'
import { type BlockCounts, COUNT_OPTIONS, CountCache, type CountOptions } from './block-counts.ts'
import {
  countWindow,
  type ItemPosition,
  type ItemRange,
  type ItemSearch,
  type ItemWindow,
  itemSearch,
  itemWindow,
  positionsBetween,
  replacedWindow,
} from './item-windows.ts'

/** One item: its position and its JSON text as upstream sent it. */
export interface Item extends ItemPosition {
  raw: string
}

/**
 * Reads items. Methods that take `gone` return what they have when it aborts; `caller` is whose
 * search it is, see `search-slices.ts`. Every method throws as `Database` does, and
 * `log_unavailable` when the replica was rebuilt meanwhile.
 */
export type ArchiveItems = ReturnType<typeof archiveItems>

interface ItemsParts {
  archive: Archive
  clock: Clock
  slices: SearchSlices
  cache: CountCache
}

/** The items of an archive. `slices`: shared with all other searches of the archive. */
export function archiveItems(
  archive: Archive,
  clock: Clock,
  slices: SearchSlices = createSearchSlices(clock),
  counting: CountOptions = COUNT_OPTIONS,
) {
  const parts = { archive, clock, slices, cache: new CountCache(counting) }
  return {
    archive,
    /** Time of the item with the lowest sequence, ms since 1970; null where there is none. */
    firstItemMs(): number | null {
      const first = 'SELECT time_ms AS timeMs FROM items ORDER BY sequence LIMIT 1'
      return archive.db.prepare<ItemPosition>(first).get()?.timeMs ?? null
    },
    /** The newest `limit` items of the range; `more`: the range has others. */
    async newest(
      selection: Selection,
      range: ItemRange,
      limit: number,
      gone: AbortSignal,
      caller?: string,
    ): Promise<{ items: Item[]; more: boolean }> {
      const search = itemSearch(archive, selection)
      const positions: ItemPosition[] = []
      await scanDown(
        parts,
        search,
        range,
        { gone, caller },
        {
          skips: (counts, end) => counts.matching(end) === 0,
          look(rest) {
            // One more than wanted shows whether there are more.
            const window = itemWindow(archive, clock, search, rest, limit + 1 - positions.length)
            positions.push(...window.positions)
            return { ...window, isDone: positions.length > limit }
          },
        },
      )
      return { items: withText(archive, positions.slice(0, limit)), more: positions.length > limit }
    },
    /** `limit` items after the `offset` newest, and how many match in all. */
    async numbered(
      selection: Selection,
      offset: number,
      limit: number,
      gone: AbortSignal,
      caller?: string,
    ): Promise<{ items: Item[]; total: number }> {
      const search = itemSearch(archive, selection)
      const range = { after: 0, through: archive.latest, asOf: archive.latest }
      const positions: ItemPosition[] = []
      let total = 0
      await scanDown(
        parts,
        search,
        range,
        { gone, caller },
        {
          skips(counts, end) {
            const count = counts.visible(end, range.asOf)
            const isOnPage = total < offset + limit && total + (count ?? 0) > offset
            if (count === null || (count > 0 && isOnPage)) return false
            total += count
            return true
          },
          look(rest) {
            /** Where the page begins and ends among this window's items. */
            const first = Math.max(0, offset - total)
            const end = Math.max(0, offset + limit - total)
            if (search.matches === null) {
              const { count, position } = countWindow(archive, search, rest)
              if (first < count && end > 0) {
                const page = { offset: first, limit: end - first }
                positions.push(...positionsBetween(archive, search, { ...rest, after: position }, page))
              }
              total += count
              return { matching: [], position }
            }
            const window = itemWindow(archive, clock, search, rest, Number.MAX_SAFE_INTEGER)
            positions.push(...window.positions.slice(first, end))
            total += window.positions.length
            return window
          },
        },
      )
      return { items: withText(archive, positions), total }
    },
    /** JSON text of the latest revision with that guid, or null. */
    byGuid: (guid: string): string | null => latestText(archive, 'guid', guid),
    /** JSON text of the newest item whose latest revision has that `yyyy-mm-dd.<rnsId>`, or null. */
    byRnsDateId: (rnsDateId: string): string | null => latestText(archive, 'date_id', rnsDateId),
  }
}

/** What a scan does. */
interface Scan {
  /** Whether the scan passes over the block that ends with `end`. It is then not asked again. */
  skips(counts: BlockCounts, end: number): boolean
  /** Looks at a window at the newest end of `rest`, and says down to where it has. `isDone`: the rest is not wanted. */
  look(rest: ItemRange): Pick<ItemWindow, 'matching' | 'position'> & { isDone?: boolean }
}

/** Looks at windows of a range from its newest end down, except at counted blocks that the scan skips. */
async function scanDown(
  { archive, slices, cache }: ItemsParts,
  search: ItemSearch,
  range: ItemRange,
  { gone, caller }: { gone: AbortSignal; caller: string | undefined },
  scan: Scan,
): Promise<void> {
  const { epoch } = archive
  const inSlice = async <T>(look: () => T): Promise<T> => {
    const result = await slices.run(look, caller)
    if (archive.epoch === epoch) return result
    throw new BridgeError('log_unavailable', 'the local replica of the log was rebuilt during this read')
  }
  const after = Math.max(range.after, archive.sequenceSince(search.fromMs))
  let through = Math.min(range.through, archive.latest)
  const { latest, filling } = archive
  const counts =
    search.matches === null ? null : cache.for(search.key, { span: through - after, latest, filling })
  while (counts !== null && counts.noted < latest && !gone.aborted) {
    await inSlice(() => noteReplaced(archive, search, counts, latest))
  }
  const recorder = counts?.recorder()
  while (through > after && !gone.aborted) {
    through = await inSlice(() => {
      const rest = { ...range, after, through }
      if (counts === null) {
        const { position, isDone } = scan.look(rest)
        return isDone ? after : position
      }
      while (rest.through > after && isWhole(counts, rest) && scan.skips(counts, rest.through)) {
        rest.through = counts.before(rest.through)
      }
      if (rest.through <= after) return after
      // Only at the end of a block can the scan skip, so it stops there after a counted block and after the rest of one.
      const isAtEnd = counts.before(rest.through + 1) === rest.through
      if (!isAtEnd || isWhole(counts, rest)) rest.after = Math.max(after, counts.before(rest.through))
      const { matching, position, isDone } = scan.look(rest)
      recorder?.saw({ after: position, through: rest.through }, matching)
      return isDone ? after : position
    })
  }
}

/** Whether the block at the newest end of the range is counted and lies within it. */
function isWhole(counts: BlockCounts, { after, through }: ItemRange): boolean {
  return counts.matching(through) !== null && counts.before(through) >= after
}

/** Notes in the counts which revisions the events of one more window have replaced. */
function noteReplaced(archive: Archive, search: ItemSearch, counts: BlockCounts, latest: number): void {
  const { replaced, position } = replacedWindow(archive, search, { after: counts.noted, through: latest })
  for (const { sequence, by } of replaced) counts.replace(sequence, by)
  counts.noted = Math.max(counts.noted, position)
}

function withText({ db }: Archive, positions: readonly ItemPosition[]): Item[] {
  const text = db.prepare<{ raw: string }>('SELECT data AS raw FROM events WHERE sequence = ?')
  return positions.flatMap((position) => {
    const row = text.get(position.sequence)
    return row === undefined ? [] : { ...position, raw: row.raw }
  })
}

function latestText({ db }: Archive, column: 'guid' | 'date_id', value: string): string | null {
  const row = db
    .prepare<{ raw: string }>(
      `SELECT e.data AS raw FROM facts f CROSS JOIN items i USING (sequence) CROSS JOIN events e USING (sequence)
       WHERE f.${column} = ? AND i.superseded_by IS NULL ORDER BY f.sequence DESC LIMIT 1`,
    )
    .get(value)
  return row?.raw ?? null
}
