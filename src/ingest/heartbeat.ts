/**
 * Publishes the leader's heartbeat to the Kafka topic for status messages, every 15 s and after each successful poll. A
 * heartbeat holds the last sequence, the times of the last and next poll, the number of open gaps (spans of time in which
 * items may be missing), and the quota left.
 */
import type { Calendar } from '../core/calendar/calendar.ts'
import { isoMillis } from '../core/dates.ts'
import { quotaAt } from '../governor/quota/ledger.ts'
import { type Clock, sleep } from '../lifecycle/clock.ts'
import type { StatusMessage } from '../log/events.ts'
import type { Logger } from '../obs/logger.ts'
import { type IngestConfig, type IngestState, nextPollAtMs } from './machine/state.ts'
import type { Observer } from './poller/ingest-metrics.ts'

/** Longest time between two heartbeats of a leader, ms. */
const HEARTBEAT_MS = 15_000

/** What a heartbeat is built from. */
export interface HeartbeatParts {
  /** Publishes a message to the status topic. */
  publish(value: StatusMessage): Promise<void>
  calendar: Calendar
  config: Pick<IngestConfig, 'weeklyQuota' | 'quotaReset'>
  clock: Clock
  logger: Logger
}

/** A heartbeat that publishes nothing before the poller leads. */
export function createHeartbeat({ publish, calendar, config, clock, logger }: HeartbeatParts) {
  let state: IngestState | null = null
  let isLeading = false
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
  const heartbeatOf = (of: IngestState): StatusMessage => ({
    type: 'heartbeat',
    epoch: of.head.epoch,
    sequence: of.head.sequence,
    lastGoodPoll: timeOrNull(of.lastGoodPollMs),
    nextPoll: timeOrNull(nextPollAtMs(of)),
    phase: calendar.phase(clock.now()),
    openGaps: of.head.openGaps.length,
    quotaRemaining: quotaAt(of.ledger, config.weeklyQuota, config.quotaReset, clock.now()).remaining,
  })

  return {
    /** An observer that forwards to the given one and notes the poller's state for the next heartbeat. */
    observing: (observer: Observer): Observer => ({
      ...observer,
      leads(isLeader) {
        observer.leads(isLeader)
        isLeading = isLeader
      },
      stateChanged(next, nowMs) {
        observer.stateChanged(next, nowMs)
        const hasPolled = next.lastGoodPollMs !== (state?.lastGoodPollMs ?? null)
        state = next
        if (hasPolled) wake.abort()
      },
    }),
    /** Publishes until the signal aborts, then resolves. Never rejects: a heartbeat that fails is logged and dropped. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        wake = new AbortController()
        if (isLeading && state !== null && state.head.epoch !== '') await publishOrLog(heartbeatOf(state))
        await sleep(clock, HEARTBEAT_MS, AbortSignal.any([signal, wake.signal]))
      }
    },
  }
}

function timeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoMillis(ms)
}
