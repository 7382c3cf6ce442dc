/**
 * Keeps an in-memory replica of the log's table `days`, in which the leader stores one report per London day.
 * `ingest/reconciliation/day-report.ts` builds the reports: item counts, open gaps, quota units spent.
 */
import type { DayCounts } from '../core/calendar/day-record.ts'
import type { Purpose } from '../core/purpose.ts'
import { followTable } from '../log/follow-table.ts'
import type { Table } from '../log/tables.ts'

/** The log table of day reports, one row per date. */
export const DAYS_TABLE = 'days'

/**
 * State of the daily reconciliation, which re-reads the whole day from upstream. `not_due`: its time has not come. `none`:
 * nothing is released on that day, or the stream began after its release window. `missed`: no leader ran in time. The
 * others: `core/calendar/day-record.ts`.
 */
export type WalkReport = 'not_due' | 'none' | 'owed' | 'whole' | 'unpaid' | 'failed' | 'missed'

/** The report of one London day. */
export interface DayReport extends DayCounts {
  /** Date in London, `YYYY-MM-DD`. */
  date: string
  /** Open gaps that cover part of this day. */
  gapsLeft: number
  /** Whether upstream's end-of-day marker, an item with the category code `EOD`, is stored. */
  eodSeen: boolean
  walk: WalkReport
  /** When the reconciliation completed, ISO 8601; else null. */
  walkedAt: string | null
  /** Spans of the day, up to now, that polls covered and no reconciliation has read again; ISO 8601. */
  unreconciled?: readonly { from: string; to: string }[]
  /** Start of the counted part of the day if it is incomplete, ISO 8601; else null. */
  since: string | null
  /** Quota units spent on that day, by purpose. */
  units: Partial<Record<Purpose, number>>
}

/** The words in which readers get the state of the reconciliation; stored rows keep those that they began with. */
export const reportedStates = {
  not_due: 'not_due',
  none: 'none',
  owed: 'pending',
  whole: 'complete',
  unpaid: 'over_budget',
  failed: 'failed',
  missed: 'missed',
} as const satisfies Record<WalkReport, string>

/** A report as `GET /v1/report` and the status topic give it. */
export interface PublishedDay extends Omit<DayReport, 'walk'> {
  walk: (typeof reportedStates)[WalkReport]
}

/** A stored report in the words of its readers. A state that a later version stored passes as it is. */
export function publishedDay(report: DayReport): PublishedDay {
  return { ...report, walk: reportedStates[report.walk] ?? report.walk }
}

/** A row of the table. */
export interface DayRow {
  report: DayReport
  /** Whether the final report of the day was published. */
  isTold: boolean
}

/** The day reports as this node has them. */
export type DayReplica = ReturnType<typeof createDayReplica>

/** A replica that is empty until `run`. */
export function createDayReplica(table: Table<DayRow>) {
  const byDate = new Map<string, DayReport>()
  let isLoaded = false
  return {
    /** Loads the table and applies its changes until the signal aborts. */
    run: (signal: AbortSignal): Promise<void> =>
      followTable(
        table,
        {
          onChange: ({ key, value }) => {
            if (value === null) byDate.delete(key)
            else byDate.set(key, value.report)
          },
          onLoaded: () => {
            isLoaded = true
          },
        },
        signal,
      ),
    /** The reports of the last `days` days, oldest first; null until the table is loaded. */
    last(days: number): readonly DayReport[] | null {
      if (!isLoaded) return null
      return [...byDate.values()].sort((one, other) => (one.date < other.date ? -1 : 1)).slice(-days)
    },
  }
}
