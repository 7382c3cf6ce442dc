/**
 * Creates the SQL tables of the embedded log, and stores the writer's state rows, rejected items (unreadable items from
 * upstream) and the fence. The fence is a number that each new writer raises, so that earlier writers can no longer commit.
 */
import {
  type KeptRejected,
  REJECTED_WINDOW_BYTES,
  type RejectedItem,
  type RejectedPage,
  type RowChanges,
  rejectedHash,
} from '../log/events.ts'
import type { Database } from '../storage/database.ts'

/** `journal_ends` keeps the last number of a journal, so that none is reused after all records have expired. */
const TABLES = `
  CREATE TABLE IF NOT EXISTS fence(term INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS writer(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS rejected(
    id INTEGER PRIMARY KEY, raw TEXT NOT NULL, reason TEXT NOT NULL, guid TEXT, recordedtime TEXT NOT NULL
  );
  CREATE TABLE IF NOT EXISTS tables(
    name TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name, key)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS lanes(
    name TEXT NOT NULL, lane INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name, lane, key)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS journal_ends(name TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS journals(
    name TEXT NOT NULL, id INTEGER NOT NULL, at_ms INTEGER NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name, id)
  ) WITHOUT ROWID;
  INSERT INTO fence(term) SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM fence);
`

/** Creates the tables of the log beside those of the archive where they are missing. */
export function ensureLogTables(db: Database): void {
  db.transaction(() => db.exec(TABLES))
}

/** Raises the fence and returns it. Inside a transaction. */
export function raiseFence(db: Database): number {
  db.prepare('UPDATE fence SET term = term + 1').run()
  return currentFence(db)
}

/** The fence of the latest claim. */
export function currentFence(db: Database): number {
  return db.prepare<{ term: number }>('SELECT term FROM fence').get()?.term ?? 0
}

/** The writer's rows, values as JSON text. */
export function readRows(db: Database): Map<string, string> {
  const rows = db.prepare<{ key: string; value: string }>('SELECT key, value FROM writer ORDER BY key').all()
  return new Map(rows.map(({ key, value }) => [key, value]))
}

/** Writes the changed rows; null removes one. Inside a transaction. */
export function writeRows(db: Database, rows: RowChanges): void {
  const put = db.prepare('INSERT OR REPLACE INTO writer(key, value) VALUES (?, ?)')
  const drop = db.prepare('DELETE FROM writer WHERE key = ?')
  for (const [key, value] of rows) value === null ? drop.run(key) : put.run(key, value)
}

/** Most rejected items that are stored, and most bytes of their texts: so many usual ones take 30 MB. */
const MOST_REJECTED = { count: 20_000, bytes: 1024 ** 3 }

/** Deletes the newest item with which the texts, counted from the newest on, exceed so many bytes, and all before it. */
const DELETE_BEYOND_BYTES = `
  DELETE FROM rejected WHERE id <= (
    SELECT max(id) FROM (SELECT id, sum(octet_length(raw)) OVER (ORDER BY id DESC) AS bytes FROM rejected)
    WHERE bytes > ?
  )`

/** Adds rejected items, and deletes the oldest ones beyond `most`. Inside a transaction. */
export function writeRejected(db: Database, items: readonly RejectedItem[], most = MOST_REJECTED): void {
  if (items.length === 0) return
  const insert = db.prepare('INSERT INTO rejected(raw, reason, guid, recordedtime) VALUES (?, ?, ?, ?)')
  for (const item of items) insert.run(item.raw, item.reason, item.guid, item.recordedtime)
  db.prepare('DELETE FROM rejected WHERE id <= (SELECT max(id) FROM rejected) - ?').run(most.count)
  db.prepare(DELETE_BEYOND_BYTES).run(most.bytes)
}

/**
 * Deletes rejected items that were set aside before that time, ISO 8601; the newest of all stays, so that no place is given
 * twice. Returns how many.
 */
export function dropRejectedBefore(db: Database, time: string): number {
  const before = rejectedDropped(db)
  db.prepare(`
    DELETE FROM rejected WHERE id < (
      SELECT coalesce(min(id) FILTER (WHERE recordedtime >= ?), max(id)) FROM rejected
    )`).run(time)
  return rejectedDropped(db) - before
}

/** How many rejected items were deleted because the log keeps a limited number of them, or by age. */
export function rejectedDropped(db: Database): number {
  const first = db.prepare<{ id: number | null }>('SELECT min(id) AS id FROM rejected').get()?.id
  return (first ?? 1) - 1
}

/** How many rejected items are stored. Only the oldest are ever deleted. Reads the two ends of the table: one aggregate of both would read all of it. */
export function rejectedKept(db: Database): number {
  const ends = '(SELECT max(id) FROM rejected) - (SELECT min(id) FROM rejected)'
  const kept = `SELECT coalesce(${ends} + 1, 0) AS count`
  return db.prepare<{ count: number }>(kept).get()?.count ?? 0
}

/** Rejected items before a place, the newest first. */
export function readRejectedPage(db: Database, { before, limit, mostBytes }: RejectedPage): KeptRejected[] {
  const found: KeptRejected[] = []
  let bytes = 0
  const rows = db
    .prepare<KeptRejected>(
      'SELECT id AS place, raw, reason, guid, recordedtime FROM rejected WHERE id < ? ORDER BY id DESC LIMIT max(0, ?)',
    )
    .iterate(before ?? Number.MAX_SAFE_INTEGER, limit)
  for (const row of rows) {
    found.push({ ...row })
    bytes += Buffer.byteLength(row.raw)
    if (bytes >= mostBytes) break
  }
  return found
}

/** The hashes of the newest rejected items inside the window, newest last. */
export function readSqliteRejectedHashes(db: Database, limit: number): string[] {
  return hashesWithin(rejectedTexts(db), { limit, mostBytes: REJECTED_WINDOW_BYTES })
}

function* rejectedTexts(db: Database): Generator<string, void, undefined> {
  const rows = db.prepare<{ raw: string }>('SELECT raw FROM rejected ORDER BY id DESC').iterate()
  for (const { raw } of rows) yield raw
}

/** Hashes texts, newest first and one at a time: at most `limit`, and none further once `mostBytes` were read. Newest last. */
export function hashesWithin(
  texts: Iterable<string>,
  { limit, mostBytes }: { limit: number; mostBytes: number },
): string[] {
  const hashes: string[] = []
  let bytes = 0
  if (limit <= 0) return hashes
  for (const text of texts) {
    hashes.push(rejectedHash(text))
    bytes += Buffer.byteLength(text)
    if (hashes.length >= limit || bytes >= mostBytes) break
  }
  return hashes.reverse()
}
