/**
 * Checks what stream clients received over disconnects, restarts and a change of epoch against the logs (contract §8). The
 * plain filter evaluator decides which events a client should have.
 */
import { type Cursor, decodeCursor } from '../../../src/core/cursor.ts'
import { readDisclosure } from '../../../src/core/disclosure.ts'
import { isGap } from '../../../src/core/event.ts'
import { disclosureFacts, type Facts, GAP_FACTS } from '../../../src/core/filter/facts.ts'
import { type Filter, matches } from '../../../src/core/filter/filter.ts'
import type { ApiEvent } from '../http/api-client.ts'
import type { Move, Taken } from './cut-reader.ts'

/** A reader with a cursor of another epoch continues this long before its time. */
const EPOCH_MARGIN_MS = 3_600_000

/** One event of a reference log. */
interface LoggedEvent {
  id: string
  sequence: number
  timeMs: number
  facts: Facts
}

/** Everything that one epoch's log had, in order. */
export interface EpochLog {
  epoch: string
  events: readonly LoggedEvent[]
}

/** The checked parts of a reader. */
export interface JudgedReader {
  options: { filter: Filter }
  taken: readonly Taken[]
  moves: readonly Move[]
  /** Its last cursor; null: none. */
  cursor: string | null
  complaints: readonly string[]
}

/** The counts over all readers. */
export interface ReaderVerdict {
  /** Events of all logs that match, those among them that were read in an earlier epoch already. */
  matching: number
  taken: number
  /** Received again in the same epoch. */
  repeats: number
  /** Matching, neither received nor announced. */
  missing: number
  /** Matching, not received, of an epoch whose end was announced. */
  announced: number
  /** Received, and not matching or of no log. */
  foreign: number
  /** Received after a later one. */
  disordered: number
  /** Epoch changes that were not announced to a reader before its first event of the new one. */
  untold: number
  /** Sentences of the first few; empty: every promise was kept. */
  broken: string[]
}

/** Sentences kept. */
const MOST_SENTENCES = 20

/** The log of one epoch from everything that a pull gave. Throws on a log with holes or without events. */
export function epochLog(pulled: readonly ApiEvent[]): EpochLog {
  const [first] = pulled
  if (first === undefined) throw new Error('an epoch without events proves nothing')
  const hole = pulled.findIndex(
    ({ sequence, epoch }, at) => Number(sequence) !== at + 1 || epoch !== first.epoch,
  )
  if (hole >= 0) throw new Error(`the log of ${first.epoch} has a hole at ${hole + 1}`)
  return { epoch: first.epoch, events: pulled.map(loggedEvent) }
}

function loggedEvent({ id, sequence, time, type, data }: ApiEvent): LoggedEvent {
  const place = { id, sequence: Number(sequence), timeMs: Date.parse(time) }
  if (isGap(type)) return { ...place, facts: GAP_FACTS }
  const read = readDisclosure(data)
  if (!read.ok) throw new Error(`${id} cannot be read: ${read.reason}`)
  const kind = type === 'disclosure.amended.v1' ? 'amended' : 'published'
  return { ...place, facts: disclosureFacts(read.disclosure, kind, 'Native') }
}

/** The last matching sequence of a log; 0 if there is none. */
export function lastWanted({ events }: EpochLog, filter: Filter): number {
  return events.findLast(({ facts }) => matches(filter, facts))?.sequence ?? 0
}

/** Checks all readers against the logs, the oldest epoch first. */
export function judgeReaders(readers: readonly JudgedReader[], logs: readonly EpochLog[]): ReaderVerdict {
  const verdict: ReaderVerdict = {
    matching: 0,
    taken: 0,
    repeats: 0,
    missing: 0,
    announced: 0,
    foreign: 0,
    disordered: 0,
    untold: 0,
    broken: [],
  }
  for (const reader of readers) {
    const say = (what: string): void => {
      if (verdict.broken.length < MOST_SENTENCES)
        verdict.broken.push(`the reader of ${JSON.stringify(reader.options.filter)} ${what}`)
    }
    for (const complaint of reader.complaints) say(complaint)
    judgeReader(reader, logs, verdict, say)
  }
  return verdict
}

