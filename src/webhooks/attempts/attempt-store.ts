/**
 * Stores and lists webhook delivery attempts, and the state of the deliveries they belong to, in SQLite tables. Writing
 * an attempt twice, or the attempts of a delivery in any order, leaves the same rows.
 */
import { createHash } from 'node:crypto'
import { type AttemptOutcome, answeredOutcomes, attemptOutcomes } from '../../core/attempt-end.ts'
import { BridgeError } from '../../errors.ts'
import type { Steps } from '../../lifecycle/slices.ts'
import { type Database, openDatabase } from '../../storage/database.ts'
import { usedBytes } from '../../storage/space.ts'
import {
  type AttemptPlace,
  type AttemptQuery,
  attemptsBefore,
  type EventAttemptQuery,
  eventAttempts,
  type KeptAttempt,
} from './attempt-list.ts'
import type { AttemptRecord, AttemptResult } from './attempt-record.ts'

/** The file's `user_version`; a file of another version is begun anew. */
const VERSION = 1

/**
 * Pages of the file that are kept in memory, KiB. At ten times the usual day 8 MiB take two hours to fill, and 300,000 attempts
 * are written, and pages of them read, no faster.
 */
const CACHE_KIB = 1024

/** The state of a delivery: it waits for its next try, was delivered, or was given up. */
export const deliveryStates = ['pending', 'delivered', 'dead'] as const
/** One of them. */
export type DeliveryState = (typeof deliveryStates)[number]

/**
 * Primary keys have the order of the lists. Most attempts (`ok`, delivered) cost two row writes in all. Responses have a table
 * of their own, one row for each endpoint and text: those of a failing endpoint are mostly the same.
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
    webhook_id TEXT, PRIMARY KEY (endpoint, epoch, sequence)
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
  INSERT INTO deliveries(
    endpoint, epoch, sequence, event_id, state, attempts, next_ms, last_status, last_ms, webhook_id
  ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT(endpoint, epoch, sequence) DO UPDATE SET
    event_id = excluded.event_id, state = excluded.state, attempts = excluded.attempts, next_ms = excluded.next_ms,
    last_status = excluded.last_status, last_ms = excluded.last_ms, webhook_id = excluded.webhook_id
  WHERE excluded.last_ms >= last_ms`
const PUT_RESPONSE = `
  INSERT INTO responses(endpoint, hash, text, last_ms) VALUES (?, ?, ?, ?)
  ON CONFLICT(endpoint, hash) DO UPDATE SET last_ms = max(last_ms, excluded.last_ms) RETURNING number`
const KEPT_DELIVERIES = `
  SELECT event_id AS eventId, sequence, state, attempts, next_ms AS nextMs, last_status AS lastStatus
  FROM deliveries WHERE endpoint = ? AND epoch = ?`
const ONE_DELIVERY = `${KEPT_DELIVERIES} AND sequence = ?`
const LIST_DELIVERIES = `${KEPT_DELIVERIES} AND state = ? AND sequence < ?`
const NEWEST_FIRST = 'ORDER BY sequence DESC LIMIT ?'
const LAST_SUCCESS = `
  SELECT max(at_ms) AS atMs FROM attempts WHERE endpoint = ? AND outcome = 'ok'`
const NEWEST_DURATIONS = `
  SELECT at_ms AS atMs, duration_ms AS durationMs FROM attempts
  WHERE endpoint = ? AND outcome = ? AND at_ms >= ? ORDER BY at_ms DESC LIMIT ?`
const OLD_ATTEMPTS = `
  SELECT at_ms AS atMs, sequence, attempt, epoch, response FROM attempts
  WHERE endpoint = ? AND outcome = ? AND at_ms < ? ORDER BY at_ms, sequence, attempt LIMIT ?`
const DROP_ATTEMPT =
  'DELETE FROM attempts WHERE endpoint = ? AND outcome = ? AND at_ms = ? AND sequence = ? AND attempt = ?'
const DROP_DELIVERY =
  'DELETE FROM deliveries WHERE endpoint = ? AND epoch = ? AND sequence = ? AND last_ms < ?'
const DROP_RESPONSE = 'DELETE FROM responses WHERE number = ? AND last_ms < ?'
const COUNT_ATTEMPTS =
  'SELECT count(*) AS count FROM (SELECT 1 FROM attempts WHERE endpoint = ? AND outcome = ? LIMIT ?)'
const OLDEST_ATTEMPT =
  'SELECT at_ms AS atMs FROM attempts WHERE endpoint = ? AND outcome = ? ORDER BY at_ms LIMIT 1'
const FIND_ENDPOINT = 'SELECT number FROM endpoints WHERE id = ?'
const PUT_POSITION = 'INSERT OR REPLACE INTO place(only_one, position) VALUES (1, ?)'

/** An attempt that may be removed. */
type OldAttempt = AttemptPlace & { epoch: string; response: number | null }

