/**
 * The heartbeat of the status topic (contract §4) while this process leads, so that a reader of the topics can tell an idle
 * night from a dead feed. Owns when and what. Refuses to matter to the poller: a word that does not get through is dropped;
 * and to speak of days: `day-keeper.ts` does.
 */
import type { Calendar } from '../core/calendar/calendar.ts'
import { isoMillis } from '../core/dates.ts'
import { quotaAt } from '../governor/quota/ledger.ts'
import { type Clock, sleep } from '../lifecycle/clock.ts'
import type { Announcement } from '../log/log.ts'
import type { Logger } from '../obs/logger.ts'
import { type IngestConfig, type IngestState, nextPollAtMs } from './machine/state.ts'
import type { Observer } from './poller/ingest-metrics.ts'

/** Longest silence of a leader, ms (contract §4). */
const HEARTBEAT_MS = 15_000

/** What an announcer is made of. */
export interface AnnouncerParts {
  announce(value: Announcement): Promise<void>
  calendar: Calendar
  config: Pick<IngestConfig, 'weeklyQuota' | 'quotaReset'>
  clock: Clock
  logger: Logger
}

/** Watches the poller and tells of it. */
export interface Announcer {
  /** The observer that hears what the poller does, this announcer between. */
  watching(observer: Observer): Observer
  /** Announces until the signal aborts, then resolves. Never rejects. */
  run(signal: AbortSignal): Promise<void>
}

/** An announcer that has heard of nothing. */
export function createAnnouncer({ announce, calendar, config, clock, logger }: AnnouncerParts): Announcer {
  let state: IngestState | null = null
  let leading = false
  let wake = new AbortController()
  let failing = false

  const see = (next: IngestState): void => {
    const polled = next.lastGoodPollMs !== (state?.lastGoodPollMs ?? null)
    state = next
    if (polled) wake.abort()
  }
  const say = async (value: Announcement): Promise<void> => {
    try {
      await announce(value)
      if (failing) logger.info('status.back')
      failing = false
    } catch (error) {
      if (!failing) logger.warn('status.away', { error })
      failing = true
    }
  }
  const heartbeat = (of: IngestState): Announcement => ({
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
    watching: (observer) => ({
      ...observer,
      get skewMs() {
        return observer.skewMs
      },
      leads(isLeader) {
        observer.leads(isLeader)
        leading = isLeader
      },
      stateChanged(next, nowMs) {
        observer.stateChanged(next, nowMs)
        see(next)
      },
    }),
    async run(signal) {
      while (!signal.aborted) {
        wake = new AbortController()
        if (leading && state !== null && state.head.epoch !== '') {
          await say(heartbeat(state))
        }
        await sleep(clock, HEARTBEAT_MS, AbortSignal.any([signal, wake.signal]))
      }
    },
  }
}

function timeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoMillis(ms)
}