function judgeReader(
  reader: JudgedReader,
  logs: readonly EpochLog[],
  verdict: ReaderVerdict,
  say: (what: string) => void,
): void {
  const { taken, options } = reader
  const ids = new Set(taken.map(({ id }) => id))
  const changes = logs.slice(1).map((_, at) => changeFrom(logs[at]?.epoch, reader))
  verdict.taken += taken.length
  judgeOrder(taken, logs, verdict, say)
  for (const [at, { epoch, events }] of logs.entries()) {
    const own = taken.filter((event) => event.epoch === epoch)
    const matching = events.filter(({ facts }) => matches(options.filter, facts))
    verdict.matching += matching.length
    const known = new Map(matching.map(({ sequence, id }) => [sequence, id]))
    const foreign = own.filter(({ sequence, id }) => known.get(sequence) !== id)
    verdict.foreign += foreign.length
    if (foreign.length > 0) say(`got ${foreign.length} that it should not, the first ${placeOf(foreign[0])}`)
    const got = new Set(own.map(({ sequence }) => sequence))
    const lacking = matching.filter(({ sequence }) => !got.has(sequence))
    const from = firstOwed(events, changes[at - 1])
    const change = changes[at]
    const until = change === undefined ? Number.POSITIVE_INFINITY : (change.held?.sequence ?? 0)
    // Behind the place where the epoch ended for it, the next epoch brings them, or the notice tells of them. Gaps of a log
    // end with it: what they tell of is in the next one, or is what the notice tells of.
    const unread = lacking.filter(
      ({ sequence, id, facts }) => sequence > until && !ids.has(id) && facts.kind !== 'gap',
    )
    const isAnnounced = change !== undefined && change.held !== null && change.isTold
    verdict.announced += isAnnounced ? unread.length : 0
    const unnoticed = lacking.filter(({ sequence }) => sequence >= from && sequence <= until)
    const missing = isAnnounced ? unnoticed : [...unnoticed, ...unread]
    verdict.missing += missing.length
    if (missing.length > 0) say(`misses ${missing.length} of ${epoch}, the first ${missing[0]?.sequence}`)
  }
  const strangers = taken.filter(({ epoch }) => !logs.some((log) => log.epoch === epoch))
  verdict.foreign += strangers.length
  if (strangers.length > 0) say(`got something of an epoch that never was: ${placeOf(strangers[0])}`)
  const untold = changes.filter(({ isTold }) => !isTold).length
  verdict.untold += untold
  if (untold > 0) say('was not told of the new epoch before it got something of it')
}

function placeOf(event: Taken | null | undefined): string {
  return `${event?.epoch} ${event?.sequence} ${event?.id}`
}

/** How a reader left an epoch. */
interface Change {
  /** Its cursor in that epoch; null if it had none. */
  held: Cursor | null
  isTold: boolean
}

function changeFrom(epoch: string | undefined, { moves, cursor }: JudgedReader): Change {
  const move = moves.find(({ from }) => decodeCursor(from).epoch === epoch)
  if (move !== undefined) return { held: decodeCursor(move.from), isTold: move.isTold }
  const isThere = cursor !== null && decodeCursor(cursor).epoch === epoch
  return { held: null, isTold: !isThere }
}

/** The first required sequence after a change: for a reader with a cursor, as the contract counts it. */
function firstOwed(events: readonly LoggedEvent[], change: Change | undefined): number {
  const held = change?.held ?? null
  if (held === null) return 1
  const first = events.find(({ timeMs }) => timeMs >= held.timeMs - EPOCH_MARGIN_MS)
  return first?.sequence ?? events.length + 1
}

/** Counts repeats in an epoch, and events after a later one, which no dedupe can correct. */
function judgeOrder(
  taken: readonly Taken[],
  logs: readonly EpochLog[],
  verdict: ReaderVerdict,
  say: (what: string) => void,
): void {
  const places = new Map(logs.map(({ epoch }, at) => [epoch, at]))
  const seen = new Set<string>()
  let last: Taken | null = null
  for (const event of taken) {
    const key = `${event.epoch} ${event.id}`
    if (seen.has(key)) {
      verdict.repeats += 1
      continue
    }
    seen.add(key)
    const [place = 0, lastPlace = 0] = [places.get(event.epoch), places.get(last?.epoch ?? event.epoch)]
    const isBehind = last !== null && (place - lastPlace || event.sequence - last.sequence) <= 0
    if (isBehind) {
      verdict.disordered += 1
      say(`got ${placeOf(event)} behind ${placeOf(last)}`)
    } else last = event
  }
}
