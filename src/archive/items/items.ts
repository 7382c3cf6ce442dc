/**
 * Items of the archive for the upstream's list: the latest revision of each, newest first by sequence. Owns that a list of
 * several windows, and a walk of several requests, sees the store as it was when it began: an item that is amended meanwhile
 * keeps its old place and content there, and comes again behind the cursors given before. Refuses to know cursor texts.
 */
import type { Selection } from '../../core/filter/selection.ts'
import { BridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { yieldTurn } from '../../lifecycle/clock.ts'
import { createSearchTurns, type SearchTurns } from '../reading/search-slices.ts'
import type { Archive } from '../store/archive.ts'
import {
  countWindow,
  type ItemPlace,
  type ItemRange,
  type ItemSearch,
  itemSearch,
  itemWindow,
  placesBetween,
} from './item-windows.ts'

/** One item: its place and its JSON text as upstream sent it. */
export interface Item extends ItemPlace {
  raw: string
}

/**
 * Methods that take `gone` give up with what they have when it aborts. Every method throws as `Database` says, and
 * `log_unavailable` where the copy is rebuilt meanwhile.
 */
export interface ArchiveItems {
  /** null before the log's first writer. */
  readonly epoch: string | null
  /** Sequence of the first event held; `latest + 1` where there is none. */
  readonly oldest: number
  /** Sequence of the last event held. */
  readonly latest: number
  /** Time of the first item held, by sequence; null where there is none. */
  beginsMs(): number | null
  /** The newest `limit` items of the range; `more` says that others were left out. */
  newest(
    selection: Selection,
    range: ItemRange,
    limit: number,
    gone: AbortSignal,
  ): Promise<{ items: Item[]; more: boolean }>
  /** `limit` items after leaving out the `offset` newest, and how many match in all. */
  numbered(
    selection: Selection,
    offset: number,
    limit: number,
    gone: AbortSignal,
  ): Promise<{ items: Item[]; total: number }>
  /** JSON text of the latest revision with that guid, or null. */
  byGuid(guid: string): string | null
  /** JSON text of the last revision that came with that `yyyy-mm-dd.<rnsId>`, or null. */
  byRnsDateId(rnsDateId: string): string | null
}

/** Where items are looked for. */
interface ItemsParts {
  archive: Archive
  clock: Clock
  turns: SearchTurns
}

/** The items of an archive. `turns`: shared with whoever else searches it. */
export function archiveItems(
  archive: Archive,
  clock: Clock,
  turns: SearchTurns = createSearchTurns(clock),
): ArchiveItems {
  const parts = { archive, clock, turns }
  return {
    get epoch() {
      return archive.epoch
    },
    get oldest() {
      return archive.oldest
    },
    get latest() {
      return archive.latest
    },
    beginsMs() {
      const first = 'SELECT time_ms AS timeMs FROM items ORDER BY sequence LIMIT 1'
      return archive.db.prepare<ItemPlace>(first).get()?.timeMs ?? null
    },
    newest: (selection, range, limit, gone) => newest(parts, selection, { range, limit, gone }),
    numbered: (selection, offset, limit, gone) => numbered(parts, selection, { offset, limit, gone }),
    byGuid: (guid) => latestText(archive, 'guid', guid),
    byRnsDateId: (rnsDateId) => latestText(archive, 'date_id', rnsDateId),
  }
}

async function newest(
  parts: ItemsParts,
  selection: Selection,
  { range, limit, gone }: { range: ItemRange; limit: number; gone: AbortSignal },
): Promise<{ items: Item[]; more: boolean }> {
  const { archive, clock } = parts
  const search = itemSearch(archive, selection)
  const places: ItemPlace[] = []
  await goThrough(parts, search, range, gone, (rest) => {
    // One more than wanted, to know whether there are more.
    const window = itemWindow(archive, clock, search, rest, limit + 1 - places.length)
    places.push(...window.places)
    return places.length > limit ? rest.after : window.position
  })
  return { items: wholeItems(archive, places.slice(0, limit)), more: places.length > limit }
}

async function numbered(
  parts: ItemsParts,
  selection: Selection,
  { offset, limit, gone }: { offset: number; limit: number; gone: AbortSignal },
): Promise<{ items: Item[]; total: number }> {
  const { archive, clock } = parts
  const search = itemSearch(archive, selection)
  const range = { after: 0, through: archive.latest, asOf: archive.latest }
  const places: ItemPlace[] = []
  let total = 0
  await goThrough(parts, search, range, gone, (rest) => {
    /** Which of this window's items the page begins and ends with. */
    const first = Math.max(0, offset - total)
    const end = Math.max(0, offset + limit - total)
    if (search.matches === null) {
      const { count, position } = countWindow(archive, search, rest)
      if (first < count && end > 0) {
        const page = { offset: first, limit: end - first }
        places.push(...placesBetween(archive, search, { ...rest, after: position }, page))
      }
      total += count
      return position
    }
    const window = itemWindow(archive, clock, search, rest, Number.MAX_SAFE_INTEGER)
    places.push(...window.places.slice(first, end))
    total += window.places.length
    return window.position
  })
  return { items: wholeItems(archive, places), total }
}

/**
 * Goes through a range from its newest end, a window a turn. `look` is given what is left of it, and says down to which
 * position it has decided.
 */
async function goThrough(
  { archive, turns }: ItemsParts,
  search: ItemSearch,
  range: ItemRange,
  gone: AbortSignal,
  look: (rest: ItemRange) => number,
): Promise<void> {
  const { epoch } = archive
  const after = Math.max(range.after, archive.sequenceSince(search.fromMs))
  let through = Math.min(range.through, archive.latest)
  while (through > after && !gone.aborted) {
    const rest = { ...range, after, through }
    through = await turns.take(() => look(rest))
    // The last window gives way too: its caller may well ask again at once.
    await yieldTurn()
    if (archive.epoch !== epoch) {
      throw new BridgeError('log_unavailable', 'the copy was rebuilt while it was read')
    }
  }
}

function wholeItems({ db }: Archive, places: readonly ItemPlace[]): Item[] {
  const text = db.prepare<{ raw: string }>('SELECT data AS raw FROM events WHERE sequence = ?')
  return places.flatMap((place) => {
    const row = text.get(place.sequence)
    return row === undefined ? [] : { ...place, raw: row.raw }
  })
}

function latestText({ db }: Archive, column: 'guid' | 'date_id', value: string): string | null {
  const row = db
    .prepare<{ raw: string }>(
      `SELECT e.data AS raw FROM facts f CROSS JOIN events e USING (sequence)
       WHERE f.${column} = ? ORDER BY f.sequence DESC LIMIT 1`,
    )
    .get(value)
  return row?.raw ?? null
}
