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
import type { Matching } from './block-counts.ts'

/** Most sequences that one window scans in SQL, which is not interrupted: about 5 ms. */
const WINDOW_SPAN = 32_768

/** A compiled selection with its scan state; kept for one request. */
export interface ItemSearch extends Search {
  readonly fromMs: number
  readonly toMs: number
  /** The selection and all that was learnt of its identifiers: searches with the same key find the same. */
  readonly key: string
}

/** The search for a selection, with the publishers and listings known now. */
export function itemSearch(archive: Archive, selection: Selection): ItemSearch {
  const learnt: string[][] = []
  const learn = <T extends string>(found: T[]): T[] => {
    learnt.push(found)
    return found
  }
  const known: KnownInstruments = {
    publishersUnder: (field, identifier) => learn(publishersUnder(archive.db, field, identifier)),
    linkedTags: (tag) => learn(linkedTags(archive.db, tag)),
  }
  const predicate = selectionPredicate(selection, known)
  return {
    ...searchOf(selects(selection, known), selection.q?.toLowerCase() ?? '', predicate),
    key: JSON.stringify([selection, learnt]),
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
  /** The same with the revisions that are not to be seen as of the range's moment; empty for a search without a filter. */
  matching: Matching[]
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
    return { positions, matching: [], position: last === undefined ? low : last.sequence - 1 }
  }
  const startMs = clock.now()
  const after = search.scanCursor === null ? low : range.after
  const part = partOf(archive, clock, search, 'DESC', { after, through: range.through })
  const rows =
    part.sequences === null
      ? rowsBetween(archive, search, { ...range, after })
      : rowsAt(archive, search, part.sequences)
  const positions: ItemPosition[] = []
  const matching: Matching[] = []
  for (const row of rows) {
    const { sequence, timeMs, supersededBy } = row
    if (row.facts !== undefined && isMatch(search, row.facts)) {
      matching.push({ sequence, supersededBy })
      if (supersededBy === null || supersededBy > range.asOf) positions.push({ sequence, timeMs })
    }
    if (positions.length >= limit || clock.now() - startMs >= WINDOW_MS) {
      return { positions, matching, position: sequence - 1 }
    }
  }
  return { positions, matching, position: part.after }
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

/** Parameters: after, through, first and last time. */
const IN_RANGE = 'i.sequence > ? AND i.sequence <= ? AND i.time_ms BETWEEN ? AND ?'
/** The same, and the sequence as of which revisions are visible. */
const VISIBLE = `${IN_RANGE} AND (i.superseded_by IS NULL OR i.superseded_by > ?)`

/** `facts`: as stored; undefined where the row is no item of the range. */
interface Candidate extends ItemPosition, Matching {
  facts: string | undefined
}

const WITH_FACTS = `
  SELECT i.sequence, i.time_ms AS timeMs, i.superseded_by AS supersededBy, f.facts
  FROM items i CROSS JOIN facts f USING (sequence) WHERE ${IN_RANGE}`

function rowsBetween(archive: Archive, search: ItemSearch, range: ItemRange): Iterable<Candidate> {
  return archive.db
    .prepare<Candidate>(`${WITH_FACTS} ORDER BY i.sequence DESC`)
    .iterate(range.after, range.through, search.fromMs, search.toMs)
}

function* rowsAt(archive: Archive, search: ItemSearch, sequences: readonly number[]): Generator<Candidate> {
  const one = archive.db.prepare<Candidate>(WITH_FACTS)
  for (const sequence of sequences) {
    const row = one.get(sequence - 1, sequence, search.fromMs, search.toMs)
    yield row ?? { sequence, timeMs: 0, supersededBy: null, facts: undefined }
  }
}

/** Sequences whose replacements one window looks for: about 15 ms. */
const NOTED_SPAN = 32_768

/**
 * The matching revisions that events after `after` have replaced, from one window on, and up to where that looked; at most
 * to `through`.
 */
export function replacedWindow(
  { db }: Archive,
  search: ItemSearch,
  { after, through }: { after: number; through: number },
): { replaced: { sequence: number; by: number }[]; position: number } {
  const position = Math.min(through, after + NOTED_SPAN)
  const later = db
    .prepare<{ by: number; guid: string; revision: number }>(
      'SELECT sequence AS "by", guid, revision FROM facts WHERE sequence > ? AND sequence <= ? AND revision > 1',
    )
    .all(after, position)
  const before = db.prepare<{ sequence: number; timeMs: number; facts: string }>(
    `SELECT f.sequence, i.time_ms AS timeMs, f.facts FROM facts f CROSS JOIN items i USING (sequence)
     WHERE f.guid = ? AND f.revision < ? ORDER BY f.revision DESC LIMIT 1`,
  )
  const replaced = later.flatMap(({ by, guid, revision }) => {
    const row = before.get(guid, revision)
    const isInRange = row !== undefined && row.timeMs >= search.fromMs && row.timeMs <= search.toMs
    return isInRange && isMatch(search, row.facts) ? { sequence: row.sequence, by } : []
  })
  return { replaced, position }
}
