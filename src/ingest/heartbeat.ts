/**
 * Publishes the leader's heartbeat to the Kafka topic for status messages: every 5 s, after each successful poll, when
 * this process has taken over, when upstream answers otherwise than before, and when polling is paused or resumed. A heartbeat
 * holds the last sequence and everything else that only the leader knows.
 */
import type { Calendar } from '../core/calendar/calendar.ts'
import { MOST_REPORTED_GAPS } from '../http/schemas/leader-report-schema.ts'
import { type Clock, sleep } from '../lifecycle/clock.ts'
import type { StatusMessage } from '../log/events.ts'
import type { Logger } from '../obs/logger.ts'
import { type Reporter, reportOf } from './leader-report.ts'
import { type IngestState, isInformed } from './machine/state.ts'
import type { Observer } from './poller/ingest-metrics.ts'

/**
 * Longest time between two heartbeats of a leader, ms: at 5 s every node has the next one. A word that is older than 10 s
 * then means that the leader is silent.
 */
const HEARTBEAT_MS = 4_500

/** What a heartbeat is built from. */
export interface HeartbeatParts extends Reporter {
  /** Publishes a message to the status topic. */
  publish(value: StatusMessage): Promise<void>
  calendar: Calendar
  clock: Clock
  logger: Logger
}

/** A heartbeat that publishes nothing before the poller leads. */
export function createHeartbeat(parts: HeartbeatParts) {
  const { publish, calendar, clock, logger } = parts
  let state: IngestState | null = null
  let leaderSinceMs: number | null = null
  let wake = new AbortController()
  let isFailing = false

  const publishOrLog = async (value: StatusMessage): Promise<void> => {
    try {
      await publish(value)
      if (isFailing) logger.info('heartbeat.publish_recovered')
      isFailing = false
    } catch (error) {
      if (!isFailing) logger.warn('heartbeat.publish_failed', { error })
      isFailing = true
    }
  }
  const heartbeatOf = (of: IngestState, sinceMs: number): StatusMessage => {
    const nowMs = clock.now()
    const { lastGoodPoll, nextPoll, gaps, ...report } = reportOf(of, sinceMs, parts, nowMs)
    return {
      type: 'heartbeat',
      epoch: of.head.epoch,
      sequence: of.head.sequence,
      lastGoodPoll,
      nextPoll,
      phase: calendar.phase(nowMs + (report.upstreamAheadMs ?? 0)),
      openGaps: gaps.length,
      quotaRemaining: report.quota.remaining,
      ...report,
      gaps: gaps.slice(0, MOST_REPORTED_GAPS),
    }
  }

  return {
    /** An observer that forwards to the given one and notes the poller's state for the next heartbeat. */
    observing: (observer: Observer): Observer => ({
      ...observer,
      leads(sinceMs) {
        observer.leads(sinceMs)
        leaderSinceMs = sinceMs
      },
      stateChanged(next, nowMs) {
        observer.stateChanged(next, nowMs)
        const hasPolled = next.lastGoodPollMs !== (state?.lastGoodPollMs ?? null)
        const hasClaimed = next.head.epoch !== (state?.head.epoch ?? '')
        const hasPaused = next.pausedSinceMs !== (state?.pausedSinceMs ?? null)
        const answersOtherwise = next.upstream !== state?.upstream
        state = next
        if (hasPolled || hasClaimed || hasPaused || answersOtherwise) wake.abort()
      },
    }),
    /** Publishes until the signal aborts, then resolves. Never rejects: a heartbeat that fails is logged and dropped. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        wake = new AbortController()
        if (state !== null && isInformed(state, leaderSinceMs)) {
          await publishOrLog(heartbeatOf(state, leaderSinceMs))
        }
        await sleep(clock, HEARTBEAT_MS, AbortSignal.any([signal, wake.signal]))
      }
    },
  }
}
