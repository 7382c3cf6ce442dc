/**
 * The one read path of every consumer: pull, SSE, webhooks. Owns the choice between the tail and the archive and that
 * the event loop gets its turn. Refuses to know who reads and what a reader may still see (a cursor too old).
 */
import type { Filter, PlainFilter } from '../../core/filter/filter.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { yieldTurn } from '../../lifecycle/clock.ts'
import type { Archive } from '../store/archive.ts'
import { type CopyState, WHOLE } from '../store/replica-progress.ts'
import type { StoredEvent } from '../store/stored.ts'
import type { Search, Window } from './query.ts'
import { countBack, readWindow, searchFor } from './query.ts'
import type { Tail } from './recent-events.ts'
import { createSearchTurns, type SearchTurns } from './search-slices.ts'

/** Most JSON that one read hands out, give or take one event; the rest comes with the next. */
const READ_BYTES = 8 * 1024 * 1024
/**
 * Filters whose search is kept, and the identifiers in them together: thousands of streams that seldom get anything would
 * hold two kilobytes each, and a filter may have ten thousand identifiers.
 */
const SEARCHES_KEPT = 1000
const IDENTIFIERS_KEPT = 100_000
/** Events of the tail looked at between two turns of the event loop. */
const TAIL_SLICE = 2000

export interface ReadRequest {
  /** The position to read from: events with a greater sequence. */
  after: number
  /** null = everything. */
  filter: Filter | null
  /** Most events wanted, at least 1. Fewer may come. */
  limit: number
  /** Most JSON wanted, bytes, give or take one event; 8 MiB where it is left out. */
  maxBytes?: number
  signal: AbortSignal
  /** Time after which the read stops wherever it is; without it, it goes on to the limit or the end. */
  budgetMs?: number
}

export interface ReadResult {
  events: StoredEvent[]
  /** Where reading stopped, also when nothing matched: everything up to here is decided. */
  position: number
  /** The resume point at `position`. */
  cursor: string
  /** The log goes on past `position`. */
  more: boolean
}

export interface Reader {
  /** Whether what is read here is the log: while the copy is filled nothing is to be read for anybody. */
  readonly copy: CopyState
  /** null before the log's first writer. */
  readonly epoch: string | null
  /** Sequence of the first event kept; `latest + 1` where there is none. */
  readonly oldest: number
  /** Sequence of the last event that readers see; 0 before the first. */
  readonly latest: number
  /** Matching events in order. An abort ends it early with what it has. */
  read(request: ReadRequest): Promise<ReadResult>
  /** The resume point just after `sequence`; before the log has an epoch, one of `NO_EPOCH`. */
  cursorAt(sequence: number): string
  /** The position before the lowest sequence whose time is at or after `timeMs`; `latest` where there is none. */
  sequenceSince(timeMs: number): number
  /**
   * The position from which exactly the last `count` matching events follow; before the oldest where fewer match.
   * An abort ends it early, with fewer.
   */
  beforeLast(filter: Filter | null, count: number, signal: AbortSignal): Promise<number>
  /**
   * Resolves when `latest` is greater than `sequence`, when the copy begins anew, or the signal aborts. Never rejects.
   */
  waitBeyond(sequence: number, signal: AbortSignal): Promise<void>
}

/** What reading needs. */
interface ReaderParts {
  archive: Archive
  tail: Tail
  clock: Clock
  turns: SearchTurns
}

/**
 * The reader over what the follower has brought. `copy`: of a store that is filled from elsewhere. `turns`: shared with
 * whoever else searches the archive.
 */
