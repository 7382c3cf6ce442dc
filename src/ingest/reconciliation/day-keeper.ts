/**
 * Keeps the days' reports in the log's table `days` while this process leads, for every node to serve, and tells each day
 * that is over once to the readers of the log. Owns when a row is written. Refuses to count: the rows follow from the
 * poller's state, which every leader finds as the last one left it.
 *
 * A day is told first and marked as told then, so that none is lost with a leader; one that dies between the two has it
 * told twice, with the same date.
 */

import { DAYS_TABLE, type DayReport, type DayRow } from '../../archive/days.ts'
import { DAY_MS } from '../../core/durations.ts'
import { isLogOutage, messageOf } from '../../errors.ts'
import { type Clock, sleep } from '../../lifecycle/clock.ts'
import type { StatusMessage } from '../../log/events.ts'
import type { Log } from '../../log/log.ts'
import type { Logger } from '../../obs/logger.ts'
import type { IngestConfig } from '../machine/state.ts'
import type { Poller } from '../poller/poller.ts'
import { reportsOf } from './day-report.ts'

export interface DayKeeperParts {
  log: Log
  /** Only its present state is looked at. */
  poller: Pick<Poller, 'state' | 'leaderSinceMs'>
  config: Pick<IngestConfig, 'calendar' | 'dayWalks'>
  clock: Clock
  logger: Logger
}

const LOOK_MS = 5_000
/** A day that is not over is written no more often than this. */
const UNDER_WAY_MS = 60_000
/** Rows kept, in days. */
const KEPT_DAYS = 400

/** The keeper; it runs until the signal aborts, and rejects only for damage. */
export function createDayKeeper({ log, poller, config, clock, logger }: DayKeeperParts): {
  run(signal: AbortSignal): Promise<void>
} {
  const table = log.table<DayRow>(DAYS_TABLE)
  /** The rows as they stand, as JSON, by date. */
  let rows = new Map<string, string>()
  let loadedFor: number | null = null
  let writtenMs = Number.NEGATIVE_INFINITY

  const put = async (row: DayRow): Promise<void> => {
    const text = JSON.stringify(row)
    const { date } = row.report
    if (rows.get(date) === text) return
    await table.put(date, row)
    rows.set(date, text)
  }
  const tell = async (report: DayReport): Promise<void> => {
    const said: StatusMessage = { type: 'day', ...report }
    await log.publishStatus?.(said)
    await put({ report, isTold: true })
    logger.info('day.over', { day: report.date, verdict: report.walk, openGaps: report.gapsLeft })
  }
  const isTold = (date: string): boolean => {
    const row = rows.get(date)
    return row !== undefined && (JSON.parse(row) as DayRow).isTold
  }
  const forgetBefore = async (oldest: string): Promise<void> => {
    for (const date of rows.keys()) {
      if (date >= oldest) continue
      await table.delete(date)
      rows.delete(date)
    }
  }
  const load = async (): Promise<void> => {
    const loaded = await table.load()
    rows = new Map([...loaded].map(([date, row]) => [date, JSON.stringify(row)]))
    writtenMs = Number.NEGATIVE_INFINITY
  }

  const look = async (): Promise<void> => {
    const { state, leaderSinceMs } = poller
    // What waits to be committed is not durable yet.
    if (leaderSinceMs === null || state.queue.length > 0) return
    const reports = reportsOf(state, config, clock.now())
    const today = reports.at(-1)?.date
    if (today === undefined) return
    if (loadedFor !== leaderSinceMs) await load()
    loadedFor = leaderSinceMs
    const mayWrite = Math.abs(clock.now() - writtenMs) >= UNDER_WAY_MS
    if (mayWrite) writtenMs = clock.now()
    for (const report of reports) {
      if (poller.leaderSinceMs !== leaderSinceMs) return
      const isOver = report.date !== today && state.head.backfill === null
      if (isTold(report.date)) await put({ report, isTold: true })
      else if (isOver) await tell(report)
      else if (mayWrite) await put({ report, isTold: false })
    }
    await forgetBefore(new Date(Date.parse(today) - KEPT_DAYS * DAY_MS).toISOString().slice(0, 10))
  }

  return {
    async run(signal) {
      let isAway = false
      while (!signal.aborted) {
        try {
          await look()
          isAway = false
        } catch (error) {
          if (signal.aborted) return
          if (!isLogOutage(error)) throw error
          if (!isAway) logger.warn('days.away', { reason: messageOf(error) })
          isAway = true
        }
        await sleep(clock, LOOK_MS, signal)
      }
    },
  }
}
