/**
 * Reads the events that match a filter from the archive, the node's indexed SQLite file of events. Each call blocks the
 * event loop for about 15 ms (`WINDOW_MS`) and returns how far it got; `reader.ts` calls it in a loop.
 */
import type { Facts } from '../../core/filter/facts.ts'
import type { Filter } from '../../core/filter/filter.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Archive } from '../store/archive.ts'
import { NO_EPOCH } from '../store/archive.ts'
import { type IndexPredicate, indexPredicate } from '../store/index-terms.ts'
import type { StoredEvent } from '../store/stored.ts'
import { readFacts, storedEvent, storedRange } from '../store/stored.ts'
import { matcherFor } from './matcher.ts'
import type { Direction, ScanCursor } from './scan-cursor.ts'
import { createScanCursor, nextCandidates } from './scan-cursor.ts'

/** A window ends at the first row inspected after this long: the event loop must never be blocked for 50 ms. */
export const WINDOW_MS = 15
/** Rows of whole events fetched at once: more is no faster. */
const FETCH_ROWS = 128
/** Text that JSON writes unescaped. */
const PLAIN_IN_JSON = /^[ !#-[\]-~]+$/

/** A compiled filter with its scan state; kept for as long as a consumer reads with that filter. */
export interface Search {
  /** null = every event. */
  readonly matches: ((facts: Facts) => boolean) | null
  /** Text that the stored facts of every match contain, or null. Rows without it are skipped unparsed. */
  readonly needle: string | null
  /** null = no index helps: the facts of all events are inspected. */
  readonly scanCursor: ScanCursor | null
}

/** The search for a filter; null = every event. */
export function searchFor(filter: Filter | null): Search {
  if (filter === null) return { matches: null, needle: null, scanCursor: null }
  return searchOf(matcherFor(filter), filter.q ?? '', indexPredicate(filter))
}

/** A search from its parts; `text` is the headline search in lower case, empty where there is none. */
export function searchOf(matches: Search['matches'], text: string, predicate: IndexPredicate | null): Search {
  const needle = PLAIN_IN_JSON.test(text) ? text : null
  return { matches, needle, scanCursor: predicate === null ? null : createScanCursor(predicate) }
}

/** Most events of one window, and most bytes of their JSON. */
interface WindowLimits {
  limit: number
  maxBytes: number
}

/** The events of one window and the last sequence that it covered. */
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
  range: { after: number; through: number } & WindowLimits,
): Window {
  return windowOf(archive, clock, search, 'ASC', range)
}

/**
 * Matching events with `floor` < sequence ≤ `from`, the newest first, with the same limits. Every match after `position` is
 * among them.
 */
export function readWindowBack(
  archive: Archive,
  clock: Clock,
  search: Search,
  { from, floor, ...limits }: { from: number; floor: number } & WindowLimits,
): Window {
  return windowOf(archive, clock, search, 'DESC', { after: floor, through: from, ...limits })
}

function windowOf(
  archive: Archive,
  clock: Clock,
  search: Search,
  direction: Direction,
  range: { after: number; through: number } & WindowLimits,
): Window {
  const startMs = clock.now()
  const part = partOf(archive, clock, search, direction, range)
  const isBack = direction === 'DESC'
  const events: StoredEvent[] = []
  let bytes = 0
  let position = isBack ? part.after : part.through
  for (const { sequence, event } of inspectedEvents(archive, search, part, range)) {
    if (event !== null) {
      events.push(event)
      bytes += event.json.length
    }
    const full = events.length >= range.limit || bytes >= range.maxBytes
    if (full || clock.now() - startMs >= WINDOW_MS) {
      position = isBack ? sequence - 1 : sequence
      break
    }
  }
  return { events, position }
}

/**
 * Counts matches backwards from `from`, not below `floor`, until there are `count` or the time of a window is used up.
 * @returns how many were found and the position before the last event inspected
 */
export function countBack(
  archive: Archive,
  clock: Clock,
  search: Search,
  range: { from: number; floor: number; count: number },
): { found: number; position: number } {
  const startMs = clock.now()
  const part = partOf(archive, clock, search, 'DESC', { after: range.floor, through: range.from })
  let found = 0
  let position = part.after
  for (const { sequence, facts } of factsIn(archive, part)) {
    if (isMatch(search, facts)) found += 1
    if (found === range.count || clock.now() - startMs >= WINDOW_MS) {
      position = sequence - 1
      break
    }
  }
  return { found, position }
}

/** The part of a range that one window covers; `sequences` = the candidates in it, null = all events. */
export interface Part {
  direction: Direction
  after: number
  through: number
  sequences: readonly number[] | null
}

/** The part of a range with which a window begins: its oldest end, or its newest for `DESC`. */
export function partOf(
  archive: Archive,
  clock: Clock,
  search: Search,
  direction: Direction,
  { after, through }: { after: number; through: number },
): Part {
  if (search.scanCursor === null) return { direction, after, through, sequences: null }
  const range = { epoch: archive.epoch, direction, after, through }
  return { direction, ...nextCandidates(archive.db, () => clock.now(), search.scanCursor, range) }
}

/** Each event inspected in a part, with the event itself where it matches. */
function* inspectedEvents(
  archive: Archive,
  search: Search,
  part: Part,
  { limit, maxBytes }: WindowLimits,
): Generator<{ sequence: number; event: StoredEvent | null }> {
  const epoch = archive.epoch ?? NO_EPOCH
  if (search.matches === null && part.direction === 'ASC') {
    const rows = Math.min(FETCH_ROWS, limit)
    for (let low = part.after; low < part.through; low += rows) {
      const fetched = { after: low, through: Math.min(low + rows, part.through) }
      for (const event of storedRange(archive.db, fetched, epoch, maxBytes)) {
        yield { sequence: event.sequence, event }
      }
    }
    return
  }
  for (const { sequence, facts } of factsIn(archive, part)) {
    const event = isMatch(search, facts) ? storedEvent(archive.db, sequence, epoch) : undefined
    yield { sequence, event: event ?? null }
  }
}

/** Every event with `after` < sequence ≤ `through`, in order. Not windowed: the caller bounds the range. */
export function eventsBetween(archive: Archive, after: number, through: number): StoredEvent[] {
  return storedRange(archive.db, { after, through }, archive.epoch ?? NO_EPOCH)
}

interface FactsRow {
  sequence: number
  facts: string | null
}

/** Whether the event with these stored facts matches; null = a gap event. */
export function isMatch({ matches, needle }: Search, facts: string | null): boolean {
  if (matches === null) return true
  if (facts !== null && needle !== null && !facts.includes(needle)) return false
  return matches(readFacts(facts))
}

/** The facts of each event of a part that the indexes do not rule out. */
function* factsIn({ db }: Archive, part: Part): Generator<FactsRow> {
  if (part.sequences === null) {
    const scan = `SELECT sequence, facts FROM facts WHERE sequence > ? AND sequence <= ? ORDER BY sequence`
    yield* db.prepare<FactsRow>(`${scan} ${part.direction}`).iterate(part.after, part.through)
    return
  }
  const one = db.prepare<FactsRow>('SELECT sequence, facts FROM facts WHERE sequence = ?')
  for (const sequence of part.sequences) {
    const row = one.get(sequence)
    if (row !== undefined) yield row
  }
}