/** A delivery of a list. */
export interface KeptDelivery {
  eventId: string
  sequence: number
  state: DeliveryState
  /** Made so far; a replay counts anew. */
  attempts: number
  /** When the next attempt is due, ms since 1970; null where none is. */
  nextMs: number | null
  /** HTTP status of the last attempt; null where it got none. */
  lastStatus: number | null
}

/** Figures of an endpoint's attempts. */
export interface AttemptFigures {
  /** When the last one that succeeded began, ms since 1970; null where none is kept. */
  lastSuccessMs: number | null
  /** How long answered attempts took, the newest first. */
  durationsMs: readonly number[]
}

/** What the store is opened with. */
export interface AttemptStoreOptions {
  path: string
  /** True where a written attempt must survive a loss of power. */
  durable: boolean
  /** Called when the file turns out to be damaged, before the error is thrown. */
  onDamage: () => void
}

/** The tables of an open attempt file. Every operation throws BridgeError as `Database` does. */
export class AttemptStore {
  readonly #db: Database
  /** Numbers of endpoints in the file, by id. */
  readonly #numbers = new Map<string, number>()
  #position: string | null

  /**
   * Opens the file, or makes it.
   * @throws BridgeError `log_unavailable`; `log_damaged` where it is damaged, or of another version of this program
   */
  constructor(options: AttemptStoreOptions) {
    const db = openDatabase({ ...options, cacheKib: CACHE_KIB })
    this.#db = db
    try {
      ensureTables(db)
      this.#position = db.prepare<{ position: string }>('SELECT position FROM place').get()?.position ?? null
    } catch (error) {
      db.close()
      throw error
    }
  }

  /** The position in the journal up to which its attempts are in the file; null: none are. */
  get position(): string | null {
    return this.#position
  }

