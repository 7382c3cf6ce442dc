/** Stores shard rows and journal records in memory as JSON text, so that callers cannot change stored values. */
import type { Clock } from '../lifecycle/clock.ts'
import type { JournalRow, JournalStore } from '../log-shared/local-journal.ts'
import type { ShardStore } from '../log-shared/local-shards.ts'

/** Empty shards. */
export function createMemoryShardStore(): ShardStore {
  const shards = new Map<number, Map<string, string>>()
  return {
    load: (shard) => shards.get(shard) ?? [],
    async write(shard, changes) {
      const rows = shards.get(shard) ?? new Map<string, string>()
      shards.set(shard, rows)
      for (const { key, text } of changes) {
        if (text === null) rows.delete(key)
        else rows.set(key, text)
      }
    },
  }
}

/** An empty journal whose records are kept for `retentionMs`. */
export function createMemoryJournalStore(clock: Clock, retentionMs: number): JournalStore {
  const rows: (JournalRow & { atMs: number })[] = []
  let lastId = 0
  const drop = (): void => {
    const oldestMs = clock.now() - retentionMs
    while ((rows[0]?.atMs ?? oldestMs) < oldestMs) rows.shift()
  }
  return {
    async append(texts) {
      for (const text of texts) rows.push({ id: ++lastId, text, atMs: clock.now() })
      drop()
    },
    last: () => lastId,
    read(after, { records, characters }) {
      drop()
      const found: JournalRow[] = []
      let length = 0
      for (const row of rows) {
        if (found.length === records || length >= characters) break
        if (row.id <= after) continue
        found.push(row)
        length += row.text.length
      }
      return found
    },
  }
}
