/**
 * Lists the gaps and days that orders can be about, as far as this node knows. Its view may be some seconds old: only the
 * leader decides on an order.
 */
import type { DayReplica, WalkReport } from '../../archive/days.ts'
import { RECONCILED_DAYS_BACK } from '../../core/calendar/day-record.ts'
import { MOST_REPORTED_GAPS } from '../../http/schemas/leader-report-schema.ts'

/** Names of what orders can be about; null: this node does not know. */
export interface KnownTargets {
  /** Ids of the open gaps. */
  openGaps(): readonly string[] | null
  /** London's dates of the days that can be read again. */
  days(): readonly string[] | null
}

/** What the names are read from. */
export interface TargetSources {
  status: () => { gaps: readonly { id: string }[] | null }
  days: Pick<DayReplica, 'last'>
}

/** Reconciliations that nobody can order: not yet, or of a day without releases. */
const UNREADABLE: readonly WalkReport[] = ['not_due', 'none']
/** Days among which the last business days are that can be read again. */
const DAYS_BACK = 30

/** The names as they are when they are asked for. */
export function knownTargets({ status, days }: TargetSources): KnownTargets {
  return {
    openGaps() {
      const { gaps } = status()
      // A full list may leave some out.
      return gaps === null || gaps.length >= MOST_REPORTED_GAPS ? null : gaps.map(({ id }) => id)
    },
    days() {
      const reports = days.last(DAYS_BACK)?.filter(({ walk }) => !UNREADABLE.includes(walk))
      return reports?.slice(-RECONCILED_DAYS_BACK).map(({ date }) => date) ?? null
    },
  }
}
