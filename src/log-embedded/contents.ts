/** Checks the file of an embedded log completely, and says which events it holds. For backups; a start reads much less. */
import { contentHash } from '../core/disclosure.ts'
import { BridgeError } from '../errors.ts'
import { checkDatabase, type Database } from '../storage/database.ts'
import { readStoredPlace } from './writer.ts'

/** Name in `meta` under which a backup says when it was taken. */
const TAKEN_AT = 'backup_taken_at'

/** What the file of an embedded log holds. */
export interface LogContents {
  /** null where the log was never used. */
  epoch: string | null
  /** Of the last event; 0 where there is none. */
  sequence: number
  /** Upstream time of the last event, ISO 8601; null where there is none. */
  time: string | null
  /** When `bridge backup` copied it, ISO 8601; null for a file that was copied in another way. */
  takenAt: string | null
}

/** Items whose texts are read at once. */
const ITEMS_AT_ONCE = 500

/**
 * Checks every page and index, that no event is missing, has attributes that are not JSON or another content than its hash says,
 * and that the writer's state agrees with the events. Minutes for some gigabytes.
 * @throws BridgeError `log_damaged` with what is wrong
 */
export function checkContents(db: Database): LogContents {
  checkDatabase(db)
  if (!hasTables(db)) {
    throw new BridgeError('log_damaged', 'the file is a database, but not the log of a bridge', {
      hint: 'Name a file that bridge backup has written, or a copy of a data directory.',
    })
  }
  checkAttributes(db)
  const contents = contentsOf(db)
  const { epoch, sequence } = contents
  checkComplete(db)
  checkItems(db)
  readStoredPlace({ db, epoch, latest: sequence })
  return contents
}

/** What the file says that it holds, without a check; null where it is not the log of a bridge. */
export function readContents(db: Database): LogContents | null {
  return hasTables(db) ? contentsOf(db) : null
}

/** Records when the backup was taken; null removes the record. */
export function writeTakenAt(db: Database, takenAt: string | null): void {
  db.prepare('DELETE FROM meta WHERE name = ?').run(TAKEN_AT)
  if (takenAt !== null) db.prepare('INSERT INTO meta(name, value) VALUES (?, ?)').run(TAKEN_AT, takenAt)
}

function hasTables(db: Database): boolean {
  const names = ['meta', 'events', 'facts', 'writer']
  const found = db
    .prepare<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all()
    .map(({ name }) => name)
  return names.every((name) => found.includes(name))
}

function contentsOf(db: Database): LogContents {
  const meta = new Map(
    db
      .prepare<{ name: string; value: string }>('SELECT name, value FROM meta')
      .all()
      .map(({ name, value }) => [name, value]),
  )
  const last = db
    .prepare<{ sequence: number; attributes: string }>(
      'SELECT sequence, attributes FROM events ORDER BY sequence DESC LIMIT 1',
    )
    .get()
  return {
    epoch: meta.get('epoch') ?? null,
    sequence: last?.sequence ?? 0,
    time: last === undefined ? null : (JSON.parse(`${last.attributes}}`) as { time: string }).time,
    takenAt: meta.get(TAKEN_AT) ?? null,
  }
}

/** SQLite has no checksums: bytes that were overwritten inside a text pass the check of pages and indexes. */
function checkAttributes(db: Database): void {
  const broken = db
    .prepare<{ sequence: number }>(
      "SELECT sequence FROM events WHERE NOT json_valid(attributes || '}') LIMIT 1",
    )
    .get()
  if (broken === undefined) return
  throw new BridgeError('log_damaged', `the attributes of event ${broken.sequence} are not JSON`, {
    hint: 'Use another backup.',
  })
}

/** The hash of an item was taken when it came; events of gaps have none. */
function checkItems(db: Database): void {
  const next = db.prepare<{ sequence: number; data: string; hash: string | null }>(
    `SELECT sequence, data, hash FROM events JOIN facts USING (sequence)
     WHERE sequence > ? ORDER BY sequence LIMIT ${ITEMS_AT_ONCE}`,
  )
  for (let rows = next.all(0); rows.length > 0; rows = next.all(rows.at(-1)?.sequence ?? 0)) {
    const broken = rows.find(({ data, hash }) => !isWhole(data, hash))
    if (broken === undefined) continue
    const wrong = `the content of event ${broken.sequence} is not what was stored`
    throw new BridgeError('log_damaged', wrong, { hint: 'Use another backup.' })
  }
}

function isWhole(data: string, hash: string | null): boolean {
  try {
    const value: unknown = JSON.parse(data)
    // Builds before 26 November 2026 left digits of large numbers out of the hash.
    return hash === null || hash === contentHash(value, data) || hash === contentHash(value)
  } catch (error) {
    if (error instanceof SyntaxError) return false
    throw error
  }
}

function checkComplete(db: Database): void {
  for (const table of ['events', 'facts']) {
    const row = db
      .prepare<{ low: number | null; high: number | null; count: number }>(
        `SELECT min(sequence) AS low, max(sequence) AS high, count(*) AS count FROM ${table}`,
      )
      .get()
    const { low = null, high = null, count = 0 } = row ?? {}
    if (low === null || high === null || count === high - low + 1) continue
    throw new BridgeError('log_damaged', `the table ${table} has ${count} of the events ${low} to ${high}`, {
      hint: 'Use another backup.',
    })
  }
}