  /** Adds attempts and the position after them (null: it stays), all or nothing. */
  write(attempts: readonly AttemptRecord[], position: string | null): void {
    this.#transaction(() => {
      for (const record of attempts) this.#put(record)
      if (position !== null) this.#db.prepare(PUT_POSITION).run(position)
    })
    this.#position = position ?? this.#position
  }

  /** Attempts of an endpoint with one of these outcomes, before that place, the newest first. */
  attempts(endpointId: string, query: AttemptQuery): KeptAttempt[] {
    const endpoint = this.#knownNumber(endpointId)
    if (endpoint === undefined) return []
    return attemptsBefore(this.#db, endpoint, query)
  }

  /** The same of one event. Each step looks at some thousand rows. */
  *attemptsOfEvent(endpointId: string, query: EventAttemptQuery): Steps<KeptAttempt[]> {
    const endpoint = this.#knownNumber(endpointId)
    return endpoint === undefined ? [] : yield* eventAttempts(this.#db, endpoint, query)
  }

  /** Deliveries of an endpoint in one of these states, of events of that epoch before a sequence, the newest event first. */
  deliveries(
    endpointId: string,
    query: { epoch: string; states: readonly DeliveryState[]; before: number | null; limit: number },
  ): KeptDelivery[] {
    const endpoint = this.#knownNumber(endpointId)
    if (endpoint === undefined) return []
    const { epoch, states, before, limit } = query
    return states
      .flatMap((state) => {
        // SQLite uses the partial index only where the query repeats its condition word for word.
        const part = state === 'delivered' ? '' : "AND state <> 'delivered'"
        return this.#db
          .prepare<KeptDelivery>(`${LIST_DELIVERIES} ${part} ${NEWEST_FIRST}`)
          .all(endpoint, epoch, state, before ?? Number.MAX_SAFE_INTEGER, limit)
      })
      .sort((one, other) => other.sequence - one.sequence)
      .slice(0, limit)
  }

  /** The delivery of one event of that epoch to an endpoint; undefined where no attempt of it is kept. */
  delivery(endpointId: string, epoch: string, sequence: number): KeptDelivery | undefined {
    const endpoint = this.#knownNumber(endpointId)
    if (endpoint === undefined) return undefined
    return this.#db.prepare<KeptDelivery>(ONE_DELIVERY).get(endpoint, epoch, sequence)
  }

  /** The last success of an endpoint, and how long its newest answered attempts since a moment took, at most `limit`. */
  figures(endpointId: string, sinceMs: number, limit: number): AttemptFigures {
    const endpoint = this.#knownNumber(endpointId)
    if (endpoint === undefined) return { lastSuccessMs: null, durationsMs: [] }
    const last = this.#db.prepare<{ atMs: number | null }>(LAST_SUCCESS).get(endpoint)
    const newest = this.#db.prepare<{ atMs: number; durationMs: number }>(NEWEST_DURATIONS)
    const durationsMs = answeredOutcomes
      .flatMap((outcome) => newest.all(endpoint, outcome, sinceMs, limit))
      .sort((one, other) => other.atMs - one.atMs)
      .slice(0, limit)
      .map(({ durationMs }) => durationMs)
    return { lastSuccessMs: last?.atMs ?? null, durationsMs }
  }

  /** Endpoints that have, or had, rows. */
  endpointIds(): string[] {
    const rows = this.#db.prepare<{ id: string }>('SELECT id FROM endpoints').all()
    return rows.map(({ id }) => id)
  }

  /** Bytes of the file that are in use; what was forgotten leaves room in it. */
  get usedBytes(): number {
    return usedBytes(this.#db)
  }

  /** How many attempts of the endpoint there are, counted up to `most` for each outcome, and when the oldest began. */
  extent(endpointId: string, most: number): { count: number; oldestMs: number } {
    const endpoint = this.#knownNumber(endpointId)
    const extent = { count: 0, oldestMs: Number.POSITIVE_INFINITY }
    if (endpoint === undefined) return extent
    for (const outcome of attemptOutcomes) {
      extent.count +=
        this.#db.prepare<{ count: number }>(COUNT_ATTEMPTS).get(endpoint, outcome, most)?.count ?? 0
      const oldest = this.#db.prepare<{ atMs: number }>(OLDEST_ATTEMPT).get(endpoint, outcome)
      extent.oldestMs = Math.min(extent.oldestMs, oldest?.atMs ?? Number.POSITIVE_INFINITY)
    }
    return extent
  }

  /** Forgets at most `limit` attempts of the endpoint from before a moment (null: all), with deliveries and answers that only they use. */
  forget(endpointId: string, beforeMs: number | null, limit: number): number {
    const endpoint = this.#knownNumber(endpointId)
    if (endpoint === undefined) return 0
    return this.#transaction(() => {
      let count = 0
      for (const outcome of attemptOutcomes) {
        count += this.#forgetOf(endpoint, outcome, beforeMs ?? Number.MAX_SAFE_INTEGER, limit - count)
      }
      if (beforeMs === null && count === 0) {
        this.#db.prepare('DELETE FROM endpoints WHERE number = ?').run(endpoint)
        this.#numbers.delete(endpointId)
      }
      return count
    })
  }

  /** Callable twice. */
  close(): void {
    this.#db.close()
  }

  #knownNumber(endpointId: string): number | undefined {
    const number =
      this.#numbers.get(endpointId) ??
      this.#db.prepare<{ number: number }>(FIND_ENDPOINT).get(endpointId)?.number
    if (number !== undefined) this.#numbers.set(endpointId, number)
    return number
  }

  #numberOf(endpointId: string): number {
    const known = this.#knownNumber(endpointId)
    if (known !== undefined) return known
    this.#db.prepare('INSERT OR IGNORE INTO endpoints(id) VALUES (?)').run(endpointId)
    return this.#knownNumber(endpointId) ?? 0
  }

  #put(record: AttemptRecord): void {
    const db = this.#db
    const { epoch, sequence, eventId, webhookId, attempt, atMs, status, outcome } = record
    const { phase, result, durationMs, dueMs, response: text } = record
    const endpoint = this.#numberOf(record.endpointId)
    const response =
      text === null
        ? null
        : (db.prepare<{ number: number }>(PUT_RESPONSE).get(endpoint, hashOf(text), text, atMs)?.number ??
          null)
    db.prepare(PUT_ATTEMPT).run(
      endpoint,
      outcome,
      atMs,
      sequence,
      attempt,
      epoch,
      status,
      durationMs,
      phase,
      response,
    )
    const state = stateAfter(result)
    const delivery = [endpoint, epoch, sequence, eventId, state, attempt, dueMs, status, atMs, webhookId]
    db.prepare(PUT_DELIVERY).run(...delivery)
  }

  #forgetOf(endpoint: number, outcome: AttemptOutcome, beforeMs: number, limit: number): number {
    const db = this.#db
    const old = db.prepare<OldAttempt>(OLD_ATTEMPTS).all(endpoint, outcome, beforeMs, limit)
    for (const { atMs, sequence, attempt, epoch, response } of old) {
      db.prepare(DROP_DELIVERY).run(endpoint, epoch, sequence, beforeMs)
      if (response !== null) db.prepare(DROP_RESPONSE).run(response, beforeMs)
      db.prepare(DROP_ATTEMPT).run(endpoint, outcome, atMs, sequence, attempt)
    }
    return old.length
  }

  /** One transaction; a rollback also drops the numbers that it gave to endpoints. */
  #transaction<T>(work: () => T): T {
    try {
      return this.#db.transaction(work)
    } catch (error) {
      this.#numbers.clear()
      throw error
    }
  }
}

function ensureTables(db: Database): void {
  const version = db.prepare<{ user_version: number }>('PRAGMA user_version').get()?.user_version ?? 0
  if (version === VERSION) return addWebhookIds(db)
  if (version !== 0) {
    throw new BridgeError(
      'log_damaged',
      `the file of webhook attempts has version ${version}, this program reads version ${VERSION}`,
      {
        hint: 'Another version of this program wrote it. A new file is created.',
      },
    )
  }
  db.transaction(() => db.exec(TABLES))
}

/** Adds the column that files of an older build lack. That build reads and writes the file with it too. */
function addWebhookIds(db: Database): void {
  const found = db
    .prepare<{ name: string }>("SELECT name FROM pragma_table_info('deliveries') WHERE name = 'webhook_id'")
    .get()
  if (found === undefined) db.exec('ALTER TABLE deliveries ADD COLUMN webhook_id TEXT')
}

/** A delivery to an endpoint that is gone waits until the endpoint is active again. */
function stateAfter(result: AttemptResult): DeliveryState {
  return result === 'delivered' || result === 'dead' ? result : 'pending'
}

function hashOf(text: string): Uint8Array {
  return createHash('sha256').update(text).digest().subarray(0, 16)
}
