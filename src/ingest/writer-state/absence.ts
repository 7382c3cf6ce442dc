/**
 * Counts the quota units that may have been spent since a backup was taken, for the command that restores it. The backup's
 * ledger does not know them, and a count below upstream's would overspend the weekly quota.
 */
import { firstProfile } from '../../governor/arrivals/profile.ts'
import { unitsOf } from '../../governor/quota/ledger.ts'
import type { Ledger } from '../../governor/quota/time-buckets.ts'
import { ledgerAfterAbsence, type PlannedBy } from '../../governor/schedule/planned-spending.ts'
import type { RowChanges, Writer } from '../../log/events.ts'
import { changedRows, claimedState } from './rows.ts'

/** The rows that count an absence. */
export interface Absence {
  rows: RowChanges
  /** Units that they add. */
  units: number
  /** From when on, ms since 1970; null where no request was ever sent, and nothing is counted. */
  sinceMs: number | null
}

/**
 * Counts the time from `sinceMs` (null: from the last request that the rows know) to `nowMs` as if the poller had worked at
 * the plan's pace.
 * @throws BridgeError `log_damaged` when a row is not JSON
 */
export function countAbsence(
  stored: Pick<Writer, 'epoch' | 'sequence' | 'rows'>,
  by: Omit<PlannedBy, 'profile'>,
  { sinceMs: takenMs, nowMs }: { sinceMs: number | null; nowMs: number },
): Absence {
  const before = claimedState(stored)
  const sinceMs = takenMs ?? before.head.lastSpendMs
  if (sinceMs === null) return { rows: new Map(), units: 0, sinceMs }
  const profile = before.head.profile ?? firstProfile()
  const ledger = ledgerAfterAbsence(before.ledger, { ...by, profile }, { sinceMs, nowMs })
  return {
    rows: changedRows(before, { ...before, ledger }),
    units: unitsIn(ledger) - unitsIn(before.ledger),
    sinceMs,
  }
}

function unitsIn(ledger: Ledger): number {
  return [...ledger.values()].reduce((sum, units) => sum + unitsOf(units), 0)
}
