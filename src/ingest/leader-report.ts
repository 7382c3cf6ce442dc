/** Builds the report of the leader from the poller's state: upstream, next poll, quota and open gaps. */
import type { Calendar } from '../core/calendar/calendar.ts'
import { isoMillis, isoOrNull } from '../core/dates.ts'
import { DAY_MS } from '../core/durations.ts'
import { quotaAt } from '../governor/quota/ledger.ts'
import type { Completeness } from '../governor/schedule/daily-reconciliation.ts'
import type { LeaderReport } from '../http/schemas/leader-report-schema.ts'
import { nextPollAtMs } from './machine/next-poll.ts'
import { type Clocks, decidedSkewMs, skewsMs } from './machine/present.ts'
import { gapOf } from './machine/publish.ts'
import type { IngestConfig, IngestState } from './machine/state.ts'
import { forecast } from './poller/ingest-metrics.ts'
import { partsWithin, unreconciledRanges } from './reconciliation/unreconciled.ts'

/** Less than the days of which the poller keeps records. */
const NAMED_MS = 14 * DAY_MS

/** What a report says of the process and its settings. */
export interface Reporter {
  /** Host and process id. */
  processId: string
  config: Pick<IngestConfig, 'weeklyQuota' | 'quotaReset' | 'calendar'>
  completeness: Completeness
}

/** A report of this process: it leads and has read the writer's state, so nothing of it is unknown. */
export type OwnReport = LeaderReport & { gaps: NonNullable<LeaderReport['gaps']> }

/** The report at `nowMs` of a process that has led since `sinceMs`, both ms since 1970. */
export function reportOf(
  state: IngestState,
  sinceMs: number,
  { processId, config, completeness }: Reporter,
  nowMs: number,
): OwnReport {
  const { resetMs, ...quota } = quotaAt(state.ledger, config.weeklyQuota, config.quotaReset, nowMs)
  return {
    asOf: isoMillis(nowMs),
    leader: { id: processId, since: isoMillis(sinceMs) },
    upstreamState: state.upstream,
    lastGoodPoll: isoOrNull(state.lastGoodPollMs),
    nextPoll: isoOrNull(nextPollAtMs(state)),
    pausedSince: isoOrNull(state.pausedSinceMs),
    quota: {
      ...quota,
      reset: isoMillis(resetMs),
      forecast: forecast({ ...quota, resetMs }, state),
      drift: state.quotaDrift,
    },
    gaps: state.head.openGaps.map(gapOf),
    completeness,
    unreconciled: recentlyUnreconciled(state, config.calendar, nowMs),
    upstreamAheadMs: aheadMs(state),
  }
}

/** The spans of the last two weeks that were not read again, ISO 8601, oldest first. */
function recentlyUnreconciled(state: IngestState, calendar: Calendar, nowMs: number) {
  const { head } = state
  const skews = skewsMs(state)
  const skewMs = Math.min(...skews)
  // Before the first answer our clock may be behind that of the process before this one.
  const presentMs = Math.max(nowMs + Math.max(...skews), state.hasDate === null ? head.latestTimeMs : 0)
  const ranges = unreconciledRanges(head, { calendar, presentMs, skewMs })
  return partsWithin(ranges, { fromMs: nowMs + skewMs - NAMED_MS, toMs: presentMs })
}

/** Upstream's clock minus ours, ms; null before the first good poll, and while they disagree and either may be right. */
export function aheadMs(state: Clocks & Pick<IngestState, 'lastGoodPollMs'>): number | null {
  return state.lastGoodPollMs === null ? null : decidedSkewMs(state)
}
