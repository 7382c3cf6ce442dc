/** Keeps a table in memory as JSON text, so that callers cannot change stored values. */
import { type ChangeFeed, createChangeFeed } from '../log/change-feed.ts'
import type { Table } from '../log/tables.ts'

/** An empty table. `open` throws once the log is closed; `closing` ends every subscription. */
export function createMemoryTable<V>(open: () => void, closing: AbortSignal): Table<V> {
  const rows = new Map<string, string>()
  const feed: ChangeFeed<V> = createChangeFeed()
  return {
    async load() {
      open()
      return new Map([...rows].map(([key, value]) => [key, JSON.parse(value) as V]))
    },
    async put(key, value) {
      open()
      const text = JSON.stringify(value)
      rows.set(key, text)
      feed.publish({ key, value: JSON.parse(text) as V })
    },
    async delete(key) {
      open()
      rows.delete(key)
      feed.publish({ key, value: null })
    },
    changes(signal) {
      open()
      return feed.subscribe(AbortSignal.any([signal, closing]))
    },
  }
}
