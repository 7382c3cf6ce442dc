/**
 * Reads events for every consumer (HTTP pull, streams, webhooks): from memory where the consumer's position is recent, else
 * from the archive on disk. `resume.ts` checks whether a cursor is too old.
 */
import type { Filter } from '../../core/filter/filter.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { yieldToEventLoop } from '../../lifecycle/clock.ts'
import type { Archive } from '../store/archive.ts'
import { COMPLETE_REPLICA, type ReplicaState } from '../store/replica-progress.ts'
import type { StoredEvent } from '../store/stored.ts'
import type { Search, Window } from './query.ts'
import { countBack, readWindow, readWindowBack } from './query.ts'
import type { RecentEvents } from './recent-events.ts'
import { SearchCache } from './search-cache.ts'
import { createSearchSlices, OWN_SEARCHES, type SearchSlices } from './search-slices.ts'

/** Most JSON that one read returns, give or take one event. */
const READ_BYTES = 8 * 1024 * 1024
/** Events in memory that are inspected before the event loop may run other work. */
const RECENT_EVENTS_PER_STEP = 2000
/** So few events in memory are matched at once; more take a time slice as those on disk do. */
const FEW_RECENT_EVENTS = 200

/** What to read. */
export interface ReadRequest {
  /** The position to read from: events with a greater sequence. */
  after: number
  /** Where reading ends: no event of a greater sequence; by default the end of the log. */
  through?: number
  /** null = every event. */
  filter: Filter | null
  /** Most events wanted, at least 1. Fewer may be returned. */
  limit: number
  /** Most JSON wanted, bytes, give or take one event; 8 MiB by default. */
  maxBytes?: number
  signal: AbortSignal
  /** Who reads, a token or a part of the bridge: search time is shared among callers. By default the bridge itself. */
  caller?: string
  /** Whether the caller waits for the answer, so that the searches of others hold back; by default it does not. */
  isUrgent?: boolean
  /** Time after which the read returns what it has; by default it goes on to the limit or the end. */
  budgetMs?: number
}

/** What to read backwards. */
export interface ReadBackRequest
  extends Pick<ReadRequest, 'filter' | 'limit' | 'maxBytes' | 'signal' | 'caller' | 'isUrgent' | 'budgetMs'> {
  /** Events of a smaller sequence, the newest first. */
  before: number
}

/** What was read. */
export interface ReadResult {
  events: StoredEvent[]
  /** Where reading stopped, also when nothing matched: no match up to here is missing. */
  position: number
  /** The resume point at `position`. */
  cursor: string
  /** Whether there are events to read after `position`; of a read backwards: before `cursor`. */
  more: boolean
}

/** The read path of all consumers. */
export type Reader = ReturnType<typeof createReader>

interface ReaderParts {
  archive: Archive
  recentEvents: RecentEvents
  clock: Clock
  slices: SearchSlices
}

/**
 * A reader over the archive and the events in memory. `replica`: the fill state of an archive that is a replica.
 * `slices`: shared with all other searches of the archive.
 */
export function createReader(
  archive: Archive,
  recentEvents: RecentEvents,
  clock: Clock,
  replica: ReplicaState = COMPLETE_REPLICA,
  slices: SearchSlices = createSearchSlices(clock),
) {
  const parts = { archive, recentEvents, clock, slices }
  const searches = new SearchCache()
  return {
    /** While the replica is being filled, nothing may be served from it. */
    replica,
    /** null before the log's first writer. */
    get epoch(): string | null {
      return archive.epoch
    },
    /** Sequence of the first event kept; `latest + 1` where there is none. */
    get oldest(): number {
      return archive.oldest
    },
    /** Sequence of the last event that readers see; 0 before the first. */
    get latest(): number {
      return recentEvents.latest
    },
    /** Matching events in order. An abort ends it early with what it has. */
    read: (request: ReadRequest): Promise<ReadResult> => read(parts, searches.for(request.filter), request),
    /** Matching events, the newest first. `cursor` names the last event that was inspected; an abort ends it early. */
    readBack: (request: ReadBackRequest): Promise<ReadResult> =>
      readBack(parts, searches.for(request.filter), request),
    /** The resume point just after `sequence`; before the log has an epoch, one of `NO_EPOCH`. */
    cursorAt: (sequence: number): string => archive.cursorAt(sequence),
    /** The time of the event at `sequence`, ms since 1970; null where this node does not store it. */
    timeOf: (sequence: number): number | null => archive.timeOf(sequence),
    /** When the bridge first held the event at `sequence`, ms since 1970; null where this node does not store it. */
    recordedAt: (sequence: number): number | null =>
      recentEvents.at(sequence)?.recordedMs ?? archive.recordedAt(sequence),
    /** The last sequence that the log may share with another epoch; null where it was never restored. */
    sharedThrough: (epoch: string): number | null => archive.sharedThrough(epoch),
    /** The position before the lowest sequence whose time is at or after `timeMs`; `latest` where there is none. */
    sequenceSince: (timeMs: number): number => Math.min(archive.sequenceSince(timeMs), recentEvents.latest),
    /**
     * The position from which exactly the last `count` matching events up to `through` follow; before the oldest where
     * fewer match. An abort ends it early, with fewer.
     */
    beforeLast: (
      filter: Filter | null,
      count: number,
      signal: AbortSignal,
      caller?: string,
      through = Number.POSITIVE_INFINITY,
    ): Promise<number> => beforeLast(parts, searches.for(filter), { count, signal, caller, through }),
    /** Resolves when `latest` exceeds `sequence`, when the replica is emptied, or the signal aborts. Never rejects. */
    waitBeyond: (sequence: number, signal: AbortSignal): Promise<void> =>
      recentEvents.waitBeyond(sequence, signal),
  }
}

