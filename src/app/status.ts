/**
 * Assembles the response of `GET /v1/status` from the parts that this process runs.
 */
import { hostname } from 'node:os'
import type { Status } from '../api/routes/status.ts'
import type { Reader } from '../archive/reading/reader.ts'
import type { Replicator } from '../archive/replica/replicator.ts'
import type { Calendar } from '../core/calendar/calendar.ts'
import { isoMillis } from '../core/dates.ts'
import type { Ingest } from '../ingest/ingest.ts'
import type { Clock } from '../lifecycle/clock.ts'
import type { Log } from '../log/log.ts'
import type { RoleName } from '../settings/settings.ts'

/** What the status is read from. */
export interface StatusParts {
  roles: readonly RoleName[]
  log: Log
  reader: Reader
  replicator: Replicator
  /** null on a node without the role `poller`. */
  ingest: Ingest | null
  calendar: Calendar
  clock: Clock
}

const NO_QUOTA = { limit: null, used: null, remaining: null, reset: null, forecast: null, drift: null }
const NEVER_POLLED = { state: 'waiting', lastGoodPollMs: null, nextPollMs: null } as const

/** Returns a function that gives the present status. */
export function createStatus(parts: StatusParts): () => Status {
  const { reader, replicator, ingest, clock } = parts
  const upstream = createUpstreamStatus(parts)
  const self = `${hostname()}:${process.pid}`
  return () => {
    const nowMs = clock.now()
    const sinceMs = ingest?.poller.leaderSinceMs ?? null
    return {
      leader: { id: sinceMs === null ? null : self, since: timeOrNull(sinceMs), self: sinceMs !== null },
      upstream: upstream(),
      quota: ingest === null ? NO_QUOTA : quotaOf(ingest, nowMs),
      log: {
        kind: parts.log.kind,
        epoch: reader.epoch,
        oldest: reader.oldest,
        latest: reader.latest,
      },
      copy: {
        sequence: reader.latest,
        lagEvents: replicator.lag.events,
        lagSeconds: replicator.lag.sinceMs === null ? 0 : (nowMs - replicator.lag.sinceMs) / 1000,
        filled: replicator.replica.filling?.share ?? 1,
      },
      completeness: ingest?.completeness ?? 'polls+fills',
      gaps: [...(ingest?.openGaps() ?? [])],
      roles: [...parts.roles],
    }
  }
}

/** Only the status of the upstream, for the heartbeats of streams. */
export function createUpstreamStatus({
  ingest,
  calendar,
  clock,
}: Pick<StatusParts, 'ingest' | 'calendar' | 'clock'>): () => Status['upstream'] {
  return () => {
    const upstream = ingest?.upstream() ?? NEVER_POLLED
    return {
      state: upstream.state,
      lastGoodPoll: timeOrNull(upstream.lastGoodPollMs),
      nextPoll: timeOrNull(upstream.nextPollMs),
      phase: calendar.phase(clock.now()),
    }
  }
}

function quotaOf(ingest: Ingest, nowMs: number) {
  const { limit, used, remaining, resetMs, forecast, drift } = ingest.quota(nowMs)
  return { limit, used, remaining, reset: isoMillis(resetMs), forecast, drift }
}

function timeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoMillis(ms)
}
