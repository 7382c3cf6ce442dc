/**
 * The windowed read of the archive: each call holds the event loop for about HOLD_MS and says how far it came.
 * Owns which index narrows a filter and when a window ends. Refuses to wait or to loop: `reader.ts` does.
 */
import type { Facts } from '../core/facts.ts'
import type { Filter } from '../core/filter.ts'
import type { Clock } from '../lifecycle/clock.ts'
import type { Archive } from './archive.ts'
import { NO_EPOCH } from './archive.ts'
import type { Statement } from './db.ts'
import { matcherFor } from './matcher.ts'
import type { EventRow, StoredEvent } from './stored.ts'
import { readFacts, storedEvent, WHOLE_EVENT } from './stored.ts'
import type { Narrowing } from './terms.ts'
import { narrowing } from './terms.ts'

/** A window ends at the first row looked at after this long; the event loop is meant never to be held for 50 ms. */
const HOLD_MS = 15
/** Sequences that one indexed window spans, at first and at least; an index is asked inside SQLite, unseen by a clock. */
const FIRST_SPAN = 65_536
const SMALLEST_SPAN = 4096
const LARGEST_SPAN = 4_194_304
/** Rows of whole events fetched at once: beyond it nothing gets faster, and each may have half a megabyte. */
const FETCH_ROWS = 128
/** Text that JSON writes as it is. */
const PLAIN_IN_JSON = /^[ !#-[\]-~]+$/

/** A filter with the way to its events; made once for a read, it learns how wide the next window may be. */
export interface Search {
  /** null = every event. */
  readonly matches: ((facts: Facts) => boolean) | null
  /** Text that the stored facts of every match contain; null where nothing is known. Spares parsing the others. */
  readonly needle: string | null
  /** null = no index helps: all facts are looked at. */
  readonly narrowing: Narrowing | null
  /** Sequences that the next window through an index spans. */
  span: number
}

/** The search for a filter; null = every event. */
export function searchFor(filter: Filter | null): Search {
  return {
    matches: filter === null ? null : matcherFor(filter),
    needle: filter?.q !== undefined && PLAIN_IN_JSON.test(filter.q) ? filter.q : null,
    narrowing: filter === null ? null : narrowing(filter),
    span: FIRST_SPAN,
  }
}

/** What one window found, and the last sequence it has decided about. */
export interface Window {
  events: StoredEvent[]
  position: number
}

/**
 * Matching events with `after` < sequence ≤ `through`, in order, until `limit` events, `maxBytes` of JSON or the time
 * of a window is used up.
 */
export function readWindow(
  archive: Archive,
  clock: Clock,
  search: Search,
  range: { after: number; through: number; limit: number; maxBytes: number },
): Window {
  const startMs = clock.now()
  const end = search.narrowing === null ? range.through : Math.min(range.through, range.after + search.span)
  const events: StoredEvent[] = []
  let bytes = 0
  let position = end
  for (const { sequence, event } of lookedAt(archive, search, range.after, end)) {
    if (event !== null) {
      events.push(event)
      bytes += event.json.length
    }
    const full = events.length >= range.limit || bytes >= range.maxBytes
    if (full || clock.now() - startMs >= HOLD_MS) {
      position = sequence
      break
    }
  }
  adapt(search, clock.now() - startMs, position - range.after)
  return { events, position }
}

/**
 * Looks back from `from` for the `count`-th last match, not below `floor`, for the time of a window.
 * @returns how many were found and the position before the last one looked at
 */
export function countBack(
  archive: Archive,
  clock: Clock,
  search: Search,
  range: { from: number; floor: number; count: number },
): { found: number; position: number } {
  const startMs = clock.now()
  const end = search.narrowing === null ? range.floor : Math.max(range.floor, range.from - search.span)
  let found = 0
  let position = end
  for (const { sequence, matched } of inspected(archive, search, end, range.from, 'DESC')) {
    if (matched) found += 1
    if (found === range.count || clock.now() - startMs >= HOLD_MS) {
      position = sequence - 1
      break
    }
  }
  adapt(search, clock.now() - startMs, range.from - position)
  return { found, position }
}

/** Wider after a quick window; after one that was left early, not much wider than what was used of it. */
function adapt(search: Search, tookMs: number, used: number): void {
  if (search.narrowing === null) return
  const next =
    used < search.span || tookMs >= HOLD_MS ? used * 2 : search.span * (tookMs < HOLD_MS / 4 ? 4 : 1)
  search.span = Math.min(LARGEST_SPAN, Math.max(SMALLEST_SPAN, next))
}

/** Each event looked at in `after` < sequence ≤ `through`, with the event itself where it matches. */
function* lookedAt(
  archive: Archive,
  search: Search,
  after: number,
  through: number,
): Generator<{ sequence: number; event: StoredEvent | null }> {
  const epoch = archive.epoch ?? NO_EPOCH
  if (search.matches === null) {
    for (let low = after; low < through; low += FETCH_ROWS) {
      for (const event of eventsBetween(archive, low, Math.min(low + FETCH_ROWS, through))) {
        yield { sequence: event.sequence, event }
      }
    }
    return
  }
  const whole = archive.db.prepare<EventRow>(`${WHOLE_EVENT} WHERE e.sequence = ?`)
  for (const { sequence, matched } of inspected(archive, search, after, through, 'ASC')) {
    const row = matched ? whole.get(sequence) : undefined
    yield { sequence, event: row === undefined ? null : storedEvent(row, epoch) }
  }
}

/** Every event with `after` < sequence ≤ `through`, in order. Not windowed: the caller bounds the range. */
export function eventsBetween(archive: Archive, after: number, through: number): StoredEvent[] {
  const rows = archive.db.prepare<EventRow>(
    `${WHOLE_EVENT} WHERE e.sequence > ? AND e.sequence <= ? ORDER BY e.sequence`,
  )
  const epoch = archive.epoch ?? NO_EPOCH
  return rows.all(after, through).map((row) => storedEvent(row, epoch))
}

interface FactsRow {
  sequence: number
  facts: string | null
}

/** The filter's word on each event in `after` < sequence ≤ `through` that the indexes do not rule out. */
function* inspected(
  archive: Archive,
  search: Search,
  after: number,
  through: number,
  direction: 'ASC' | 'DESC',
): Generator<{ sequence: number; matched: boolean }> {
  for (const { sequence, facts } of factsIn(archive, search.narrowing, after, through, direction)) {
    yield { sequence, matched: isMatch(search, facts) }
  }
}

function isMatch(search: Search, facts: string | null): boolean {
  if (search.matches === null) return true
  if (facts !== null && search.needle !== null && !facts.includes(search.needle)) return false
  return search.matches(readFacts(facts))
}

function* factsIn(
  archive: Archive,
  narrowed: Narrowing | null,
  after: number,
  through: number,
  direction: 'ASC' | 'DESC',
): Generator<FactsRow> {
  const { db } = archive
  if (narrowed === null) {
    yield* db
      .prepare<FactsRow>(
        `SELECT sequence, facts FROM facts WHERE sequence > ? AND sequence <= ? ORDER BY sequence ${direction}`,
      )
      .iterate(after, through)
    return
  }
  const one = db.prepare<FactsRow>('SELECT sequence, facts FROM facts WHERE sequence = ?')
  for (const { sequence } of candidates(archive, narrowed, after, through, direction)) {
    const row = one.get(sequence)
    if (row !== undefined) yield row
  }
}

function candidates(
  archive: Archive,
  narrowed: Narrowing,
  after: number,
  through: number,
  direction: 'ASC' | 'DESC',
): Generator<{ sequence: number }> {
  const byTerms = 'SELECT rowid AS sequence FROM terms WHERE terms MATCH ? AND rowid > ? AND rowid <= ?'
  const byHeadline =
    'SELECT rowid AS sequence FROM headlines WHERE headlines MATCH ? AND rowid > ? AND rowid <= ?'
  const prepare = (sql: string): Statement<{ sequence: number }> =>
    archive.db.prepare(`${sql} ORDER BY sequence ${direction}`)
  return narrowed.headlines === null
    ? prepare(byTerms).iterate(narrowed.terms, after, through)
    : prepare(`${byTerms} UNION ${byHeadline}`).iterate(
        narrowed.terms,
        after,
        through,
        narrowed.headlines,
        after,
        through,
      )
}
