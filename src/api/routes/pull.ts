/**
 * Reads the pages of `GET /v1/disclosures`: resolves where to start and to end, waits for events, and reads forwards or
 * backwards.
 */
import type { Reader, ReadResult } from '../../archive/reading/reader.ts'
import { type LocalGap, NOT_OF_THIS_LOG, resumeAt, sequenceAt } from '../../archive/reading/resume.ts'
import { requireCompleteReplica } from '../../archive/replica/replica-incomplete.ts'
import { NO_EPOCH } from '../../archive/store/archive.ts'
import { encodeCursor } from '../../core/cursor.ts'
import type { Filter } from '../../core/filter/filter.ts'
import { LARGE_BATCH_BYTES } from '../../http/bounds/send-buffers.ts'
import { retryLater, tooOld, wrongFields } from '../../http/problem.ts'
import { type Clock, within } from '../../lifecycle/clock.ts'
import type { PullLimits } from './pull-places.ts'

/** JSON of an event, estimated high; a page of larger ones has fewer than `limit`. */
const USUAL_EVENT_BYTES = 2048
/** Longest reading for one answer: a filter that matches little gets a page early, with `more`. */
const READ_BUDGET_MS = 2000

/** What pulls work with. */
export interface PullParts {
  reader: Reader
  clock: Clock
  limits: PullLimits
  /** Aborts when this node stops: a long poll answers with what it has. */
  stopping: AbortSignal
}

/** Where a client asks to start. */
export type PullStart =
  | { kind: 'earliest' }
  | { kind: 'after'; cursor: string }
  | { kind: 'before'; cursor: string }
  | { kind: 'since'; timeMs: number }
  /** At the last matching events. */
  | { kind: 'tail'; count: number }

/** Where a client asks to end: at that event, or before the first event of a later time. */
export type PullEnd = { kind: 'cursor'; cursor: string } | { kind: 'time'; toMs: number }

/** What a client asks for. */
export interface Pull {
  start: PullStart
  /** null: at the end of the log. */
  end: PullEnd | null
  filter: Filter | null
  limit: number
  /** Until when to wait for the first event, ms since 1970. */
  deadlineMs: number
  signal: AbortSignal
  /** The id of the token that asks. */
  caller: string
}

/** One page of the log. */
export interface PullPage {
  /** JSON of each event. */
  events: readonly Buffer[]
  cursor: string
  more: boolean
}

/** A position to read on from; `localGap` comes first unless it is null. */
interface Place {
  after: number
  cursor: string
  localGap: LocalGap | null
}

/**
 * Reads one page.
 * @throws HttpProblem `unavailable`, `cursor_too_old`, `parameter_invalid`; BridgeError `cursor_invalid`
 */
export async function pull(wanted: Pull, parts: PullParts): Promise<PullPage> {
  const { reader, clock } = parts
  requireCompleteReplica(reader.replica)
  const { start } = wanted
  if (start.kind === 'before') return await readBack(start.cursor, wanted, parts)
  const place =
    start.kind === 'after' ? await resumed(start.cursor, wanted, parts) : await placeOf(start, wanted, reader)
  if (place.localGap === null) return await readPage(place, wanted, parts)
  const limit = wanted.limit - 1
  if (limit === 0) {
    return { events: [place.localGap.json], cursor: place.localGap.cursor, more: reader.latest > place.after }
  }
  // The gap event counts as an event, so a long poll does not wait.
  const page = await readPage(place, { ...wanted, limit, deadlineMs: clock.now() }, parts)
  return { ...page, events: [place.localGap.json, ...page.events] }
}

async function placeOf(
  start: Exclude<PullStart, { cursor: string }>,
  { end, filter, signal, caller }: Pull,
  reader: Reader,
): Promise<Place> {
  const { epoch } = reader
  const after = await positionOf()
  requireSameEpoch(reader, epoch)
  return { after, cursor: reader.cursorAt(after), localGap: null }

  async function positionOf(): Promise<number> {
    switch (start.kind) {
      case 'earliest':
        return reader.oldest - 1
      case 'since':
        return reader.sequenceSince(start.timeMs)
      case 'tail':
        return await reader.beforeLast(filter, start.count, signal, caller, throughOf(end, reader))
    }
  }
}

/** The place of a cursor, once the replica has reached it or the deadline has passed. */
async function resumed(
  text: string,
  { deadlineMs, signal }: Pull,
  { reader, clock }: PullParts,
): Promise<Place> {
  for (;;) {
    const resume = resumeAt(reader, text, clock.now())
    if (resume.kind === 'too_old') throw tooOld(resume.oldest)
    const { after } = resume
    const leftMs = deadlineMs - clock.now()
    if (after <= reader.latest || leftMs <= 0 || signal.aborted) return resume
    await within(clock, leftMs, signal, (either) => reader.waitBeyond(after - 1, either))
    requireCompleteReplica(reader.replica)
  }
}

/**
 * The last sequence to read; infinite without an end.
 * @throws HttpProblem `parameter_invalid` for a cursor that names no event of this log
 */
