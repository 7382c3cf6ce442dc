/**
 * The writer's state in its tables, and the fence: a number that each claim raises and every write compares.
 * Refuses to know the rows' keys (`../state-rows.ts`) and events: the archive's tables, in the same file, hold them.
 */

import type { RejectedItem, WriterState } from '../log/log.ts'
import { changedRows, stateOf } from '../log-shared/writer-state-rows.ts'
import type { Database } from '../storage/database.ts'

const TABLES = `
  CREATE TABLE IF NOT EXISTS fence(term INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS writer(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS rejected(
    id INTEGER PRIMARY KEY, raw TEXT NOT NULL, reason TEXT NOT NULL, guid TEXT, recordedtime TEXT NOT NULL
  );
  CREATE TABLE IF NOT EXISTS tables(
    name TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name, key)
  ) WITHOUT ROWID;
  INSERT INTO fence(term) SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM fence);
`

/** Makes the tables of the log beside those of the archive where they are missing. */
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

/**
 * The stored state, or null where there is none.
 * @throws BridgeError `log_damaged` when the state has rows but not its epoch and sequence
 */
export function readState(db: Database): WriterState | null {
  const rows = db.prepare<{ key: string; value: string }>('SELECT key, value FROM writer ORDER BY key').all()
  return stateOf(new Map(rows.map(({ key, value }) => [key, value])))
}

/** Writes what differs between two states; null before the first. Inside a transaction. */
export function writeState(db: Database, before: WriterState | null, after: WriterState): void {
  const put = db.prepare('INSERT OR REPLACE INTO writer(key, value) VALUES (?, ?)')
  const drop = db.prepare('DELETE FROM writer WHERE key = ?')
  for (const [key, value] of changedRows(before, after)) value === null ? drop.run(key) : put.run(key, value)
}

/** Adds rejected records. Inside a transaction. */
export function writeRejected(db: Database, items: readonly RejectedItem[]): void {
  const insert = db.prepare('INSERT INTO rejected(raw, reason, guid, recordedtime) VALUES (?, ?, ?, ?)')
  for (const item of items) insert.run(item.raw, item.reason, item.guid, item.recordedtime)
}

/** The newest rejected records, newest last. */
export function readRejected(db: Database, limit: number): RejectedItem[] {
  return db
    .prepare<RejectedItem>(
      'SELECT raw, reason, guid, recordedtime FROM rejected ORDER BY id DESC LIMIT max(0, ?)',
    )
    .all(limit)
    .map((row) => ({ ...row }))
    .reverse()
}

/** The texts of the rejected records, newest first, one at a time. */
export function* rejectedTexts(db: Database): Generator<string, void, undefined> {
  const rows = db.prepare<{ raw: string }>('SELECT raw FROM rejected ORDER BY id DESC').iterate()
  for (const { raw } of rows) yield raw
}
