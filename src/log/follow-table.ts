/**
 * A table of the log, read and then followed. Owns that nothing falls between the two, and that a stop waits for no log
 * that is away. Refuses to keep rows: whoever follows does, and takes the same row twice without harm.
 */
import { aborted } from '../lifecycle/aborted.ts'
import type { Change, Table } from './log.ts'

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
  const rows = await Promise.race([table.load(), aborted(signal)])
  if (rows === undefined) return
  for (const [key, value] of rows) onChange({ key, value })
  onLoaded()
  for await (const batch of changes) for (const change of batch) onChange(change)
}