async function read(parts: ReaderParts, search: Search, request: ReadRequest): Promise<ReadResult> {
  const { archive, recentEvents, clock, slices } = parts
  const untilMs = request.budgetMs === undefined ? Number.POSITIVE_INFINITY : clock.now() + request.budgetMs
  const { maxBytes = READ_BYTES, caller = OWN_SEARCHES } = request
  if (request.isUrgent) slices.need(caller)
  const events: StoredEvent[] = []
  let bytes = 0
  let position = request.after
  const through = request.through ?? Number.POSITIVE_INFINITY
  while (position < Math.min(recentEvents.latest, through) && !request.signal.aborted) {
    const range = {
      after: position,
      through,
      limit: request.limit - events.length,
      maxBytes: maxBytes - bytes,
    }
    const isRecent = position >= recentEvents.first - 1
    const isCheap =
      isRecent && (search.matches === null || recentEvents.latest - position <= FEW_RECENT_EVENTS)
    const step = (): Window =>
      request.signal.aborted ? { events: [], position } : readStep(parts, search, range)
    const window = isCheap ? step() : await slices.run(step, caller)
    for (const event of window.events) {
      events.push(event)
      bytes += event.json.length
    }
    position = window.position
    if (events.length >= request.limit || bytes >= maxBytes || clock.now() >= untilMs) break
    if (isCheap && position < recentEvents.latest) await yieldToEventLoop()
  }
  const last = events.at(-1)
  const cursor = last?.sequence === position ? last.cursor : archive.cursorAt(position)
  const result = { events, position, cursor, more: position < Math.min(recentEvents.latest, through) }
  // Without progress the caller may retry in a loop: let the writer of new events run.
  if (position === request.after) await yieldToEventLoop()
  return result
}

async function readBack(
  { archive, recentEvents, clock, slices }: ReaderParts,
  search: Search,
  request: ReadBackRequest,
): Promise<ReadResult> {
  const { before, limit, signal, caller = OWN_SEARCHES, budgetMs = Number.POSITIVE_INFINITY } = request
  const { maxBytes = READ_BYTES } = request
  if (request.isUrgent) slices.need(caller)
  const untilMs = clock.now() + budgetMs
  const events: StoredEvent[] = []
  let bytes = 0
  let position = Math.min(before - 1, recentEvents.latest)
  while (position >= archive.oldest && !signal.aborted) {
    const left = { limit: limit - events.length, maxBytes: maxBytes - bytes }
    const range = { from: position, floor: archive.oldest - 1, ...left }
    const window = await slices.run(() => readWindowBack(archive, clock, search, range), caller)
    for (const event of window.events) {
      events.push(event)
      bytes += event.json.length
    }
    position = window.position
    if (events.length >= limit || bytes >= maxBytes || clock.now() >= untilMs) break
  }
  return { events, position, cursor: archive.cursorAt(position + 1), more: position >= archive.oldest }
}

interface StepRange {
  after: number
  through: number
  limit: number
  maxBytes: number
}

/** One window from memory or the archive; empty where the store was emptied since the read was queued. */
function readStep({ archive, recentEvents, clock }: ReaderParts, search: Search, range: StepRange): Window {
  if (range.after >= recentEvents.latest) return { events: [], position: range.after }
  if (range.after >= recentEvents.first - 1) return readRecent(recentEvents, search, range)
  const through = Math.min(recentEvents.first - 1, recentEvents.latest, range.through)
  return readWindow(archive, clock, search, { ...range, through })
}

function readRecent(recentEvents: RecentEvents, search: Search, range: StepRange): Window {
  const end = Math.min(recentEvents.latest, range.through, range.after + RECENT_EVENTS_PER_STEP)
  const events: StoredEvent[] = []
  let bytes = 0
  let position = range.after
  while (position < end && events.length < range.limit && bytes < range.maxBytes) {
    position += 1
    const event = recentEvents.at(position)
    if (event === undefined) continue
    if (search.matches === null || search.matches(event.facts)) {
      events.push(event)
      bytes += event.json.length
    }
  }
  return { events, position }
}

async function beforeLast(
  { archive, recentEvents, clock, slices }: ReaderParts,
  search: Search,
  wanted: { count: number; signal: AbortSignal; caller: string | undefined; through: number },
): Promise<number> {
  const floor = archive.oldest - 1
  let position = Math.min(recentEvents.latest, wanted.through)
  if (search.matches === null) return Math.max(floor, position - wanted.count)
  let missing = wanted.count
  while (missing > 0 && position > floor && !wanted.signal.aborted) {
    const range = { from: position, floor, count: missing }
    const window = await slices.run(() => countBack(archive, clock, search, range), wanted.caller)
    missing -= window.found
    position = window.position
  }
  return position
}
