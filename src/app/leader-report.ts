/**
 * Gives the other parts of this process what the leader reports: the poller's own report while this process leads, else the
 * newest one from the log's status messages.
 */
import { LeaderReports } from '../archive/leader-reports.ts'
import { isoMillis, isoOrNull } from '../core/dates.ts'
import type { LeaderReport } from '../http/schemas/leader-report-schema.ts'
import type { Ingest } from '../ingest/ingest.ts'
import type { StartContext } from './context.ts'
import type { Storage } from './storage.ts'

/** What this process knows of the leader. */
export interface LeaderView {
  /** The newest report; null while none was received. `isOwn`: this process leads. */
  report(): { report: LeaderReport; isOwn: boolean } | null
  /** Of that report the times of polls, and when it was made; quick to ask for. */
  polls(): Pick<LeaderReport, 'asOf' | 'lastGoodPoll' | 'nextPoll'>
  /** Upstream's present time as far as it is known, else ours; ms since 1970. */
  upstreamNowMs(): number
}

/** Registers the role that receives reports, where the log has status messages. */
export function buildLeaderView(
  { clock, logger, metrics, roles }: StartContext,
  { log }: Pick<Storage, 'log'>,
  ingest: Ingest | null,
): LeaderView {
  const reports = new LeaderReports({
    log,
    clock,
    logger,
    onReport: ({ asOf }) => metrics.leaderReport.set(asOf === null ? null : Date.parse(asOf) / 1000),
  })
  if (log.followStatus !== undefined) {
    roles.push({ name: 'leader-reports', run: (signal) => reports.run(signal) })
  }
  return leaderView({ ingest, reports, clock })
}

/** The view over this process's poller, null where it has none, and the reports that it has received. */
export function leaderView({
  ingest,
  reports,
  clock,
}: {
  ingest: Pick<Ingest, 'report' | 'polls'> | null
  reports: Pick<LeaderReports, 'latest'>
  clock: StartContext['clock']
}): LeaderView {
  return {
    report() {
      const own = ingest?.report() ?? null
      if (own !== null) return { report: own, isOwn: true }
      return reports.latest === null ? null : { report: reports.latest, isOwn: false }
    },
    polls() {
      const own = ingest?.polls() ?? null
      if (own === null) return reports.latest ?? { asOf: null, lastGoodPoll: null, nextPoll: null }
      return {
        asOf: isoMillis(clock.now()),
        lastGoodPoll: isoOrNull(own.lastGoodPollMs),
        nextPoll: isoOrNull(own.nextPollMs),
      }
    },
    upstreamNowMs() {
      const aheadMs = ingest?.polls()?.upstreamAheadMs ?? reports.latest?.upstreamAheadMs ?? 0
      return clock.now() + aheadMs
    },
  }
}
