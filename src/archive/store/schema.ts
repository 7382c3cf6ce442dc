/**
 * Creates the SQLite tables of the archive, the node's file of events, and records the version of their layout. Measurements
 * behind the choice of tables and indexes: docs/adr/0002-windowed-queries.md.
 */
import { BridgeError } from '../../errors.ts'
import type { Database } from '../../storage/database.ts'

/**
 * Stored in the file's `user_version`; 0 is a new file. Version 1 lacked `items`, `issuers` and names of companies, version 2
 * `issuers.sequence`.
 */
const VERSION = 3
/** Name in `meta`, present during an upgrade: the sequence through which the derived rows are rebuilt. */
const DERIVED_THROUGH = 'derived_through'

/**
 * Primary data: the epoch of the log, and each event as the two halves of its JSON, read only when the event is sent.
 */
const PRIMARY = `
  CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE events(sequence INTEGER PRIMARY KEY, attributes TEXT NOT NULL, data TEXT NOT NULL);
`

/**
 * What is known of an event beside its text: see `provenance.ts`. They are columns of `events`, so that a build without them
 * writes and deletes the same rows.
 */
const PROVENANCE = ['found_by TEXT', 'committed_ms INTEGER', 'topics TEXT', 'journey TEXT']

/**
 * Data derived from the events. `facts` is what queries inspect, apart from the events so that a scan reads no items.
 * `items` serves lists by sequence: the time of an item, and the later revision that superseded it. `issuers` names every
 * company that has published under an identifier (`isin …`, `symbol …`), and when it last did; `listings.ts`,
 * `replacements.ts`, `gap-ids.ts` and `directory.ts` add rows of their own. `highs` is the running maximum of time: one row for each event
 * whose time is later than that of every event before it, so the lowest sequence at or after a time is always in it. `terms` and `headlines` are inverted indexes without content; they are FTS5 tables
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
 * Creates the tables in a new file and leaves those of the current version alone. In a file of an older version it replaces
 * the derived tables by empty ones; `upgrade.ts` fills them from the events, which are not touched.
 * @throws BridgeError `log_damaged` for a file of a newer version
 */
export function ensureSchema(db: Database): void {
  const version = db.prepare<{ user_version: number }>('PRAGMA user_version').get()?.user_version ?? 0
  if (version > VERSION) {
    throw new BridgeError(
      'log_damaged',
      `the store has version ${version}, this program reads up to ${VERSION}`,
      {
        hint: 'A newer version of this program wrote it: run that version, or use another data directory.',
      },
    )
  }
  const setVersion = `PRAGMA user_version = ${VERSION};`
  if (version === 0) {
    db.transaction(() => db.exec(`${PRIMARY} ${DERIVED} ${setVersion}`))
  } else if (version < VERSION) {
    db.transaction(() => {
      for (const table of DERIVED_TABLES) db.exec(`DROP TABLE IF EXISTS ${table}`)
      db.exec(`${DERIVED} ${setVersion}`)
      setDerivedThrough(db, 0)
    })
  }
  addProvenance(db)
}

/** Adds the columns of `events` that a build before them did not make. */
function addProvenance(db: Database): void {
  const columns = db.prepare<{ name: string }>("SELECT name FROM pragma_table_info('events')").all()
  const missing = PROVENANCE.filter((column) => !columns.some(({ name }) => column.startsWith(`${name} `)))
  if (missing.length === 0) return
  db.transaction(() => {
    for (const column of missing) db.exec(`ALTER TABLE events ADD COLUMN ${column}`)
  })
}

/** The sequence through which a pending upgrade has come; null where none is pending. */
export function derivedThrough(db: Database): number | null {
  const row = db.prepare<{ value: string }>('SELECT value FROM meta WHERE name = ?').get(DERIVED_THROUGH)
  return row === undefined ? null : Number(row.value)
}

/** Records how far an upgrade has come; null = done. Within a transaction of the caller. */
export function setDerivedThrough(db: Database, sequence: number | null): void {
  if (sequence === null) db.prepare('DELETE FROM meta WHERE name = ?').run(DERIVED_THROUGH)
  else
    db.prepare('INSERT OR REPLACE INTO meta(name, value) VALUES (?, ?)').run(
      DERIVED_THROUGH,
      sequence.toString(),
    )
}

/** Deletes every event and the epoch, within a transaction of the caller. */
export function clearTables(db: Database): void {
  db.exec(`
    DELETE FROM meta WHERE name IN ('epoch', 'earlier_epochs');
    DELETE FROM events;
    DELETE FROM facts;
    DELETE FROM items;
    DELETE FROM issuers;
    DELETE FROM highs;
    INSERT INTO terms(terms) VALUES('delete-all');
    INSERT INTO headlines(headlines) VALUES('delete-all');
  `)
}
