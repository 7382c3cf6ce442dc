/**
 * Brings a store of an older version up: everything derived is made again from the events, which stay as they are. Owns
 * the batches, each a transaction that says how far it came, so that a kill at any moment costs one batch. Refuses to know
 * tables: `schema.ts` has made them, `record.ts` fills them.
 */
import type { Database } from '../../storage/database.ts'
import { insertDerived, readUnderived } from './record.ts'
import { derivedThrough, setDerivedThrough } from './schema.ts'

/** How much is done at once. */
export interface UpgradePace {
  /** Events of one transaction: about 50 ms of work, and a few MB of write-ahead log. */
  batchEvents: number
  /** Events between two words about how far it came. */
  reportEvents: number
}

const PACE: UpgradePace = { batchEvents: 500, reportEvents: 50_000 }

/** How far an upgrade has come. */
export interface UpgradeProgress {
  /** The last sequence whose facts and terms are there again. */
  sequence: number
  /** The sequence at which it will be done. */
  latest: number
}

/**
 * Goes on with an upgrade where one is under way, to its end; about a minute for a million events.
 * @throws BridgeError as `Database`; what is done stays done
 */
export function finishUpgrade(
  db: Database,
  nativeKind: string,
  report: (progress: UpgradeProgress) => void = () => {},
  pace = PACE,
): void {
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
  }
  db.transaction(() => setDerivedThrough(db, null))
}

/** Derives the next events after `after`; returns the last of them. */
function deriveBatch(db: Database, after: number, nativeKind: string, pace: UpgradePace): number {
  // The epoch is in every event's cursor, but nothing that is derived depends on it.
  const events = readUnderived(db, after, pace.batchEvents, '')
  let highMs =
    db.prepare<{ high: number | null }>('SELECT max(time_ms) AS high FROM highs').get()?.high ??
    Number.NEGATIVE_INFINITY
  for (const event of events) {
    insertDerived(db, event, highMs, nativeKind)
    highMs = Math.max(highMs, event.timeMs)
  }
  const last = events.at(-1)?.sequence ?? after
  setDerivedThrough(db, last)
  return last
}
