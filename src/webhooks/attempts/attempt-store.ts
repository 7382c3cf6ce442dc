/**
 * Attempts and deliveries of the last days in a file of their own, made from the journal. Owns its tables, what an attempt
 * changes in them and the order of lists. Refuses to be the truth, to read the journal, and to decide when the file is made
 * anew: the index does.
 *
 * An attempt may be written twice, and attempts of one delivery in any order: the rows are the same afterwards, on any node.
 */
import { createHash } from 'node:crypto'
import { BridgeError } from '../../errors.ts'
import { type AttemptOutcome, attemptOutcomes } from '../../obs/metrics.ts'
import { type Database, openDatabase } from '../../storage/database.ts'
import type { AttemptRecord, AttemptResult } from './attempt-record.ts'

/** Kept in the file's `user_version`; a file of any other version is made anew. */
const VERSION = 1

/** How a delivery stands: it waits for its next try, it was taken, it was given up. */
export const deliveryStates = ['pending', 'delivered', 'dead'] as const
/** One of them. */
export type DeliveryState = (typeof deliveryStates)[number]

/**
 * Keys have the order of the lists, so that each is read from one place on, and what most rows are (delivered, `ok`) costs
 * two writes in all. Answers lie apart, once an endpoint and text: those of a failing endpoint are mostly the same.
 */
const TABLES = `
  CREATE TABLE place(only_one INTEGER PRIMARY KEY CHECK (only_one = 1), position TEXT NOT NULL);
  CREATE TABLE endpoints(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
  CREATE TABLE attempts(
    endpoint INTEGER NOT NULL, outcome TEXT NOT NULL, at_ms INTEGER NOT NULL, sequence INTEGER NOT NULL,
    attempt INTEGER NOT NULL, epoch TEXT NOT NULL, status INTEGER, duration_ms INTEGER NOT NULL, phase TEXT NOT NULL,
    response INTEGER, PRIMARY KEY (endpoint, outcome, at_ms, sequence, attempt)
  ) WITHOUT ROWID;
  CREATE TABLE deliveries(
    endpoint INTEGER NOT NULL, epoch TEXT NOT NULL, sequence INTEGER NOT NULL, event_id TEXT NOT NULL,
    state TEXT NOT NULL, attempts INTEGER NOT NULL, next_ms INTEGER, last_status INTEGER, last_ms INTEGER NOT NULL,
    PRIMARY KEY (endpoint, epoch, sequence)
  ) WITHOUT ROWID;
  CREATE INDEX deliveries_open ON deliveries(endpoint, epoch, state, sequence) WHERE state <> 'delivered';
  CREATE TABLE responses(
    number INTEGER PRIMARY KEY, endpoint INTEGER NOT NULL, hash BLOB NOT NULL, text TEXT NOT NULL,
    last_ms INTEGER NOT NULL, UNIQUE (endpoint, hash)
  );
  PRAGMA user_version = ${VERSION};
`

