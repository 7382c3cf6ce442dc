/**
 * The tables of the archive and their version. Owns what is kept for each event and under which indexes.
 * Refuses to write them: `archive.ts` does. Figures behind the choices: docs/adr/0002-windowed-queries.md.
 */
import { BridgeError } from '../errors.ts'
import type { Database } from './db.ts'

/** Kept in the file's `user_version`; 0 is a new file. */
const VERSION = 1

/**
 * `events` holds each event as the two halves of its JSON, read only for what is sent; `facts` is what queries look
 * at, kept apart so that a scan never touches the items. `highs` has one row for each event whose time is later than
 * that of every event before it: the lowest sequence whose time is at or after a moment is always one of those.
 * `terms` and `headlines` are inverted indexes without content; they are FTS5 tables because its segments take the
 * scattered writes of identifiers at a third of the cost of a B-tree over (key, sequence).
 */
const TABLES = `
  CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE events(sequence INTEGER PRIMARY KEY, attributes TEXT NOT NULL, data TEXT NOT NULL);
  CREATE TABLE facts(
    sequence INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, recorded_ms INTEGER NOT NULL, type TEXT NOT NULL,
    guid TEXT, revision INTEGER, hash TEXT, facts TEXT
  );
  CREATE INDEX facts_guid ON facts(guid, revision) WHERE guid IS NOT NULL;
  CREATE TABLE highs(time_ms INTEGER PRIMARY KEY, sequence INTEGER NOT NULL);
  CREATE VIRTUAL TABLE terms USING fts5(
    words, content = '', columnsize = 0, detail = none, tokenize = 'ascii'
  );
  CREATE VIRTUAL TABLE headlines USING fts5(
    headline, content = '', columnsize = 0, detail = none, tokenize = 'trigram case_sensitive 1'
  );
`

/**
 * Makes the tables in a new file; leaves those of this version alone.
 * @throws BridgeError `log_damaged` for a file of another version
 */
export function ensureSchema(db: Database): void {
  const version = db.prepare<{ user_version: number }>('PRAGMA user_version').get()?.user_version ?? 0
  if (version === VERSION) return
  if (version !== 0) {
    throw new BridgeError('log_damaged', `the store has version ${version}, this program knows ${VERSION}`, {
      hint: 'It was written by another version of this program: run that one, or use another data directory.',
    })
  }
  db.transaction(() => db.exec(`${TABLES} PRAGMA user_version = ${VERSION};`))
}

/** Takes every event out and forgets the epoch. Inside a transaction of the caller. */
export function clearTables(db: Database): void {
  db.exec(`
    DELETE FROM meta WHERE name = 'epoch';
    DELETE FROM events;
    DELETE FROM facts;
    DELETE FROM highs;
    INSERT INTO terms(terms) VALUES('delete-all');
    INSERT INTO headlines(headlines) VALUES('delete-all');
  `)
}
