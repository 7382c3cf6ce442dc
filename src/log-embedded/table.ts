/** Stores a key-value table in the SQLite file of the embedded log, and passes changes to the subscribers in this process. */
import { type ChangeFeed, createChangeFeed } from '../log/change-feed.ts'
import { storedValue } from '../log/stored-value.ts'
import type { Table } from '../log/tables.ts'
import type { StoreParts } from './group-commit.ts'

/** The table of that name. */
export function createSqliteTable<V>({ db, open, closed }: StoreParts, name: string): Table<V> {
  const feed: ChangeFeed<V> = createChangeFeed()
  return {
    async load() {
      open()
      const rows = db
        .prepare<{ key: string; value: string }>('SELECT key, value FROM tables WHERE name = ? ORDER BY key')
        .all(name)
      return new Map(rows.map((row) => [row.key, storedValue<V>(`${name}/${row.key}`, row.value)]))
    },
    async put(key, value) {
      open()
      const text = JSON.stringify(value)
      db.prepare('INSERT OR REPLACE INTO tables(name, key, value) VALUES (?, ?, ?)').run(name, key, text)
      feed.publish({ key, value: JSON.parse(text) as V })
    },
    async delete(key) {
      open()
      db.prepare('DELETE FROM tables WHERE name = ? AND key = ?').run(name, key)
      feed.publish({ key, value: null })
    },
    changes(signal) {
      open()
      return feed.subscribe(AbortSignal.any([signal, closed]))
    },
  }
}
