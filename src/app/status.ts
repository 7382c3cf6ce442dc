/**
 * Assembles the response of `GET /v1/status` from what this process knows itself, and from what the leader reports.
 */
import type { Status } from '../api/routes/status.ts'
import type { Reader } from '../archive/reading/reader.ts'
import type { Replicator } from '../archive/replica/replicator.ts'
import type { Calendar } from '../core/calendar/calendar.ts'
import { SECOND_MS } from '../core/durations.ts'
import { UNKNOWN_QUOTA } from '../http/schemas/leader-report-schema.ts'
import { pollingStatusOf } from '../http/schemas/polling-schema.ts'
import type { Clock } from '../lifecycle/clock.ts'
import type { Log } from '../log/log.ts'
import type { PollingPauses } from '../registry/polling-pauses.ts'
import type { RoleName } from '../settings/settings.ts'
import type { LeaderView } from './leader-report.ts'

/** What the status is read from. */
export interface StatusParts {
  roles: readonly RoleName[]
  log: Log
  /** As in `/readyz`. */
  isLogAvailable: () => boolean
  reader: Reader
  replicator: Replicator
  leader: LeaderView
  pauses: Pick<PollingPauses, 'isLoaded' | 'current'>
  calendar: Calendar
  clock: Clock
}

/** Returns a function that gives the present status. What this process does not know is null. */
export function createStatus({
  reader,
  replicator,
  leader,
  pauses,
  calendar,
  clock,
  ...parts
}: StatusParts): () => Status {
  return () => {
    const nowMs = clock.now()
    const { report = null, isOwn = false } = leader.report() ?? {}
    const { id = null, since = null } = report?.leader ?? {}
    // A replica of an earlier run holds what was heard of the log then.
    const isLogKnown = replicator.hasHeard || reader.epoch !== null
    const { lagMs } = replicator
    const aheadMs = report?.upstreamAheadMs ?? null
    return {
      leader: { id, since, self: isOwn },
      upstream: {
        state: report?.upstreamState ?? null,
        lastGoodPoll: report?.lastGoodPoll ?? null,
        nextPoll: report?.nextPoll ?? null,
        phase: calendar.phase(nowMs + (aheadMs ?? 0)),
        aheadMs,
      },
      polling: pollingStatusOf(pauses.isLoaded ? pauses.current : undefined),
      quota: report?.quota ?? UNKNOWN_QUOTA,
      log: {
        kind: parts.log.kind,
        available: parts.isLogAvailable(),
        epoch: reader.epoch,
        oldest: isLogKnown ? reader.oldest : null,
        latest: isLogKnown ? reader.latest : null,
      },
      copy: {
        sequence: reader.latest,
        lagEvents: replicator.lag.events,
        lagSeconds: lagMs === null ? null : lagMs / SECOND_MS,
        filled: replicator.replica.filling?.share ?? 1,
      },
      completeness: report?.completeness ?? null,
      unreconciled: report?.unreconciled ?? null,
      gaps: report?.gaps ?? null,
      roles: [...parts.roles],
      asOf: report?.asOf ?? null,
    }
  }
}
