/**
 * The windowed read of the archive: each call holds the event loop for about HOLD_MS and says how far it came.
 * Owns which index narrows a filter and when a window ends. Refuses to wait or to loop: `reader.ts` does.
 */
import type { Facts } from '../../core/filter/facts.ts'
import type { Filter } from '../../core/filter/filter.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Archive } from '../store/archive.ts'
import { NO_EPOCH } from '../store/archive.ts'
import { narrowing } from '../store/index-terms.ts'
import type { StoredEvent } from '../store/stored.ts'
import { readFacts, storedEvent, storedRun } from '../store/stored.ts'
import { matcherFor } from './matcher.ts'
import type { Asking, Direction } from './scan-cursor.ts'
import { askingFor, offer } from './scan-cursor.ts'

/** A window ends at the first row looked at after this long; the event loop is meant never to be held for 50 ms. */
const HOLD_MS = 15
/** Rows of whole events fetched at once: beyond it nothing gets faster, and each may have half a megabyte. */
const FETCH_ROWS = 128
/** Text that JSON writes as it is. */
const PLAIN_IN_JSON = /^[ !#-[\]-~]+$/

/** A filter with the way to its events; kept for as long as somebody reads with it. */
export interface Search {
  /** null = every event. */
  readonly matches: ((facts: Facts) => boolean) | null
  /** Text that the stored facts of every match contain; null where nothing is known. Spares parsing the others. */
  readonly needle: string | null
  /** null = no index helps: all facts are looked at. */
  readonly asking: Asking | null
}

/** The search for a filter; null = every event. */
export function searchFor(filter: Filter | null): Search {
  const narrowed = filter === null ? null : narrowing(filter)
  return {
    matches: filter === null ? null : matcherFor(filter),
    needle: filter?.q !== undefined && PLAIN_IN_JSON.test(filter.q) ? filter.q : null,
    asking: narrowed === null ? null : askingFor(narrowed),
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
  const part = partOf(archive, clock, search, 'ASC', range)
  const events: StoredEvent[] = []
  let bytes = 0
  let position = part.through
  for (const { sequence, event } of lookedAt(archive, search, part, range.limit)) {
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
  const part = partOf(archive, clock, search, 'DESC', { after: range.floor, through: range.from })
  let found = 0
  let position = part.after
  for (const { sequence, matched } of inspected(archive, search, part)) {
    if (matched) found += 1
    if (found === range.count || clock.now() - startMs >= HOLD_MS) {
      position = sequence - 1
      break
    }
  }
  return { found, position }
}

/** The part of a range that one window decides about, and which of its events it has to look at; null = all. */
interface Part {
  direction: Direction
  after: number
  through: number
  sequences: readonly number[] | null
}

function partOf(
  archive: Archive,
  clock: Clock,
  search: Search,
  direction: Direction,
  { after, through }: { after: number; through: number },
): Part {
  if (search.asking === null) return { direction, after, through, sequences: null }
  const range = { epoch: archive.epoch, direction, after, through }
  return { direction, ...offer(archive.db, () => clock.now(), search.asking, range) }
}

/** Each event looked at in a part, with the event itself where it matches. */
function* lookedAt(
  archive: Archive,
  search: Search,
  part: Part,
  limit: number,
): Generator<{ sequence: number; event: StoredEvent | null }> {
  if (search.matches === null) {
    const rows = Math.min(FETCH_ROWS, limit)
    for (let low = part.after; low < part.through; low += rows) {
      for (const event of eventsBetween(archive, low, Math.min(low + rows, part.through))) {
        yield { sequence: event.sequence, event }
      }
    }
    return
  }
  const epoch = archive.epoch ?? NO_EPOCH
  for (const { sequence, matched } of inspected(archive, search, part)) {
    const event = matched ? storedEvent(archive.db, sequence, epoch) : undefined
    yield { sequence, event: event ?? null }
  }
}

/** Every event with `after` < sequence ≤ `through`, in order. Not windowed: the caller bounds the range. */
export function eventsBetween(archive: Archive, after: number, through: number): StoredEvent[] {
  return storedRun(archive.db, { after, through }, archive.epoch ?? NO_EPOCH)
}

interface FactsRow {
  sequence: number
  facts: string | null
}

/** The filter's word on each event of a part that the indexes do not rule out. */
function* inspected(
  archive: Archive,
  search: Search,
  part: Part,
): Generator<{ sequence: number; matched: boolean }> {
  for (const { sequence, facts } of factsIn(archive, part)) {
    yield { sequence, matched: isMatch(search, facts) }
  }
}

function isMatch(search: Search, facts: string | null): boolean {
  if (search.matches === null) return true
  if (facts !== null && search.needle !== null && !facts.includes(search.needle)) return false
  return search.matches(readFacts(facts))
}

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
