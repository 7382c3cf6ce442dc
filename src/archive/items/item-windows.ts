/**
 * The windowed read of items for the upstream's list, newest first: each call holds the event loop for about HOLD_MS and
 * says how far it came. Owns the way to the items of a selection, and which revision is to be seen. Refuses to wait or to
 * loop: `items.ts` does.
 */
import type { Facts } from '../../core/filter/facts.ts'
import { type PublishersUnder, type Selection, selects } from '../../core/filter/selection.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { type Asking, askingFor, offer } from '../reading/scan-cursor.ts'
import type { Archive } from '../store/archive.ts'
import { selectionNarrowing } from '../store/index-terms.ts'
import { publishersUnder } from '../store/record.ts'
import { readFacts } from '../store/stored.ts'

/** A window ends at the first row looked at after this long. */
const HOLD_MS = 15
/** Most sequences that one window passes over in SQL, where the clock is not looked at: about 5 ms. */
const SPAN = 32_768
/** Text that JSON writes as it is. */
const PLAIN_IN_JSON = /^[ !#-[\]-~]+$/

/** A selection with the way to its items; kept for the length of one request. */
export interface ItemSearch {
  readonly fromMs: number
  readonly toMs: number
  /** null = every item of the range. */
  readonly matches: ((facts: Facts) => boolean) | null
  /** Text that the stored facts of every match contain; null where nothing is known. Spares parsing the others. */
  readonly needle: string | null
  /** null = no index helps. */
  readonly asking: Asking | null
}

/** The search for a selection, with what is known now of who published under which identifier. */
export function itemSearch(archive: Archive, selection: Selection): ItemSearch {
  const publishers: PublishersUnder = (field, identifier) => publishersUnder(archive.db, field, identifier)
  const narrowing = selectionNarrowing(selection, publishers)
  const part = selection.q?.toLowerCase() ?? ''
  return {
    fromMs: selection.fromMs ?? Number.MIN_SAFE_INTEGER,
    toMs: selection.toMs ?? Number.MAX_SAFE_INTEGER,
    matches: selects(selection, publishers),
    needle: PLAIN_IN_JSON.test(part) ? part : null,
    asking: narrowing === null ? null : askingFor(narrowing),
  }
}

/** Where an item is, and its time. */
export interface ItemPlace {
  sequence: number
  /** Milliseconds since 1970. */
  timeMs: number
}

/** What is looked through: the places with `after` < sequence ≤ `through`, as they were when `asOf` was the last. */
export interface ItemRange {
  after: number
  through: number
  asOf: number
}

/** What one window found, newest first, and the position down to which it has decided. */
export interface ItemWindow {
  places: ItemPlace[]
  position: number
}

/** Matching items of a range from its newest on, until `limit` or the time of a window is used up. */
export function itemWindow(
  archive: Archive,
  clock: Clock,
  search: ItemSearch,
  range: ItemRange,
  limit: number,
): ItemWindow {
  const low = Math.max(range.after, range.through - SPAN)
  if (search.matches === null) {
    const places = placesBetween(archive, search, { ...range, after: low }, { offset: 0, limit })
    const last = places.length === limit ? places.at(-1) : undefined
    return { places, position: last === undefined ? low : last.sequence - 1 }
  }
  const startMs = clock.now()
  const part =
    search.asking === null
      ? { after: low, rows: scanned(archive, search, { ...range, after: low }) }
      : offered(archive, clock, search, search.asking, range)
  const places: ItemPlace[] = []
  for (const row of part.rows) {
    if (row.facts !== undefined && isMatch(search, row.facts)) {
      places.push({ sequence: row.sequence, timeMs: row.timeMs })
    }
    if (places.length >= limit || clock.now() - startMs >= HOLD_MS) {
      return { places, position: row.sequence - 1 }
    }
  }
  return { places, position: part.after }
}

/** How many items of a search without a test one window holds, and the position down to which that is known. */
export function countWindow(
  archive: Archive,
  search: ItemSearch,
  range: ItemRange,
): { count: number; position: number } {
  const position = Math.max(range.after, range.through - SPAN)
  const row = archive.db
    .prepare<{ count: number }>(`SELECT count(*) AS count FROM items i WHERE ${VISIBLE}`)
    .get(position, range.through, search.fromMs, search.toMs, range.asOf)
  return { count: row?.count ?? 0, position }
}

/** A part of the items of a search without a test, newest first. Not windowed: the caller bounds the range. */
export function placesBetween(
  archive: Archive,
  search: ItemSearch,
  range: ItemRange,
  part: { offset: number; limit: number },
): ItemPlace[] {
  return archive.db
    .prepare<ItemPlace>(
      `SELECT i.sequence, i.time_ms AS timeMs FROM items i WHERE ${VISIBLE}
       ORDER BY i.sequence DESC LIMIT ? OFFSET ?`,
    )
    .all(range.after, range.through, search.fromMs, search.toMs, range.asOf, part.limit, part.offset)
}

/** Parameters: after, through, first and last time, the sequence as of which revisions are seen. */
const VISIBLE = `
  i.sequence > ? AND i.sequence <= ? AND i.time_ms BETWEEN ? AND ?
  AND (i.superseded_by IS NULL OR i.superseded_by > ?)`

/** Facts of a row as they are stored; undefined where it is no item of the range. */
interface Candidate extends ItemPlace {
  facts: string | undefined
}

const WITH_FACTS = `
  SELECT i.sequence, i.time_ms AS timeMs, f.facts FROM items i CROSS JOIN facts f USING (sequence) WHERE ${VISIBLE}`

function scanned(archive: Archive, search: ItemSearch, range: ItemRange): Iterable<Candidate> {
  return archive.db
    .prepare<Candidate>(`${WITH_FACTS} ORDER BY i.sequence DESC`)
    .iterate(range.after, range.through, search.fromMs, search.toMs, range.asOf)
}

function offered(
  archive: Archive,
  clock: Clock,
  search: ItemSearch,
  asking: Asking,
  range: ItemRange,
): { after: number; rows: Iterable<Candidate> } {
  const asked = {
    epoch: archive.epoch,
    direction: 'DESC',
    after: range.after,
    through: range.through,
  } as const
  const { after, sequences } = offer(archive.db, () => clock.now(), asking, asked)
  return { after, rows: lookedUp(archive, search, range, sequences) }
}

function* lookedUp(
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

function isMatch({ matches, needle }: ItemSearch, facts: string): boolean {
  if (needle !== null && !facts.includes(needle)) return false
  return matches === null || matches(readFacts(facts))
}
