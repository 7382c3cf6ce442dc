/**
 * Gives the other parts of this process what the leader reports: the poller's own report while this process leads, else the
 * newest one from the log's status messages.
 */
import { LeaderReports } from '../archive/leader-reports.ts'
import type { LeaderReport, UpstreamNews } from '../http/schemas/leader-report-schema.ts'
import type { Ingest } from '../ingest/ingest.ts'
import { nodeNameFor } from '../registry/node-name.ts'
import type { Access } from './access.ts'
import type { StartContext } from './context.ts'
import type { Storage } from './storage.ts'

/** What this process knows of the leader. */
export interface LeaderView {
  /** The newest report; null while none was received. `isOwn`: this process leads. */
  report(): { report: LeaderReport; isOwn: boolean } | null
  /** What heartbeats say of that report. It is at most a second old, so that thousands of streams cost little. */
  news(): UpstreamNews
  /** Upstream's present time as far as it is known, else ours; ms since 1970. */
  upstreamNowMs(): number
}

/** For so long the same news are given, ms. */
const NEWS_MS = 1000

/** Registers the role that receives reports, where the log has status messages. */
export function buildLeaderView(
  { clock, logger, metrics, roles }: StartContext,
  { log }: Pick<Storage, 'log'>,
  { keys }: Pick<Access, 'keys'>,
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
  const nameOf = (id: string): string => nodeNameFor({ seesAllTenants: false }, id, keys.key)
  return leaderView({ ingest, reports, clock, nameOf })
}

/**
 * The view over this process's poller, null where it has none, and the reports that it has received. `nameOf`: how news name a
 * leader of that id.
 */
export function leaderView({
  ingest,
  reports,
  clock,
  nameOf,
}: {
  ingest: Pick<Ingest, 'report' | 'upstreamAheadMs'> | null
  reports: Pick<LeaderReports, 'latest'>
  clock: StartContext['clock']
  nameOf: (id: string) => string
}): LeaderView {
  const report: LeaderView['report'] = () => {
    const own = ingest?.report() ?? null
    if (own !== null) return { report: own, isOwn: true }
    return reports.latest === null ? null : { report: reports.latest, isOwn: false }
  }
  let latest: { news: UpstreamNews; atMs: number } | null = null
  return {
    report,
    news() {
      const atMs = clock.now()
      if (latest === null || Math.abs(atMs - latest.atMs) >= NEWS_MS) {
        latest = { news: newsOf(report()?.report ?? null, nameOf), atMs }
      }
      return latest.news
    },
    upstreamNowMs: () => clock.now() + (ingest?.upstreamAheadMs() ?? reports.latest?.upstreamAheadMs ?? 0),
  }
}

function newsOf(report: LeaderReport | null, nameOf: (id: string) => string): UpstreamNews {
  const { id, since = null } = report?.leader ?? {}
  return {
    upstreamState: report?.upstreamState ?? null,
    lastGoodPoll: report?.lastGoodPoll ?? null,
    nextPoll: report?.nextPoll ?? null,
    openGaps: report?.gaps?.length ?? null,
    quotaRemaining: report?.quota.remaining ?? null,
    leader: id === undefined ? null : nameOf(id),
    leaderSince: since,
    asOf: report?.asOf ?? null,
  }
}
