/**
 * Upgrades an archive file of an older version: rebuilds all derived tables, such as indexes, from the stored events, which
 * stay as they are. Each batch is a transaction that records its progress, so a kill costs one batch.
 */
import type { Steps } from '../../lifecycle/slices.ts'
import type { Database } from '../../storage/database.ts'
import { markLinks } from './catch-up.ts'
import { insertDerived, readUnderived } from './record.ts'
import { derivedThrough, setDerivedThrough } from './schema.ts'

/** Sizes of an upgrade's steps. */
export interface UpgradePace {
  /** Events of one transaction: about 50 ms of work, and a few MB of write-ahead log. */
  batchEvents: number
  /** Events between two progress reports. */
  reportEvents: number
}

const PACE: UpgradePace = { batchEvents: 500, reportEvents: 50_000 }

/** Progress of an upgrade. */
export interface UpgradeProgress {
  /** The last sequence whose derived rows are rebuilt. */
  sequence: number
  /** The last sequence of the store. */
  latest: number
}

/**
 * Completes a pending upgrade, if there is one, a batch a step; about a minute for a million events.
 * @throws BridgeError as `Database`; finished batches stay
 */
export function* finishUpgrade(
  db: Database,
  nativeKind: string,
  report: (progress: UpgradeProgress) => void = () => {},
  pace = PACE,
): Steps<void> {
  let done = derivedThrough(db)
  if (done === null) return
  const latest =
    db.prepare<{ high: number | null }>('SELECT max(sequence) AS high FROM events').get()?.high ?? 0
  report({ sequence: done, latest })
  for (let next = done; next < latest; ) {
    next = db.transaction(() => deriveBatch(db, next, nativeKind, pace))
    if (next - done >= pace.reportEvents || next >= latest) {
      report({ sequence: next, latest })
      done = next
    }
    yield
  }
  db.transaction(() => setDerivedThrough(db, null))
}

/** Rebuilds the derived rows of the next events after `after`; returns the last of their sequences. */
function deriveBatch(db: Database, after: number, nativeKind: string, pace: UpgradePace): number {
  // No derived row depends on the epoch.
  const events = readUnderived(db, after, pace.batchEvents, '')
  let maxTimeMs =
    db.prepare<{ high: number | null }>('SELECT max(time_ms) AS high FROM highs').get()?.high ??
    Number.NEGATIVE_INFINITY
  for (const event of events) {
    insertDerived(db, event, maxTimeMs, nativeKind)
    maxTimeMs = Math.max(maxTimeMs, event.timeMs)
  }
  const last = events.at(-1)?.sequence ?? after
  setDerivedThrough(db, last)
  markLinks(db, last)
  return last
}
