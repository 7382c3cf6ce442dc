/** Stores shard rows and journal records in the embedded log's file, and drops expired records in small steps. */

import type { Clock } from '../lifecycle/clock.ts'
import type { JournalRow, JournalStore } from '../log-shared/local-journal.ts'
import type { ShardStore } from '../log-shared/local-shards.ts'
import type { Database } from '../storage/database.ts'
import type { GroupCommit } from './group-commit.ts'

/** A row stores the next number of a journal, so that no number is reused after all records have expired. */
const TABLES = `
  CREATE TABLE IF NOT EXISTS lanes(
    name TEXT NOT NULL, lane INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name, lane, key)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS journal_ends(name TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS journals(
    name TEXT NOT NULL, id INTEGER NOT NULL, at_ms INTEGER NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name, id)
  ) WITHOUT ROWID;
`

/** Expired records deleted with each new one, so that a journal shrinks faster than it grows. */
const FORGOTTEN_PER_RECORD = 4

/** Expired records deleted in one step from a journal that is only read. */
const FORGOTTEN_AT_ONCE = 200

/** Creates the tables of shards and journals where they are missing. */
export function ensureShardTables(db: Database): void {
  db.transaction(() => db.exec(TABLES))
}

/** The rows of the shards of that name. */
export function createSqliteShardStore(db: Database, commits: GroupCommit, name: string): ShardStore {
  return {
    load: (shard) =>
      db
        .prepare<{ key: string; value: string }>('SELECT key, value FROM lanes WHERE name = ? AND lane = ?')
        .all(name, shard)
        .map(({ key, value }) => [key, value] as const),
    write: (shard, changes) =>
      commits.run(() => {
        const put = db.prepare('INSERT OR REPLACE INTO lanes(name, lane, key, value) VALUES (?, ?, ?, ?)')
        const drop = db.prepare('DELETE FROM lanes WHERE name = ? AND lane = ? AND key = ?')
        for (const { key, text } of changes) {
          if (text === null) drop.run(name, shard, key)
          else put.run(name, shard, key, text)
        }
      }),
  }
}

/** The records of the journal of that name, which are kept for `retentionMs`. */
export function createSqliteJournalStore(
  parts: { db: Database; commits: GroupCommit; clock: Clock },
  name: string,
  retentionMs: number,
): JournalStore {
  const { db, commits, clock } = parts
  const oldestMs = (): number => clock.now() - retentionMs
  /** Deletes expired records in steps, for a journal without new appends. */
  const forgetAll = (): void => {
    const first = db.prepare<{ at_ms: number }>(
      'SELECT at_ms FROM journals WHERE name = ? ORDER BY id LIMIT 1',
    )
    if ((first.get(name)?.at_ms ?? Number.POSITIVE_INFINITY) >= oldestMs()) return
    commits
      .run(() => forget(db, name, oldestMs(), FORGOTTEN_AT_ONCE))
      .then(forgetAll)
      // Records that could not be deleted are deleted after the next read.
      .catch(() => undefined)
  }
  return {
    append: (texts) =>
      commits.run(() => {
        const end = db.prepare<{ last: number }>('SELECT last FROM journal_ends WHERE name = ?').get(name)
        const insert = db.prepare('INSERT INTO journals(name, id, at_ms, value) VALUES (?, ?, ?, ?)')
        let last = end?.last ?? 0
        for (const text of texts) insert.run(name, ++last, clock.now(), text)
        db.prepare('INSERT OR REPLACE INTO journal_ends(name, last) VALUES (?, ?)').run(name, last)
        forget(db, name, oldestMs(), FORGOTTEN_PER_RECORD * texts.length)
      }),
    last: () =>
      db.prepare<{ last: number }>('SELECT last FROM journal_ends WHERE name = ?').get(name)?.last ?? 0,
    // Expired records that are not deleted yet are not returned.
    read(after, { records, characters }) {
      const rows = db
        .prepare<JournalRow>(
          'SELECT id, value AS text FROM journals WHERE name = ? AND id > ? AND at_ms >= ? ORDER BY id LIMIT ?',
        )
        .iterate(name, after, oldestMs(), records)
      const found: JournalRow[] = []
      let length = 0
      for (const row of rows) {
        found.push(row)
        length += row.text.length
        if (length >= characters) break
      }
      if (found.length === 0) forgetAll()
      return found
    },
  }
}

/** Deletes records older than a moment, at most the `limit` oldest. Inside a transaction. */
function forget(db: Database, name: string, oldestMs: number, limit: number): void {
  const old = db
    .prepare<{ id: number; at_ms: number }>(
      'SELECT id, at_ms FROM journals WHERE name = ? ORDER BY id LIMIT ?',
    )
    .all(name, limit)
  const last = old.findLast(({ at_ms }) => at_ms < oldestMs)
  if (last !== undefined) db.prepare('DELETE FROM journals WHERE name = ? AND id <= ?').run(name, last.id)
}
