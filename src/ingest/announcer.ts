/**
 * The status topic of contract §4: a heartbeat while this process leads, and once a day what the day brought, so that a
 * reader of the topics can tell an idle night from a dead feed. Owns when and what. Refuses to matter to the poller: a
 * word that does not get through is dropped.
 */
import type { Calendar } from '../core/calendar.ts'
import { isoMillis } from '../core/dates.ts'
import { type Committed, isGap } from '../core/event.ts'
import { quotaAt } from '../governor/ledger.ts'
import { type Clock, sleep } from '../lifecycle/clock.ts'
import type { Announcement, Purpose } from '../log/log.ts'
import type { Logger } from '../obs/logger.ts'
import type { Observer } from './observer.ts'
import type { IngestConfig, IngestState, QueuedCommit } from './state.ts'

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

/** What one day of London brought to this process. */
interface Day {
  date: string
  /** When this process began to count, ms since 1970: later than the day's start after a change of leader. */
  sinceMs: number
  polled: number
  filled: number
  swept: number
  rejected: number
}

const COUNTED: Partial<Record<Purpose, 'polled' | 'filled' | 'swept'>> = {
  poll: 'polled',
  fill: 'filled',
  sweep: 'swept',
}

/** An announcer that has heard of nothing. */
export function createAnnouncer({ announce, calendar, config, clock, logger }: AnnouncerParts): Announcer {
  let state: IngestState | null = null
  let leading = false
  let day = newDay()
  let wake = new AbortController()
  let failing = false

  function newDay(): Day {
    const sinceMs = clock.now()
    const date = calendar.londonDate(sinceMs)
    return { date, sinceMs, polled: 0, filled: 0, swept: 0, rejected: 0 }
  }
  const see = (next: IngestState): void => {
    const polled = next.lastGoodPollMs !== (state?.lastGoodPollMs ?? null)
    state = next
    if (polled) wake.abort()
  }
  const count = ({ purpose, commit }: QueuedCommit, events: readonly Committed[]): void => {
    const counter = COUNTED[purpose]
    if (counter !== undefined) day[counter] += events.filter(({ type }) => !isGap(type)).length
    day.rejected += commit.rejected?.length ?? 0
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
  const heartbeat = ({ head, ledger, lastGoodPollMs }: IngestState): Announcement => ({
    type: 'heartbeat',
    epoch: head.epoch,
    sequence: head.sequence,
    lastGoodPoll: lastGoodPollMs === null ? null : isoMillis(lastGoodPollMs),
    phase: calendar.phase(clock.now()),
    openGaps: head.openGaps.length,
    quotaRemaining: quotaAt(ledger, config.weeklyQuota, config.quotaReset, clock.now()).remaining,
  })
  /** The day that is over, where one is; the next begins. */
  const endDay = (gapsLeft: number): Announcement | null => {
    if (calendar.londonDate(clock.now()) === day.date) return null
    const { sinceMs, ...counts } = day
    day = newDay()
    return { type: 'day', ...counts, gapsLeft, eodSeen: null, since: isoMillis(sinceMs) }
  }

  return {
    watching: (observer) => ({
      ...observer,
      get skewMs() {
        return observer.skewMs
      },
      leads(isLeader) {
        observer.leads(isLeader)
        if (isLeader && !leading) day = newDay()
        leading = isLeader
      },
      committed(queued, events, timing) {
        observer.committed(queued, events, timing)
        count(queued, events)
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
          const over = endDay(state.head.openGaps.length)
          if (over !== null) await say(over)
          await say(heartbeat(state))
        }
        await sleep(clock, HEARTBEAT_MS, AbortSignal.any([signal, wake.signal]))
      }
    },
  }
}
