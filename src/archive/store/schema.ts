/**
 * The tables of the archive and their version. Owns what is kept for each event and under which indexes.
 * Refuses to write them: `archive.ts` does. Figures behind the choices: docs/adr/0002-windowed-queries.md.
 */
import { BridgeError } from '../../errors.ts'
import type { Database } from '../../storage/database.ts'

/** Kept in the file's `user_version`; 0 is a new file. Version 1 lacked `items`, `issuers` and names of companies, 2 `issuers.sequence`. */
const VERSION = 3
/** In `meta`, while a store of an older version is brought up: the sequence through which everything is derived again. */
const DERIVED_THROUGH = 'derived_through'

/**
 * What cannot be made from anything else: the log's epoch, and each event as the two halves of its JSON, read only for
 * what is sent.
 */
const KEPT = `
  CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE events(sequence INTEGER PRIMARY KEY, attributes TEXT NOT NULL, data TEXT NOT NULL);
`

/**
 * What follows from the events. `facts` is what queries look at, apart from the events so that a scan never touches the
 * items. `items` has what a list by sequence passes over most rows with: time, and which later revision took its place.
 * `issuers` names every company that has published under an identifier (`isin …`, `symbol …`), and when it last did. `highs` has one row for
 * each event whose time is later than that of every event before it: the lowest sequence whose time is at or after a
 * moment is always one of those. `terms` and `headlines` are inverted indexes without content; they are FTS5 tables
 * because its segments take the scattered writes of identifiers at a third of the cost of a B-tree over (key, sequence).
 */
const DERIVED = `
  CREATE TABLE facts(
    sequence INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, recorded_ms INTEGER NOT NULL, type TEXT NOT NULL,
    guid TEXT, revision INTEGER, hash TEXT, date_id TEXT, facts TEXT
  );
  CREATE INDEX facts_guid ON facts(guid, revision) WHERE guid IS NOT NULL;
  CREATE INDEX facts_date_id ON facts(date_id) WHERE date_id IS NOT NULL;
  CREATE TABLE items(sequence INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, superseded_by INTEGER);
  CREATE TABLE issuers(
    identifier TEXT NOT NULL, company TEXT NOT NULL, sequence INTEGER NOT NULL, PRIMARY KEY(identifier, company)
  ) WITHOUT ROWID;
  CREATE TABLE highs(time_ms INTEGER PRIMARY KEY, sequence INTEGER NOT NULL);
  CREATE VIRTUAL TABLE terms USING fts5(
    words, content = '', columnsize = 0, detail = none, tokenize = 'ascii'
  );
  CREATE VIRTUAL TABLE headlines USING fts5(
    headline, content = '', columnsize = 0, detail = none, tokenize = 'trigram case_sensitive 1'
  );
`

const DERIVED_TABLES = ['facts', 'items', 'issuers', 'highs', 'terms', 'headlines']

/**
 * Makes the tables in a new file; leaves those of this version alone. In a file of an older version everything derived is
 * thrown away and made empty: `upgrade.ts` fills it from the events, which are not touched.
 * @throws BridgeError `log_damaged` for a file of a newer version
 */
export function ensureSchema(db: Database): void {
  const version = db.prepare<{ user_version: number }>('PRAGMA user_version').get()?.user_version ?? 0
  if (version === VERSION) return
  if (version > VERSION) {
    throw new BridgeError(
      'log_damaged',
      `the store has version ${version}, this program knows ${VERSION} and older`,
      {
        hint: 'It was written by a newer version of this program: run that one, or use another data directory.',
      },
    )
  }
  const setVersion = `PRAGMA user_version = ${VERSION};`
  if (version === 0) {
    db.transaction(() => db.exec(`${KEPT} ${DERIVED} ${setVersion}`))
  } else {
    db.transaction(() => {
      for (const table of DERIVED_TABLES) db.exec(`DROP TABLE IF EXISTS ${table}`)
      db.exec(`${DERIVED} ${setVersion}`)
      setDerivedThrough(db, 0)
    })
  }
}

/** The sequence through which an upgrade has come; null where none is under way. */
export function derivedThrough(db: Database): number | null {
  const row = db.prepare<{ value: string }>('SELECT value FROM meta WHERE name = ?').get(DERIVED_THROUGH)
  return row === undefined ? null : Number(row.value)
}

/** Remembers how far an upgrade has come; null = it is done. Inside a transaction of the caller. */
export function setDerivedThrough(db: Database, sequence: number | null): void {
  if (sequence === null) db.prepare('DELETE FROM meta WHERE name = ?').run(DERIVED_THROUGH)
  else
    db.prepare('INSERT OR REPLACE INTO meta(name, value) VALUES (?, ?)').run(
      DERIVED_THROUGH,
      String(sequence),
    )
}

/** Takes every event out and forgets the epoch. Inside a transaction of the caller. */
export function clearTables(db: Database): void {
  db.exec(`
    DELETE FROM meta WHERE name = 'epoch';
    DELETE FROM events;
    DELETE FROM facts;
    DELETE FROM items;
    DELETE FROM issuers;
    DELETE FROM highs;
    INSERT INTO terms(terms) VALUES('delete-all');
    INSERT INTO headlines(headlines) VALUES('delete-all');
  `)
}