function throughOf(end: PullEnd | null, reader: Reader): number {
  if (end === null) return Number.POSITIVE_INFINITY
  if (end.kind === 'time') {
    const through = reader.sequenceSince(end.toMs + 1)
    // Nothing is later: what comes next may still be of that time.
    return through === reader.latest ? Number.POSITIVE_INFINITY : through
  }
  const through = sequenceAt(reader, end.cursor)
  if (through !== null) return through
  throw wrongFields('parameter_invalid', [{ field: 'until', message: NOT_OF_THIS_LOG }])
}

/**
 * Reads one page, waiting until `deadlineMs` for its first event. If the replica is refilled or prunes the next events
 * meanwhile, the request fails and the client resumes from its own cursor.
 */
async function readPage(place: Place, wanted: Pull, parts: PullParts): Promise<PullPage> {
  const { reader, clock } = parts
  const { start, end, filter, limit, deadlineMs, signal, caller } = wanted
  const how = { filter, limit, signal, caller, isUrgent: true, budgetMs: READ_BUDGET_MS }
  const { epoch } = reader
  let { after, cursor } = place
  for (;;) {
    const through = throughOf(end, reader)
    const from = after
    const read = await readWithin(parts, limit, (maxBytes) =>
      reader.read({ after: from, through, maxBytes, ...how }),
    )
    requireCompleteReplica(reader.replica)
    requireSameEpoch(reader, epoch)
    // A reader that continues must not skip events that were dropped by age; one that starts may.
    if (start.kind === 'after' && reader.oldest - 1 > after) throw tooOld(reader.cursorAt(reader.oldest - 1))
    if (read.position <= reader.latest) ({ position: after, cursor } = read)
    const isOver = after >= through || clock.now() >= deadlineMs || signal.aborted
    if (read.events.length > 0 || read.more || isOver) {
      return { events: read.events.map(({ json }) => json), cursor, more: read.more }
    }
    await within(clock, deadlineMs - clock.now(), signal, (either) => reader.waitBeyond(after, either))
  }
}

/** The events before that of a cursor, the newest first; of a cursor of another epoch, after its gap event. */
async function readBack(text: string, wanted: Pull, parts: PullParts): Promise<PullPage> {
  const { reader } = parts
  const { before, localGap } = placeBefore(text, parts)
  if (localGap === null) return await readPageBack(before, wanted, parts)
  const limit = wanted.limit - 1
  if (limit === 0) {
    return { events: [localGap.json], cursor: cursorBefore(reader, before), more: before > reader.oldest }
  }
  const page = await readPageBack(before, { ...wanted, limit }, parts)
  return { ...page, events: [localGap.json, ...page.events] }
}

/** The sequence before which a cursor reads backwards, and the gap event that comes first. Throws as `pull`. */
function placeBefore(
  text: string,
  { reader, clock }: PullParts,
): { before: number; localGap: LocalGap | null } {
  const behindNewest = reader.latest + 1
  if (text === cursorBefore(reader, behindNewest)) return { before: behindNewest, localGap: null }
  const resume = resumeAt(reader, text, clock.now())
  if (resume.kind === 'too_old') throw tooOld(resume.oldest)
  const { after, localGap } = resume
  if (after > reader.latest) throw retryLater('unavailable', 'this node has not reached the cursor yet')
  return { before: localGap === null ? after : after + 1, localGap }
}

/**
 * The cursor of a page that ends before that sequence. Of a page that had only its gap event, that may be the next sequence of
 * the log: such a cursor has no time.
 */
function cursorBefore(reader: Reader, sequence: number): string {
  if (sequence <= reader.latest) return reader.cursorAt(sequence)
  return encodeCursor({ epoch: reader.epoch ?? NO_EPOCH, sequence, timeMs: 0 })
}

/** The events before a sequence, the newest first. */
async function readPageBack(
  before: number,
  { filter, limit, signal, caller }: Pull,
  parts: PullParts,
): Promise<PullPage> {
  const { reader } = parts
  const { epoch } = reader
  const how = { filter, limit, signal, caller, isUrgent: true, budgetMs: READ_BUDGET_MS }
  const read = await readWithin(parts, limit, (maxBytes) => reader.readBack({ before, maxBytes, ...how }))
  requireCompleteReplica(reader.replica)
  requireSameEpoch(reader, epoch)
  return { ...read, events: read.events.map(({ json }) => json) }
}

function requireSameEpoch(reader: Reader, epoch: string | null): void {
  if (epoch !== null && reader.epoch !== epoch) throw retryLater('unavailable', 'the log has a new epoch')
}

/** Reads as much as the node has memory for: fewer events where other clients have not taken theirs. */
async function readWithin(
  { limits }: PullParts,
  limit: number,
  read: (maxBytes: number) => Promise<ReadResult>,
): Promise<ReadResult> {
  await limits.tickGate.pass()
  const reservation = limits.sendBuffers.reserve(Math.max(LARGE_BATCH_BYTES, limit * USUAL_EVENT_BYTES))
  try {
    return await read(reservation.maxBytes)
  } finally {
    reservation.end()
  }
}
