/**
 * This node's copy of the days' reports that the leader keeps in the log's table `days`. Owns the shape of that table's rows
 * and their order. Refuses to count and to judge: the leader does (`ingest/reconciliation/day-report.ts`).
 */
import type { DayCounts } from '../core/calendar/day-record.ts'
import { followTable } from '../log/follow-table.ts'
import type { Purpose, Table } from '../log/log.ts'

/** The table of the log that holds them, a row a date. */
export const DAYS_TABLE = 'days'

/**
 * What is known of the walk over the day. `not_due`: its time has not come. `none`: it has none of its own, because nothing
 * is released on that day, or the stream began after its release window. `missed`: nobody led for too long. The others:
 * `core/calendar/day-record.ts`.
 */
export type WalkReport = 'not_due' | 'none' | 'owed' | 'whole' | 'unpaid' | 'failed' | 'missed'

/** One London day as it is reported. */
export interface DayReport extends DayCounts {
  /** London's, `YYYY-MM-DD`. */
  date: string
  /** Gaps over this day that are open. */
  gapsLeft: number
  /** Whether upstream's own mark of the day's end, an item with the category code `EOD`, is held. */
  eodSeen: boolean
  walk: WalkReport
  /** When the walk ended whole, ISO 8601; else null. */
  walkedAt: string | null
  /** Where only a part of the day was counted: from when on, ISO 8601; else null. */
  since: string | null
  /** Units spent on that day, by what for. */
  units: Partial<Record<Purpose, number>>
}

/** A row of the table. */
export interface DayRow {
  report: DayReport
  /** Whether the day is over and was told as such. */
  isTold: boolean
}

export interface DayCopy {
  /** Loads the table and follows its changes until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
  /** The last so many days, oldest first; null while the table has not been read. */
  last(days: number): readonly DayReport[] | null
}

/** A copy that is empty until it runs. */
export function createDayCopy(table: Table<DayRow>): DayCopy {
  const byDate = new Map<string, DayReport>()
  let isLoaded = false
  return {
    run: (signal) =>
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
    last(days) {
      if (!isLoaded) return null
      return [...byDate.values()].sort((one, other) => (one.date < other.date ? -1 : 1)).slice(-days)
    },
  }
}