export function createReader(
  archive: Archive,
  tail: Tail,
  clock: Clock,
  copy: CopyState = WHOLE,
  turns: SearchTurns = createSearchTurns(clock),
): Reader {
  const parts = { archive, tail, clock, turns }
  const searches = new Map<Filter, Search>()
  let identifiers = 0
  const forget = (filter: Filter): void => {
    if (searches.delete(filter)) identifiers -= identifiersIn(filter)
  }
  /** A consumer reads with one filter object: what was learnt of it is kept while it reads often. */
  const searchOf = (filter: Filter | null): Search => {
    if (filter === null) return searchFor(null)
    const search = searches.get(filter) ?? searchFor(filter)
    forget(filter)
    searches.set(filter, search)
    identifiers += identifiersIn(filter)
    for (const oldest of searches.keys()) {
      if (searches.size <= SEARCHES_KEPT && identifiers <= IDENTIFIERS_KEPT) break
      forget(oldest)
    }
    return search
  }
  return {
    copy,
    get epoch() {
      return archive.epoch
    },
    get oldest() {
      return archive.oldest
    },
    get latest() {
      return tail.latest
    },
    read: (request) => read(parts, searchOf(request.filter), request),
    cursorAt: (sequence) => archive.cursorAt(sequence),
    sequenceSince: (timeMs) => Math.min(archive.sequenceSince(timeMs), tail.latest),
    beforeLast: (filter, count, signal) => beforeLast(parts, searchOf(filter), { count, signal }),
    waitBeyond: (sequence, signal) => tail.waitBeyond(sequence, signal),
  }
}

/** How many identifiers a filter names. */
function identifiersIn({ exclude, filters = [], ...own }: Filter): number {
  const plain = [own, ...filters, ...(exclude === undefined ? [] : [exclude])]
  const count = ({ isins = [], symbols = [], leis = [] }: PlainFilter): number =>
    isins.length + symbols.length + leis.length
  return plain.reduce((sum, one) => sum + count(one), 0)
}

async function read(parts: ReaderParts, search: Search, request: ReadRequest): Promise<ReadResult> {
  const { archive, tail, clock, turns } = parts
  const untilMs = request.budgetMs === undefined ? Number.POSITIVE_INFINITY : clock.now() + request.budgetMs
  const maxBytes = request.maxBytes ?? READ_BYTES
  const events: StoredEvent[] = []
  let bytes = 0
  let position = request.after
  while (position < tail.latest && !request.signal.aborted) {
    const range = { after: position, limit: request.limit - events.length, maxBytes: maxBytes - bytes }
    const fromTail = position >= tail.first - 1
    const step = (): Window => readStep(parts, search, range)
    const window = fromTail ? step() : await turns.take(step)
    for (const event of window.events) {
      events.push(event)
      bytes += event.json.length
    }
    position = window.position
    const done = events.length >= request.limit || bytes >= maxBytes || clock.now() >= untilMs
    // A window of the archive gives way even when it is the last: its caller may well read on at once.
    if (!fromTail || (!done && position < tail.latest)) await yieldTurn()
    if (done) break
  }
  const last = events.at(-1)
  const cursor = last?.sequence === position ? last.cursor : archive.cursorAt(position)
  const result = { events, position, cursor, more: position < tail.latest }
  // Nothing was read, and there may be a caller that reads on until there is more: whoever brings it gets a turn.
  if (position === request.after) await yieldTurn()
  return result
}

interface StepRange {
  after: number
  limit: number
  maxBytes: number
}

/** A window of the tail or the archive, as they are when its turn has come; none where all was forgotten meanwhile. */
function readStep({ archive, tail, clock }: ReaderParts, search: Search, range: StepRange): Window {
  if (range.after >= tail.latest) return { events: [], position: range.after }
  if (range.after >= tail.first - 1) return readTail(tail, search, range)
  return readWindow(archive, clock, search, { ...range, through: Math.min(tail.first - 1, tail.latest) })
}

function readTail(tail: Tail, search: Search, range: StepRange): Window {
  const end = Math.min(tail.latest, range.after + TAIL_SLICE)
  const events: StoredEvent[] = []
  let bytes = 0
  let position = range.after
  while (position < end && events.length < range.limit && bytes < range.maxBytes) {
    position += 1
    const event = tail.at(position)
    if (event === undefined) continue
    if (search.matches === null || search.matches(event.facts)) {
      events.push(event)
      bytes += event.json.length
    }
  }
  return { events, position }
}

async function beforeLast(
  { archive, tail, clock, turns }: ReaderParts,
  search: Search,
  wanted: { count: number; signal: AbortSignal },
): Promise<number> {
  const floor = archive.oldest - 1
  if (search.matches === null) return Math.max(floor, tail.latest - wanted.count)
  let position = tail.latest
  let missing = wanted.count
  while (missing > 0 && position > floor && !wanted.signal.aborted) {
    const range = { from: position, floor, count: missing }
    const window = await turns.take(() => countBack(archive, clock, search, range))
    missing -= window.found
    position = window.position
    if (missing > 0) await yieldTurn()
  }
  return position
}
