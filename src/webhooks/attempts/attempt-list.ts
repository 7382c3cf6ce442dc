/**
 * Reads the attempts of an endpoint from the tables of an attempt file, the newest first: of all events at once, and of one
 * event in steps. An index by event would cost every attempt a third row, so a search for one looks at all that are kept.
 */
import type { AttemptOutcome } from '../../core/attempt-end.ts'
import type { Steps } from '../../lifecycle/slices.ts'
import type { Database } from '../../storage/database.ts'
import type { AttemptRecord } from './attempt-record.ts'

/** An attempt of a list. */
export type KeptAttempt = Omit<AttemptRecord, 'endpointId' | 'result' | 'dueMs'>

/** The place of an attempt in the order of an endpoint's. */
export type AttemptPlace = Pick<AttemptRecord, 'atMs' | 'sequence' | 'attempt'>

/** What attempts are listed. */
export interface AttemptQuery {
  outcomes: readonly AttemptOutcome[]
  before: AttemptPlace | null
  limit: number
}

/** The same of one event. */
export interface EventAttemptQuery extends AttemptQuery {
  eventId: string
}

/** A delivery of the event. */
interface EventPlace {
  epoch: string
  sequence: number
}

/** Rows that one step looks at: two milliseconds. */
const WINDOW = 4096

/** CROSS JOIN makes SQLite scan the attempts, in their order. */
const ATTEMPTS_BEFORE = `
  SELECT d.event_id AS eventId, d.webhook_id AS webhookId, a.epoch, a.sequence, a.attempt, a.at_ms AS atMs, a.status, a.outcome,
    a.duration_ms AS durationMs, a.phase, r.text AS response
  FROM attempts a
  CROSS JOIN deliveries d ON d.endpoint = a.endpoint AND d.epoch = a.epoch AND d.sequence = a.sequence
  LEFT JOIN responses r ON r.number = a.response
  WHERE a.endpoint = ? AND a.outcome = ? AND (a.at_ms, a.sequence, a.attempt) < (?, ?, ?)`
const LATEST_FIRST = 'ORDER BY a.at_ms DESC, a.sequence DESC, a.attempt DESC LIMIT ?'
const LIST_ATTEMPTS = `${ATTEMPTS_BEFORE} ${LATEST_FIRST}`
const LIST_EVENT_ATTEMPTS = `${ATTEMPTS_BEFORE}
  AND (a.at_ms, a.sequence, a.attempt) >= (?, ?, ?) AND a.epoch = ? AND a.sequence = ? ${LATEST_FIRST}`
const ATTEMPTS_END = `
  SELECT at_ms AS atMs, sequence, attempt FROM attempts
  WHERE endpoint = ? AND outcome = ? AND (at_ms, sequence, attempt) < (?, ?, ?)
  ORDER BY at_ms DESC, sequence DESC, attempt DESC LIMIT 1 OFFSET ${WINDOW - 1}`
const DELIVERIES_END = `
  SELECT epoch, sequence FROM deliveries WHERE endpoint = ? AND (epoch, sequence) > (?, ?)
  ORDER BY epoch, sequence LIMIT 1 OFFSET ${WINDOW - 1}`
const EVENT_PLACES = `
  SELECT epoch, sequence FROM deliveries
  WHERE endpoint = ? AND (epoch, sequence) > (?, ?) AND (epoch, sequence) <= (?, ?) AND event_id = ?`

/** Sorts after every attempt. */
const LAST_PLACE: AttemptPlace = { atMs: Number.MAX_SAFE_INTEGER, sequence: 0, attempt: 0 }
/** Sorts before every attempt. */
const FIRST_PLACE: AttemptPlace = { atMs: -1, sequence: 0, attempt: 0 }
/** Sort before and after every delivery. */
const FIRST_DELIVERY: EventPlace = { epoch: '', sequence: -1 }
const LAST_DELIVERY: EventPlace = { epoch: '\u{10FFFF}', sequence: 0 }

/** Attempts of the endpoint with that number in the file, before a place. */
export function attemptsBefore(db: Database, endpoint: number, query: AttemptQuery): KeptAttempt[] {
  const { outcomes, before, limit } = query
  const list = db.prepare<KeptAttempt>(LIST_ATTEMPTS)
  const start = valuesOf(before ?? LAST_PLACE)
  return newestOf(
    outcomes.flatMap((outcome) => list.all(endpoint, outcome, ...start, limit)),
    limit,
  )
}

/** The same of one event. What is written between two steps may be left out. */
export function* eventAttempts(
  db: Database,
  endpoint: number,
  { eventId, ...query }: EventAttemptQuery,
): Steps<KeptAttempt[]> {
  const found: KeptAttempt[] = []
  for (const place of yield* placesOf(db, endpoint, eventId)) {
    for (const outcome of query.outcomes) {
      found.push(...(yield* attemptsAt(db, [endpoint, outcome], place, query)))
    }
  }
  return newestOf(found, query.limit)
}

/** The deliveries of an event: one in each epoch. */
function* placesOf(db: Database, endpoint: number, eventId: string): Steps<EventPlace[]> {
  const places: EventPlace[] = []
  for (let after: EventPlace | undefined = FIRST_DELIVERY; after !== undefined; ) {
    const from: EventPlace = after
    const end = db.prepare<EventPlace>(DELIVERIES_END).get(endpoint, from.epoch, from.sequence)
    const through = end ?? LAST_DELIVERY
    const range = [from.epoch, from.sequence, through.epoch, through.sequence]
    places.push(...db.prepare<EventPlace>(EVENT_PLACES).all(endpoint, ...range, eventId))
    after = end
    yield
  }
  return places
}

/** Attempts of one delivery with one outcome. */
function* attemptsAt(
  db: Database,
  key: readonly [endpoint: number, outcome: AttemptOutcome],
  { epoch, sequence }: EventPlace,
  { before, limit }: AttemptQuery,
): Steps<KeptAttempt[]> {
  const found: KeptAttempt[] = []
  let from: AttemptPlace | undefined = before ?? LAST_PLACE
  while (from !== undefined && found.length < limit) {
    const start = valuesOf(from)
    const end: AttemptPlace | undefined = db.prepare<AttemptPlace>(ATTEMPTS_END).get(...key, ...start)
    const range = [...start, ...valuesOf(end ?? FIRST_PLACE)]
    const list = db.prepare<KeptAttempt>(LIST_EVENT_ATTEMPTS)
    found.push(...list.all(...key, ...range, epoch, sequence, limit - found.length))
    from = end
    yield
  }
  return found
}

function newestOf(attempts: readonly KeptAttempt[], limit: number): KeptAttempt[] {
  return attempts.toSorted(newestFirst).slice(0, limit)
}

function newestFirst(one: AttemptPlace, other: AttemptPlace): number {
  return other.atMs - one.atMs || other.sequence - one.sequence || other.attempt - one.attempt
}

function valuesOf({ atMs, sequence, attempt }: AttemptPlace): [number, number, number] {
  return [atMs, sequence, attempt]
}
