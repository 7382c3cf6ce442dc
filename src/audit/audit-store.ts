/** Stores the copy of the audit journal of a node in an SQLite file, and lists entries from it, the newest first. */
import { BridgeError } from '../errors.ts'
import { type Database, openDatabase } from '../storage/database.ts'
import { usedBytes } from '../storage/space.ts'
import type { AuditEntry } from './audit-rows.ts'

/** The file's `user_version`; a file of another version is begun anew. */
const VERSION = 1

const TABLES = `
  CREATE TABLE place(only_one INTEGER PRIMARY KEY CHECK (only_one = 1), position TEXT NOT NULL);
  CREATE TABLE entries(
    id TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, action TEXT NOT NULL, actor TEXT NOT NULL, target TEXT, tenant TEXT,
    outcome TEXT NOT NULL, entry TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX entries_at ON entries(at_ms);
  CREATE INDEX entries_action ON entries(action, id);
  CREATE INDEX entries_actor ON entries(actor, id);
  CREATE INDEX entries_target ON entries(target, id);
  CREATE INDEX entries_tenant ON entries(tenant, id);
  PRAGMA user_version = ${VERSION};
`
/** A record that says `unknown` never takes the place of one that knows, in whatever order they come. */
const PUT = `
  INSERT INTO entries(id, at_ms, action, actor, target, tenant, outcome, entry) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT(id) DO UPDATE SET target = excluded.target, tenant = excluded.tenant, outcome = excluded.outcome,
    entry = excluded.entry
  WHERE excluded.outcome <> 'unknown'`
const PUT_POSITION = 'INSERT OR REPLACE INTO place(only_one, position) VALUES (1, ?)'
const FORGET =
  'DELETE FROM entries WHERE id IN (SELECT id FROM entries WHERE at_ms < ? ORDER BY at_ms LIMIT ?) RETURNING id'

/** Which entries, from the newest on. Null: any. */
export interface AuditQuery {
  /** Only entries of targets of this tenant. */
  tenant: string | null
  actor: string | null
  action: string | null
  target: string | null
  /** Both ends included, ms since 1970. */
  sinceMs: number | null
  untilMs: number | null
  /** Only entries before the one with this id; null: from the newest on. */
  before: string | null
  limit: number
}

/** What the store is opened with. */
export interface AuditStoreOptions {
  path: string
  /** Called when the file turns out to be damaged, before the error is thrown. */
  onDamage: () => void
}

/** The tables of an open file. Every operation throws BridgeError as `Database` does. */
export class AuditStore {
  readonly #db: Database

  /**
   * Opens the file, or makes it.
   * @throws BridgeError `log_unavailable`; `log_damaged` where it is damaged, or of another version of this program
   */
  constructor({ path, onDamage }: AuditStoreOptions) {
    const db = openDatabase({ path, durable: false, onDamage })
    this.#db = db
    try {
      const version = db.prepare<{ user_version: number }>('PRAGMA user_version').get()?.user_version ?? 0
      if (version === 0) db.transaction(() => db.exec(TABLES))
      else if (version !== VERSION) {
        throw new BridgeError('log_damaged', `${path} is of another version of this program: ${version}`)
      }
    } catch (error) {
      db.close()
      throw error
    }
  }

  /** Bytes of the file that are in use; what was deleted leaves room in it. */
  get usedBytes(): number {
    return usedBytes(this.#db)
  }

  /** Up to where the journal was read into it; null: not yet. */
  get position(): string | null {
    return this.#db.prepare<{ position: string }>('SELECT position FROM place').get()?.position ?? null
  }

  /** Writes entries that were read up to a position. Writing them twice leaves the same rows. */
  write(entries: readonly AuditEntry[], position: string): void {
    const put = this.#db.prepare(PUT)
    this.#db.transaction(() => {
      for (const entry of entries) {
        const { id, atMs, action, actor, target, tenant, outcome } = entry
        put.run(id, atMs, action, actor.tokenId, target, tenant, outcome, JSON.stringify(entry))
      }
      this.#db.prepare(PUT_POSITION).run(position)
    })
  }

  /** Entries that match, the newest first. */
  list({ tenant, actor, action, target, sinceMs, untilMs, before, limit }: AuditQuery): AuditEntry[] {
    const conditions: [string, string | number | null][] = [
      ['tenant = ?', tenant],
      ['actor = ?', actor],
      ['action = ?', action],
      ['target = ?', target],
      ['at_ms >= ?', sinceMs],
      ['at_ms <= ?', untilMs],
      ['id < ?', before],
    ]
    const given = conditions.filter((one): one is [string, string | number] => one[1] !== null)
    const where = given.length === 0 ? '' : `WHERE ${given.map(([sql]) => sql).join(' AND ')}`
    return this.#db
      .prepare<{ entry: string }>(`SELECT entry FROM entries ${where} ORDER BY id DESC LIMIT ?`)
      .all(...given.map(([, value]) => value), limit)
      .map(({ entry }) => JSON.parse(entry) as AuditEntry)
  }

  /** Deletes entries from before a moment, at most `limit`. Returns how many. */
  forget(beforeMs: number, limit: number): number {
    return this.#db.prepare(FORGET).all(beforeMs, limit).length
  }

  /** Callable twice. */
  close(): void {
    this.#db.close()
  }
}
