/**
 * Stores a report of each London day in the log's table `days` while this process leads, and publishes it when the day is
 * over. On Kafka the report goes to the status topic before its row is marked as published: a crash between the two repeats
 * the report, with the same date, but never loses it.
 */
import { DAYS_TABLE, type DayReport, type DayRow, publishedDay } from '../../archive/days.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../core/durations.ts'
import { isLogOutage, messageOf } from '../../errors.ts'
import { type Clock, sleep } from '../../lifecycle/clock.ts'
import type { Log } from '../../log/log.ts'
import type { Table } from '../../log/tables.ts'
import type { Logger } from '../../obs/logger.ts'
import type { IngestConfig } from '../machine/state.ts'
import type { Poller } from '../poller/poller.ts'
import { reportsOf } from './day-report.ts'

/** What the keeper is built from. */
export interface DayKeeperParts {
  log: Log
  poller: Pick<Poller, 'state' | 'leaderSinceMs'>
  config: Pick<IngestConfig, 'calendar' | 'dayWalks'>
  clock: Clock
  logger: Logger
}

/** Pause between two updates of the rows. */
const UPDATE_MS = 5 * SECOND_MS
/** Shortest time between two writes of a day that is not over. */
const UNFINISHED_WRITE_MS = MINUTE_MS
/** Rows kept, in days. */
const KEPT_DAYS = 400

/** Keeps the reports of this process's leadership. */
export class DayKeeper {
  readonly #parts: DayKeeperParts
  readonly #table: Table<DayRow>
  /** The rows of the table as JSON, by date. */
  #rows = new Map<string, string>()
  /** The leadership for which the rows were loaded. */
  #loadedFor: number | null = null
  #writtenMs = Number.NEGATIVE_INFINITY
  /** The last write failed. */
  #isFailing = false

  constructor(parts: DayKeeperParts) {
    this.#parts = parts
    this.#table = parts.log.table<DayRow>(DAYS_TABLE)
  }

  /** Ends when the signal aborts; rejects only for faults of ours or a damaged log. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#parts
    while (!signal.aborted) {
      try {
        await this.#update()
      } catch (error) {
        if (signal.aborted) return
        if (!isLogOutage(error)) throw error
        if (!this.#isFailing) logger.warn('day_report.write_failed', { reason: messageOf(error) })
        this.#isFailing = true
      }
      await sleep(clock, UPDATE_MS, signal)
    }
  }

  async #update(): Promise<void> {
    const { poller, config, clock } = this.#parts
    const { state, leaderSinceMs } = poller
    // Queued commits are not durable yet.
    if (leaderSinceMs === null || state.queue.length > 0) return
    const reports = reportsOf(state, config, clock.now())
    const today = reports.at(-1)?.date
    if (today === undefined) return
    if (this.#loadedFor !== leaderSinceMs) await this.#load()
    this.#loadedFor = leaderSinceMs
    const mayWrite = Math.abs(clock.now() - this.#writtenMs) >= UNFINISHED_WRITE_MS
    if (mayWrite) this.#writtenMs = clock.now()
    for (const report of reports) {
      if (poller.leaderSinceMs !== leaderSinceMs) return
      const isOver = report.date !== today && state.head.backfill === null
      if (this.#isPublished(report.date)) await this.#put({ report, isTold: true })
      else if (isOver) await this.#publish(report)
      else if (mayWrite) await this.#put({ report, isTold: false })
    }
    await this.#deleteBefore(new Date(Date.parse(today) - KEPT_DAYS * DAY_MS).toISOString().slice(0, 10))
  }

  async #load(): Promise<void> {
    const loaded = await this.#table.load()
    this.#rows = new Map([...loaded].map(([date, row]) => [date, JSON.stringify(row)]))
    this.#writtenMs = Number.NEGATIVE_INFINITY
  }

  async #put(row: DayRow): Promise<void> {
    const text = JSON.stringify(row)
    const { date } = row.report
    if (this.#rows.get(date) === text) return
    await this.#table.put(date, row)
    this.#isFailing = false
    this.#rows.set(date, text)
  }

  async #publish(report: DayReport): Promise<void> {
    await this.#parts.log.publishStatus?.({ type: 'day', ...publishedDay(report) })
    await this.#put({ report, isTold: true })
    const { date, gapsLeft } = report
    this.#parts.logger.info('day_report.published', {
      day: date,
      verdict: publishedDay(report).walk,
      openGaps: gapsLeft,
    })
  }

  #isPublished(date: string): boolean {
    const row = this.#rows.get(date)
    return row !== undefined && (JSON.parse(row) as DayRow).isTold
  }

  async #deleteBefore(oldest: string): Promise<void> {
    for (const date of this.#rows.keys()) {
      if (date >= oldest) continue
      await this.#table.delete(date)
      this.#rows.delete(date)
    }
  }
}
