/**
 * Keeps the exchange references: a walk some time after this process began to lead, then one a day. Owns when a walk may
 * begin and when each of its requests may leave. Polls come first: a request goes only where the next poll finds the
 * throttle as full as without it. Refuses to read answers; stays out of the poller's state machine.
 */
import { EXCHANGES_TABLE, type ExchangeRecord, WALK_KEY } from '../../archive/exchanges.ts'
import { backoffMs } from '../../core/backoff.ts'
import { isLogOutage, messageOf } from '../../errors.ts'
import type { TokenBucket } from '../../governor/quota/token-bucket.ts'
import { type Chance, type Clock, sleep } from '../../lifecycle/clock.ts'
import type { Log } from '../../log/log.ts'
import type { Logger } from '../../obs/logger.ts'
import type { ReferenceClient } from '../../upstream/reference-client.ts'
import { isCalm, refillOf } from '../poller/idle-throttle.ts'
import type { Poller } from '../poller/poller.ts'
import { type ReferenceWalk, walkReferences } from './reference-scan.ts'

export interface ReferenceKeeperParts {
  client: ReferenceClient
  /** Only its present state is looked at. */
  poller: Pick<Poller, 'state' | 'leaderSinceMs'>
  /** The bucket that the poller takes from too. */
  bucket: TokenBucket
  ratePerSecond: number
  log: Log
  clock: Clock
  chance: Chance
  logger: Logger
  /** Entries a page of the list; default 50, which every plan may ask for. */
  pageSize?: number
}

/** From the start of leadership to the first walk. */
const SETTLE_MS = 2_000
const WALK_EVERY_MS = 24 * 3_600_000
/** After a walk that was not complete. */
const NEXT_TRY = { baseMs: 60_000, factor: 2, maxMs: 3_600_000, jitter: 0.1 }
/** Between two requests. */
const SPACING_MS = 250
/** How often a request that waits looks whether it may leave, and the keeper whether it leads. */
const LOOK_MS = 50
const IDLE_MS = 1_000
/** A look that comes so late follows a freeze; another process leads after a silence of 6 s at the earliest. */
const LATE_MS = 3_000

/** The part of the poller role that keeps references; it never rejects for anything that upstream does. */
export function createReferenceKeeper(parts: ReferenceKeeperParts): {
  run(signal: AbortSignal): Promise<void>
} {
  const { poller, bucket, clock, chance, log, logger } = parts
  const refillMs = refillOf(parts)
  let lastSentMs = Number.NEGATIVE_INFINITY
  let lookedMs = Number.NEGATIVE_INFINITY
  let nextWalkMs = Number.NEGATIVE_INFINITY
  let failuresInARow = 0

  /** Waits for its turn; leads nobody on once this process no longer leads. */
  const throttle = async (stop: AbortController): Promise<void> => {
    const { signal } = stop
    while (!signal.aborted) {
      const nowMs = clock.now()
      // Who was frozen hears first what it has lost: the timers that say so fall due with this look.
      const isLate = nowMs - lookedMs > LATE_MS
      lookedMs = nowMs
      if (poller.leaderSinceMs === null) stop.abort()
      else if (
        !isLate &&
        isCalm(poller.state, { nowMs, refillMs, keyless: true }) &&
        Math.abs(nowMs - lastSentMs) >= SPACING_MS &&
        bucket.msUntilFull(nowMs) === 0
      ) {
        lastSentMs = nowMs
        return sleep(clock, bucket.take(nowMs) - nowMs, signal)
      } else await sleep(clock, LOOK_MS, signal)
    }
  }

  const walk = async (signal: AbortSignal): Promise<void> => {
    const stop = new AbortController()
    const onAbort = (): void => stop.abort()
    signal.addEventListener('abort', onAbort, { once: true })
    const startMs = clock.now()
    try {
      const { pageSize = 50 } = parts
      const gate = { throttle: () => throttle(stop) }
      const done = await walkReferences({ ...parts, pageSize, gate }, stop.signal)
      settle(done, startMs)
    } catch (error) {
      if (!isLogOutage(error)) throw error
      const nothing = { requests: 0, count: 0, changed: 0, removed: 0, unread: 0 }
      settle({ ...nothing, result: 'failed', reason: messageOf(error) }, startMs)
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  /** Sets the time of the next walk and writes the line about this one. */
  const settle = (done: ReferenceWalk, startMs: number): void => {
    const nowMs = clock.now()
    failuresInARow = done.result === 'complete' || done.result === 'stopped' ? 0 : failuresInARow + 1
    nextWalkMs =
      failuresInARow === 0 ? nowMs + WALK_EVERY_MS : nowMs + backoffMs(failuresInARow, NEXT_TRY, chance)
    const level = failuresInARow === 0 ? 'info' : 'warn'
    logger[level]('references.walked', { ...done, durationMs: nowMs - startMs, waitMs: nextWalkMs - nowMs })
  }

  /** When the walk of a new leader is due: another process may have walked today. */
  const dueAfter = async (leaderSinceMs: number): Promise<number> => {
    const settledMs = leaderSinceMs + SETTLE_MS
    try {
      const last = (await log.table<ExchangeRecord>(EXCHANGES_TABLE).load()).get(WALK_KEY)
      const completedMs = last?.kind === 'walk' ? last.completedMs : null
      // A moment ahead of our clock says nothing about when the walk was.
      if (completedMs === null || completedMs > clock.now()) return settledMs
      return Math.max(settledMs, completedMs + WALK_EVERY_MS)
    } catch (error) {
      if (isLogOutage(error)) return settledMs
      throw error
    }
  }

  return {
    async run(signal) {
      let knownSinceMs: number | null = null
      while (!signal.aborted) {
        const { leaderSinceMs } = poller
        if (leaderSinceMs !== null && leaderSinceMs !== knownSinceMs) {
          nextWalkMs = await dueAfter(leaderSinceMs)
          failuresInARow = 0
        }
        knownSinceMs = leaderSinceMs
        if (leaderSinceMs !== null && clock.now() >= nextWalkMs) await walk(signal)
        else await sleep(clock, IDLE_MS, signal)
      }
    },
  }
}
