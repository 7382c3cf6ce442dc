/**
 * Keeps the newest report of the leader that this node has received: who leads, how the upstream responds, the next poll,
 * the quota and open gaps. The reports are the heartbeats of the log's status messages.
 */
import { type LeaderReport, reportIn } from '../http/schemas/leader-report-schema.ts'
import type { Clock } from '../lifecycle/clock.ts'
import type { Log } from '../log/log.ts'
import type { Logger } from '../obs/logger.ts'

/**
 * A leader reports every 5 s, one of an earlier version every 15 s. After a longer silence a report of any process is taken, ms: the times of two
 * leaders are compared, and the clock of the newer one may be behind.
 */
const SILENT_MS = 20_000

/** What the reports are received with. */
export interface LeaderReportsParts {
  log: Pick<Log, 'followStatus'>
  clock: Clock
  logger: Logger
  /** Called with each report that is taken. */
  onReport?: (report: LeaderReport) => void
}

/** The reports of leaders, of which the newest counts. */
export class LeaderReports {
  readonly #parts: LeaderReportsParts
  #latest: LeaderReport | null = null
  /** When the latest was received, ms since 1970, our clock. */
  #receivedMs = 0
  #isUnreadable = false

  constructor(parts: LeaderReportsParts) {
    this.#parts = parts
  }

  /** The newest report; null before the first. It stays while no leader reports, or the log is unavailable. */
  get latest(): LeaderReport | null {
    return this.#latest
  }

  /** Receives reports until the signal aborts, then resolves; at once where the log has no status messages. */
  async run(signal: AbortSignal): Promise<void> {
    for await (const texts of this.#parts.log.followStatus?.(signal) ?? []) {
      for (const text of texts) this.#take(text)
    }
  }

  #take(text: string): void {
    const { clock, logger, onReport } = this.#parts
    const report = reportIn(text)
    if (report === undefined && !this.#isUnreadable) logger.warn('leader.report_unreadable')
    this.#isUnreadable = report === undefined
    if (!report || !this.#succeeds(report)) return
    this.#latest = report
    this.#receivedMs = clock.now()
    onReport?.(report)
  }

  /**
   * True where the report is of the present leader or of a later one. A leader that was suspended publishes once more when
   * it wakes up, before it learns that another has taken over.
   */
  #succeeds({ leader }: LeaderReport): boolean {
    if (this.#latest === null) return true
    const { id = '', since = '' } = this.#latest.leader ?? {}
    const isSame = (leader?.id ?? '') === id && (leader?.since ?? '') === since
    const isSilent = this.#parts.clock.now() - this.#receivedMs > SILENT_MS
    return isSame || isSilent || (leader?.since ?? '') > since
  }
}
