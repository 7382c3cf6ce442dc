/**
 * Reads items, newest first, for the `/v2` API, which answers as the upstream API does. Each call blocks the event loop for
 * about 15 ms (`WINDOW_MS`) and returns how far it got; `items.ts` calls it in a loop.
 */
import { type KnownInstruments, type Selection, selects } from '../../core/filter/selection.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { isMatch, partOf, type Search, searchOf, WINDOW_MS } from '../reading/query.ts'
import type { Archive } from '../store/archive.ts'
import { selectionPredicate } from '../store/index-terms.ts'
import { linkedTags } from '../store/listings.ts'
import { publishersUnder } from '../store/record.ts'

/** Most sequences that one window scans in SQL, which is not interrupted: about 5 ms. */
const WINDOW_SPAN = 32_768

/** A compiled selection with its scan state; kept for one request. */
export interface ItemSearch extends Search {
  readonly fromMs: number
  readonly toMs: number
}

/** The search for a selection, with the publishers and listings known now. */
export function itemSearch(archive: Archive, selection: Selection): ItemSearch {
  const known: KnownInstruments = {
    publishersUnder: (field, identifier) => publishersUnder(archive.db, field, identifier),
    linkedTags: (tag) => linkedTags(archive.db, tag),
  }
  const predicate = selectionPredicate(selection, known)
  return {
    ...searchOf(selects(selection, known), selection.q?.toLowerCase() ?? '', predicate),
    fromMs: selection.fromMs ?? Number.MIN_SAFE_INTEGER,
    toMs: selection.toMs ?? Number.MAX_SAFE_INTEGER,
  }
}

/** Position and time of an item. */
export interface ItemPosition {
  sequence: number
  /** Milliseconds since 1970. */
  timeMs: number
}

/** The items with `after` < sequence ≤ `through`, as they were when `asOf` was the last sequence. */
export interface ItemRange {
  after: number
  through: number
  asOf: number
}

/** The items of one window, newest first, and the position down to which they are complete. */
export interface ItemWindow {
  positions: ItemPosition[]
  position: number
}

/** Matching items of a range from its newest end, until `limit` or the time of a window is used up. */
export function itemWindow(
  archive: Archive,
  clock: Clock,
  search: ItemSearch,
  range: ItemRange,
  limit: number,
): ItemWindow {
  const low = Math.max(range.after, range.through - WINDOW_SPAN)
  if (search.matches === null) {
    const positions = positionsBetween(archive, search, { ...range, after: low }, { offset: 0, limit })
    const last = positions.length === limit ? positions.at(-1) : undefined
    return { positions, position: last === undefined ? low : last.sequence - 1 }
  }
  const startMs = clock.now()
  const after = search.scanCursor === null ? low : range.after
  const part = partOf(archive, clock, search, 'DESC', { after, through: range.through })
  const rows =
    part.sequences === null
      ? rowsBetween(archive, search, { ...range, after })
      : rowsAt(archive, search, range, part.sequences)
  const positions: ItemPosition[] = []
  for (const row of rows) {
    if (row.facts !== undefined && isMatch(search, row.facts)) {
      positions.push({ sequence: row.sequence, timeMs: row.timeMs })
    }
    if (positions.length >= limit || clock.now() - startMs >= WINDOW_MS) {
      return { positions, position: row.sequence - 1 }
    }
  }
  return { positions, position: part.after }
}

/** How many items of a search without a filter one window holds, and the position down to which it counted. */
export function countWindow(
  archive: Archive,
  search: ItemSearch,
  range: ItemRange,
): { count: number; position: number } {
  const position = Math.max(range.after, range.through - WINDOW_SPAN)
  const row = archive.db
    .prepare<{ count: number }>(`SELECT count(*) AS count FROM items i WHERE ${VISIBLE}`)
    .get(position, range.through, search.fromMs, search.toMs, range.asOf)
  return { count: row?.count ?? 0, position }
}

/** A page of the items of a search without a filter, newest first. Not windowed: the caller bounds the range. */
export function positionsBetween(
  archive: Archive,
  search: ItemSearch,
  range: ItemRange,
  part: { offset: number; limit: number },
): ItemPosition[] {
  return archive.db
    .prepare<ItemPosition>(
      `SELECT i.sequence, i.time_ms AS timeMs FROM items i WHERE ${VISIBLE}
       ORDER BY i.sequence DESC LIMIT ? OFFSET ?`,
    )
    .all(range.after, range.through, search.fromMs, search.toMs, range.asOf, part.limit, part.offset)
}

/** Parameters: after, through, first and last time, the sequence as of which revisions are visible. */
const VISIBLE = `
  i.sequence > ? AND i.sequence <= ? AND i.time_ms BETWEEN ? AND ?
  AND (i.superseded_by IS NULL OR i.superseded_by > ?)`

/** `facts`: as stored; undefined where the row is no item of the range. */
interface Candidate extends ItemPosition {
  facts: string | undefined
}

const WITH_FACTS = `
  SELECT i.sequence, i.time_ms AS timeMs, f.facts FROM items i CROSS JOIN facts f USING (sequence) WHERE ${VISIBLE}`

function rowsBetween(archive: Archive, search: ItemSearch, range: ItemRange): Iterable<Candidate> {
  return archive.db
    .prepare<Candidate>(`${WITH_FACTS} ORDER BY i.sequence DESC`)
    .iterate(range.after, range.through, search.fromMs, search.toMs, range.asOf)
}

function* rowsAt(
  archive: Archive,
  search: ItemSearch,
  { asOf }: ItemRange,
  sequences: readonly number[],
): Generator<Candidate> {
  const one = archive.db.prepare<Candidate>(WITH_FACTS)
  for (const sequence of sequences) {
    const row = one.get(sequence - 1, sequence, search.fromMs, search.toMs, asOf)
    yield row ?? { sequence, timeMs: 0, facts: undefined }
  }
}