const PUT_ATTEMPT = `
  INSERT OR REPLACE INTO attempts(
    endpoint, outcome, at_ms, sequence, attempt, epoch, status, duration_ms, phase, response
  ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const PUT_DELIVERY = `
  INSERT INTO deliveries(endpoint, epoch, sequence, event_id, state, attempts, next_ms, last_status, last_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT(endpoint, epoch, sequence) DO UPDATE SET
    event_id = excluded.event_id, state = excluded.state, attempts = excluded.attempts, next_ms = excluded.next_ms,
    last_status = excluded.last_status, last_ms = excluded.last_ms
  WHERE excluded.last_ms >= last_ms`
const PUT_RESPONSE = `
  INSERT INTO responses(endpoint, hash, text, last_ms) VALUES (?, ?, ?, ?)
  ON CONFLICT(endpoint, hash) DO UPDATE SET last_ms = max(last_ms, excluded.last_ms) RETURNING number`
/** CROSS JOIN: the attempts are what is walked. */
const LIST_ATTEMPTS = `
  SELECT d.event_id AS eventId, a.epoch, a.sequence, a.attempt, a.at_ms AS atMs, a.status, a.outcome,
    a.duration_ms AS durationMs, a.phase, r.text AS response
  FROM attempts a
  CROSS JOIN deliveries d ON d.endpoint = a.endpoint AND d.epoch = a.epoch AND d.sequence = a.sequence
  LEFT JOIN responses r ON r.number = a.response
  WHERE a.endpoint = ? AND a.outcome = ? AND (a.at_ms, a.sequence, a.attempt) < (?, ?, ?)
  ORDER BY a.at_ms DESC, a.sequence DESC, a.attempt DESC LIMIT ?`
const LIST_DELIVERIES = `
  SELECT event_id AS eventId, sequence, state, attempts, next_ms AS nextMs, last_status AS lastStatus
  FROM deliveries WHERE endpoint = ? AND epoch = ? AND state = ? AND sequence < ?`
const NEWEST_FIRST = 'ORDER BY sequence DESC LIMIT ?'
const OLD_ATTEMPTS = `
  SELECT at_ms AS atMs, sequence, attempt, epoch, response FROM attempts
  WHERE endpoint = ? AND outcome = ? AND at_ms < ? ORDER BY at_ms, sequence, attempt LIMIT ?`

/** An attempt of a list. */
export type KeptAttempt = Pick<
  AttemptRecord,
  | 'eventId'
  | 'epoch'
  | 'sequence'
  | 'attempt'
  | 'atMs'
  | 'status'
  | 'outcome'
  | 'durationMs'
  | 'phase'
  | 'response'
>

/** The place of an attempt in the order of an endpoint's. */
export type AttemptPlace = Pick<AttemptRecord, 'atMs' | 'sequence' | 'attempt'>

/** A delivery of a list. */
export interface KeptDelivery {
  eventId: string
  sequence: number
  state: DeliveryState
  /** Made so far; a replay counts anew. */
  attempts: number
  /** When the next is due, ms since 1970; null where none is. */
  nextMs: number | null
  /** Of the last answer; null where the last attempt had none. */
  lastStatus: number | null
}

/** Every operation throws BridgeError as `Database` does. */
export interface AttemptStore {
  /** Up to where the journal is in here; null: nothing of it is. */
  readonly position: string | null
  /** Adds attempts, and where the journal goes on (null: not yet), all or nothing. */
  write(attempts: readonly AttemptRecord[], position: string | null): void
  /** Attempts of an endpoint with one of these outcomes, before that place, the newest first. */
  attempts(
    endpointId: string,
    query: { outcomes: readonly AttemptOutcome[]; before: AttemptPlace | null; limit: number },
  ): KeptAttempt[]
  /** Deliveries of an endpoint in one of these states, of events of that epoch before a sequence, the newest event first. */
  deliveries(
    endpointId: string,
    query: { epoch: string; states: readonly DeliveryState[]; before: number | null; limit: number },
  ): KeptDelivery[]
  /** Endpoints that have, or had, rows. */
  endpointIds(): string[]
  /** Forgets attempts of the endpoint from before a moment (null: all), and what only they need, at most `limit`. */
  forget(endpointId: string, beforeMs: number | null, limit: number): number
  /** Callable twice. */
  close(): void
}

/**
 * Opens the file, or makes it.
 * @throws BridgeError `log_unavailable`; `log_damaged` where it is damaged, or of another version of this program
 */
export function openAttemptStore(path: string, onDamage: () => void): AttemptStore {
  const db = openDatabase({ path, durable: false, onDamage })
  try {
    ensureTables(db)
    return storeOver(db)
  } catch (error) {
    db.close()
    throw error
  }
}

function ensureTables(db: Database): void {
  const version = db.prepare<{ user_version: number }>('PRAGMA user_version').get()?.user_version ?? 0
  if (version === VERSION) return
  if (version !== 0) {
    throw new BridgeError('log_damaged', `the index of attempts has version ${version}, not ${VERSION}`, {
      hint: 'Delete attempts.db while the process is stopped: it is made anew.',
    })
  }
  db.transaction(() => db.exec(TABLES))
}

function storeOver(db: Database): AttemptStore {
  const numbers = new Map<string, number>()
  const putAttempt = db.prepare(PUT_ATTEMPT)
  const putDelivery = db.prepare(PUT_DELIVERY)
  const putResponse = db.prepare<{ number: number }>(PUT_RESPONSE)
  const listAttempts = db.prepare<KeptAttempt>(LIST_ATTEMPTS)
  const oldAttempts = db.prepare<AttemptPlace & { epoch: string; response: number | null }>(OLD_ATTEMPTS)
  const dropAttempt = db.prepare(
    'DELETE FROM attempts WHERE endpoint = ? AND outcome = ? AND at_ms = ? AND sequence = ? AND attempt = ?',
  )
  const dropDelivery = db.prepare(
    'DELETE FROM deliveries WHERE endpoint = ? AND epoch = ? AND sequence = ? AND last_ms < ?',
  )
  const dropResponse = db.prepare('DELETE FROM responses WHERE number = ? AND last_ms < ?')
  const insertEndpoint = db.prepare('INSERT OR IGNORE INTO endpoints(id) VALUES (?)')
  const findEndpoint = db.prepare<{ number: number }>('SELECT number FROM endpoints WHERE id = ?')
  const putPosition = db.prepare('INSERT OR REPLACE INTO place(only_one, position) VALUES (1, ?)')
  let position = db.prepare<{ position: string }>('SELECT position FROM place').get()?.position ?? null

  const knownNumber = (endpointId: string): number | undefined => {
    const number = numbers.get(endpointId) ?? findEndpoint.get(endpointId)?.number
    if (number !== undefined) numbers.set(endpointId, number)
    return number
  }
  const numberOf = (endpointId: string): number => {
    const known = knownNumber(endpointId)
    if (known !== undefined) return known
    insertEndpoint.run(endpointId)
    return knownNumber(endpointId) ?? 0
  }
  const put = (record: AttemptRecord): void => {
    const { endpointId, epoch, sequence, eventId, attempt, atMs, status, outcome, phase, result } = record
    const endpoint = numberOf(endpointId)
    const response =
      record.response === null
        ? null
        : (putResponse.get(endpoint, hashOf(record.response), record.response, atMs)?.number ?? null)
    const { durationMs, dueMs } = record
    putAttempt.run(endpoint, outcome, atMs, sequence, attempt, epoch, status, durationMs, phase, response)
    putDelivery.run(endpoint, epoch, sequence, eventId, stateAfter(result), attempt, dueMs, status, atMs)
  }
  const forgetOf = (endpoint: number, outcome: AttemptOutcome, beforeMs: number, limit: number): number => {
    const old = oldAttempts.all(endpoint, outcome, beforeMs, limit)
    for (const { atMs, sequence, attempt, epoch, response } of old) {
      dropDelivery.run(endpoint, epoch, sequence, beforeMs)
      if (response !== null) dropResponse.run(response, beforeMs)
      dropAttempt.run(endpoint, outcome, atMs, sequence, attempt)
    }
    return old.length
  }
  /** As one transaction; numbers that it gave are forgotten where it is undone. */
  const transaction = <T>(work: () => T): T => {
    try {
      return db.transaction(work)
    } catch (error) {
      numbers.clear()
      throw error
    }
  }

  return {
    get position() {
      return position
    },
    write(attempts, next) {
      transaction(() => {
        for (const record of attempts) put(record)
        if (next !== null) putPosition.run(next)
      })
      position = next ?? position
    },
    attempts(endpointId, { outcomes, before, limit }) {
      const endpoint = knownNumber(endpointId)
      if (endpoint === undefined) return []
      const { atMs, sequence, attempt } = before ?? LAST_PLACE
      return outcomes
        .flatMap((outcome) => listAttempts.all(endpoint, outcome, atMs, sequence, attempt, limit))
        .sort(newestFirst)
        .slice(0, limit)
    },
    deliveries(endpointId, { epoch, states, before, limit }) {
      const endpoint = knownNumber(endpointId)
      if (endpoint === undefined) return []
      return states
        .flatMap((state) => {
          // What the partial index is made of has to be said word for word, or it is not used.
          const part = state === 'delivered' ? '' : "AND state <> 'delivered'"
          return db
            .prepare<KeptDelivery>(`${LIST_DELIVERIES} ${part} ${NEWEST_FIRST}`)
            .all(endpoint, epoch, state, before ?? Number.MAX_SAFE_INTEGER, limit)
        })
        .sort((one, other) => other.sequence - one.sequence)
        .slice(0, limit)
    },
    endpointIds: () =>
      db
        .prepare<{ id: string }>('SELECT id FROM endpoints')
        .all()
        .map(({ id }) => id),
    forget(endpointId, beforeMs, limit) {
      const endpoint = knownNumber(endpointId)
      if (endpoint === undefined) return 0
      return transaction(() => {
        let count = 0
        for (const outcome of attemptOutcomes) {
          count += forgetOf(endpoint, outcome, beforeMs ?? Number.MAX_SAFE_INTEGER, limit - count)
        }
        if (beforeMs === null && count === 0) {
          db.prepare('DELETE FROM endpoints WHERE number = ?').run(endpoint)
          numbers.delete(endpointId)
        }
        return count
      })
    },
    close: db.close,
  }
}

/** After every attempt there is. */
const LAST_PLACE: AttemptPlace = { atMs: Number.MAX_SAFE_INTEGER, sequence: 0, attempt: 0 }

function newestFirst(one: AttemptPlace, other: AttemptPlace): number {
  return other.atMs - one.atMs || other.sequence - one.sequence || other.attempt - one.attempt
}

/** A delivery to an endpoint that is gone waits until the endpoint is active again. */
function stateAfter(result: AttemptResult): DeliveryState {
  return result === 'delivered' || result === 'dead' ? result : 'pending'
}

function hashOf(text: string): Uint8Array {
  return createHash('sha256').update(text).digest().subarray(0, 16)
}
