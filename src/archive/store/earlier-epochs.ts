/**
 * Reads which epochs the log had before a restore. A restore begins a new epoch and keeps the events of the backup, so the
 * log shares its first events with the epochs before, and readers with an older cursor need to know how many.
 */
import type { EarlierEpochs } from '../../log/events.ts'
import { storedValue } from '../../log/stored-value.ts'
import type { Database } from '../../storage/database.ts'

/** Name in `meta`; absent where the log was never restored. */
const NAME = 'earlier_epochs'

/**
 * The earlier epochs of the store; null where it was never restored.
 * @throws BridgeError `log_damaged` when they are not JSON
 */
export function readEarlierEpochs(db: Database): EarlierEpochs | null {
  const row = db.prepare<{ value: string }>('SELECT value FROM meta WHERE name = ?').get(NAME)
  return row === undefined ? null : storedValue<EarlierEpochs>(NAME, row.value)
}

/** Stores the earlier epochs; null removes them. Within a transaction of the caller. */
export function writeEarlierEpochs(db: Database, earlier: EarlierEpochs | null): void {
  db.prepare('DELETE FROM meta WHERE name = ?').run(NAME)
  if (earlier === null) return
  db.prepare('INSERT INTO meta(name, value) VALUES (?, ?)').run(NAME, JSON.stringify(earlier))
}

/**
 * The last sequence that the present epoch may share with that one; null where the log was never restored. For an unknown
 * epoch it is that of the newest restore, which began from a backup that both logs have in common.
 */
export function sharedThrough(earlier: EarlierEpochs | null, epoch: string): number | null {
  return earlier === null ? null : (earlier.epochs[epoch] ?? earlier.through)
}
