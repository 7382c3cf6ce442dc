/** Loads a key-value table of the log and then follows its changes, without missing one in between. */
import { aborted } from '../lifecycle/aborted.ts'
import type { Change, Table } from './tables.ts'

/** Receives the rows and changes of a table. The same row may come twice. */
export interface TableReader<V> {
  /** Called with every row as it stands, then with every change. */
  onChange(change: Change<V>): void
  /** Called once, when `onChange` has received every row that existed at the start. */
  onLoaded(): void
}

/** Follows until the signal aborts; a stop does not wait for an unavailable log. */
export async function followTable<V>(
  table: Table<V>,
  { onChange, onLoaded }: TableReader<V>,
  signal: AbortSignal,
): Promise<void> {
  // Subscribes before it loads, so that no change falls between the two.
  const changes = table.changes(signal)
  const rows = await Promise.race([table.load(), aborted(signal)])
  if (rows === undefined) return
  for (const [key, value] of rows) onChange({ key, value })
  onLoaded()
  for await (const batch of changes) for (const change of batch) onChange(change)
}
