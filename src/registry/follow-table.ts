/**
 * A table of the log, read and then followed. Owns that nothing falls between the two. Refuses to keep rows: whoever
 * follows does, and takes the same row twice without harm.
 */
import type { Change, Table } from '../log/log.ts'

/** Who is told. */
export interface TableReader<V> {
  /** Told of every row as it stands, then of every change. */
  onChange(change: Change<V>): void
  /** Told once, when every row that was there at the beginning has been told. */
  onLoaded(): void
}

/** Follows until the signal aborts. */
export async function followTable<V>(
  table: Table<V>,
  { onChange, onLoaded }: TableReader<V>,
  signal: AbortSignal,
): Promise<void> {
  // Asked for before the load, so that nothing falls between the two.
  const changes = table.changes(signal)
  for (const [key, value] of await table.load()) onChange({ key, value })
  onLoaded()
  for await (const batch of changes) for (const change of batch) onChange(change)
}
