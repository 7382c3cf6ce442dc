/**
 * Downloads upstream's reference data of stock exchanges once a day, while this process is the leader. A new leader starts
 * soon if the last complete download is at least a day old. Requests leave only while the poller is idle, so that no poll
 * waits for them.
 */
import { EXCHANGES_TABLE, type ExchangeRecord, WALK_KEY } from '../../archive/exchanges.ts'
import { backoffMs } from '../../core/backoff.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/durations.ts'
import { isLogOutage, messageOf } from '../../errors.ts'
import type { TokenBucket } from '../../governor/quota/token-bucket.ts'
import { type Chance, type Clock, sleep } from '../../lifecycle/clock.ts'
import type { Log } from '../../log/log.ts'
import type { Logger } from '../../obs/logger.ts'
import type { ReferenceClient } from '../../upstream/reference-client.ts'
import { isIdle, refillOf } from '../poller/idle-throttle.ts'
import type { Poller } from '../poller/poller.ts'
import { NOTHING_SCANNED, type ReferenceScanResult, scanReferences } from './reference-scan.ts'

/** What the keeper is built from. */
export interface ReferenceKeeperParts {
  client: ReferenceClient
  poller: Pick<Poller, 'state' | 'leaderSinceMs'>
  /** The token bucket that the poller uses too. */
  bucket: TokenBucket
  ratePerSecond: number
  log: Log
  clock: Clock
  chance: Chance
  logger: Logger
  /** Entries a page of the list; default 50, which every plan allows. */
  pageSize?: number
}

/** From the start of leadership to the first scan. */
const FIRST_SCAN_MS = 2_000
/** Waits after a scan that was not complete. */
const RETRY = { baseMs: MINUTE_MS, factor: 2, maxMs: HOUR_MS, jitter: 0.1 }
/** Shortest time between two requests. */
const SPACING_MS = 250
/** Pause between two checks whether a waiting request may leave. */
const CHECK_MS = 50
/** Pause between two checks whether a scan is due. */
const DUE_CHECK_MS = 1_000
/** A check that comes so late shows that the process was frozen; another one may lead after 6 s of silence. */
const FROZEN_MS = 3_000

/** The keeper; `run` ends when the signal aborts and rejects only for faults of ours or a damaged log. */
export function createReferenceKeeper(parts: ReferenceKeeperParts): {
  run(signal: AbortSignal): Promise<void>
} {
  return new ReferenceKeeper(parts)
}

class ReferenceKeeper {
  readonly #parts: ReferenceKeeperParts
  #lastSentMs = Number.NEGATIVE_INFINITY
  #lastCheckMs = Number.NEGATIVE_INFINITY
  #nextScanMs = Number.NEGATIVE_INFINITY
  #failuresInARow = 0

  constructor(parts: ReferenceKeeperParts) {
    this.#parts = parts
  }

  readonly run = async (signal: AbortSignal): Promise<void> => {
    const { poller, clock } = this.#parts
    let knownSinceMs: number | null = null
    while (!signal.aborted) {
      const { leaderSinceMs } = poller
      if (leaderSinceMs !== null && leaderSinceMs !== knownSinceMs) {
        this.#nextScanMs = await this.#firstScanMs(leaderSinceMs)
        this.#failuresInARow = 0
      }
      knownSinceMs = leaderSinceMs
      if (leaderSinceMs !== null && clock.now() >= this.#nextScanMs) await this.#scan(signal)
      else await sleep(clock, DUE_CHECK_MS, signal)
    }
  }

  /** When the first scan of a new leader is due: an earlier leader may have completed one within the last day. */
  async #firstScanMs(leaderSinceMs: number): Promise<number> {
    const { log, clock } = this.#parts
    const earliestMs = leaderSinceMs + FIRST_SCAN_MS
    try {
      const last = (await log.table<ExchangeRecord>(EXCHANGES_TABLE).load()).get(WALK_KEY)
      const completedMs = last?.kind === 'walk' ? last.completedMs : null
      // A time ahead of our clock was written by a wrong clock.
      if (completedMs === null || completedMs > clock.now()) return earliestMs
      return Math.max(earliestMs, completedMs + DAY_MS)
    } catch (error) {
      if (isLogOutage(error)) return earliestMs
      throw error
    }
  }

  async #scan(signal: AbortSignal): Promise<void> {
    const stop = new AbortController()
    const onAbort = (): void => stop.abort()
    signal.addEventListener('abort', onAbort, { once: true })
    const startMs = this.#parts.clock.now()
    try {
      const permit = { throttle: () => this.#throttle(stop) }
      this.#finish(await scanReferences({ pageSize: 50, ...this.#parts, permit }, stop.signal), startMs)
    } catch (error) {
      if (!isLogOutage(error)) throw error
      this.#finish({ ...NOTHING_SCANNED, result: 'failed', reason: messageOf(error) }, startMs)
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  /** Waits until a request may leave; aborts the scan once this process no longer leads. */
  async #throttle(stop: AbortController): Promise<void> {
    const { poller, bucket, clock } = this.#parts
    const { signal } = stop
    while (!signal.aborted) {
      const nowMs = clock.now()
      // After a freeze, one more check lets the timers that end a lost leadership run first.
      const wasFrozen = nowMs - this.#lastCheckMs > FROZEN_MS
      this.#lastCheckMs = nowMs
      if (poller.leaderSinceMs === null) stop.abort()
      else if (!wasFrozen && this.#mayLeave(nowMs)) {
        this.#lastSentMs = nowMs
        return sleep(clock, bucket.take(nowMs) - nowMs, signal)
      } else await sleep(clock, CHECK_MS, signal)
    }
  }

  #mayLeave(nowMs: number): boolean {
    const { poller, bucket } = this.#parts
    return (
      isIdle(poller.state, { nowMs, refillMs: refillOf(this.#parts), keyless: true }) &&
      Math.abs(nowMs - this.#lastSentMs) >= SPACING_MS &&
      bucket.msUntilFull(nowMs) === 0
    )
  }

  /** Schedules the next scan and logs this one. */
  #finish(scan: ReferenceScanResult, startMs: number): void {
    const { clock, chance, logger } = this.#parts
    const nowMs = clock.now()
    const hasFailed = scan.result === 'failed' || scan.result === 'partial'
    this.#failuresInARow = hasFailed ? this.#failuresInARow + 1 : 0
    const waitMs = hasFailed ? backoffMs(this.#failuresInARow, RETRY, chance) : DAY_MS
    this.#nextScanMs = nowMs + waitMs
    const level = hasFailed ? 'warn' : 'info'
    logger[level]('exchange_references.read', { ...scan, durationMs: nowMs - startMs, waitMs })
  }
}
