/**
 * Decides when an endpoint may start its next delivery, by its free slots, its circuit breaker, its rate limit and the
 * Retry-After of its receiver.
 */
import { Breaker, type CountedFailure } from './endpoint-breaker.ts'
import { LONGEST_RETRY_AFTER_MS } from './outcome.ts'
import { RateLimit } from './rate-limit.ts'
import type { Sort } from './scheduling-policy.ts'

/** First tries before a retry gets the only slot; while only probes are sent, first tries and retries alternate. */
const FIRSTS_BEFORE_RETRY = 3
/**
 * What waits is made due by its owner at most so often: each time breaks the pause that a receiver asked for, and takes one of
 * the tries of each delivery.
 */
const HASTEN_EVERY_MS = 10_000

/** A pause that a Retry-After asks for, ms since 1970. */
export interface Hold {
  sinceMs: number
  untilMs: number
}

/** The same as it is stored: builds that did not store `sinceMs` leave it out. */
interface StoredHold {
  sinceMs?: number | undefined
  untilMs: number
}

/** The pace of one endpoint. Times are ms since 1970. */
export class SendPace {
  readonly #breaker: Breaker
  #maxConcurrency = 1
  #rateLimit: number | null = null
  #bucket: RateLimit | null = null
  /** From when the token that was taken for the next delivery may be used; null: none is taken. */
  #tokenAtMs: number | null = null
  /** The last Retry-After that holds, or has held, all deliveries; null: none does. */
  #hold: Hold | null = null
  #firstsInRow = 0
  /** When what waits was, or will be, due because its owner wanted so. */
  #hastenedMs = Number.NEGATIVE_INFINITY

  /**
   * `isFailing`: the last owner of the endpoint left it failing, so this one begins with a probe. `hold`: how it held the
   * endpoint back; a stored one may lack its beginning.
   */
  constructor({ isFailing, hold }: { isFailing: boolean; hold: StoredHold | null }) {
    this.#breaker = new Breaker(isFailing)
    if (hold === null) return
    const { untilMs, sinceMs = untilMs - LONGEST_RETRY_AFTER_MS } = hold
    this.#hold = { sinceMs, untilMs }
  }

  /** Sets the endpoint's limits. `rateLimit`: deliveries a second; null: no limit. */
  configure({ maxConcurrency, rateLimit }: { maxConcurrency: number; rateLimit: number | null }): void {
    this.#maxConcurrency = maxConcurrency
    if (rateLimit === this.#rateLimit) return
    this.#rateLimit = rateLimit
    this.#tokenAtMs = null
    this.#bucket = rateLimit === null ? null : new RateLimit(rateLimit)
  }

  /** Deliveries that may be in flight at a time. */
  get slots(): number {
    return this.#breaker.isOpen ? 1 : this.#maxConcurrency
  }

  /** Whether only probes are sent, one at a time. */
  get isProbing(): boolean {
    return this.#breaker.isOpen
  }

  /** What the scheduling policy needs to know. */
  get turns(): { firstsInRow: number; firstsBeforeRetry: number } {
    return {
      firstsInRow: this.#firstsInRow,
      firstsBeforeRetry: this.#breaker.isOpen ? 1 : FIRSTS_BEFORE_RETRY,
    }
  }

  /** The earliest moment at which breaker, Retry-After and rate limit let a delivery start; 0: now. */
  get readyAtMs(): number {
    return Math.max(this.#breaker.probeAtMs, this.#heldUntilMs, this.#tokenAtMs ?? 0)
  }

  /** The last Retry-After that holds, or has held, all deliveries. */
  get hold(): Hold | null {
    return this.#hold
  }

  get #heldUntilMs(): number {
    return this.#hold?.untilMs ?? 0
  }

  /** Whether a slot is free, and breaker and Retry-After let a delivery start. */
  hasSlot(inFlight: number, nowMs: number): boolean {
    // The clock was set back since the token was taken: take another instead of waiting for that moment.
    const isFromFuture = this.#tokenAtMs !== null && this.#tokenAtMs - nowMs > (this.#bucket?.spacingMs ?? 0)
    if (isFromFuture) this.#tokenAtMs = null
    if (this.#hold !== null && nowMs < this.#hold.sinceMs) {
      // The clock was set back since: the pause begins anew, so that it does not last longer by the step.
      const { sinceMs, untilMs } = this.#hold
      this.#hold = { sinceMs: nowMs, untilMs: nowMs + untilMs - sinceMs }
    }
    return inFlight < this.slots && nowMs >= this.#heldUntilMs && this.#breaker.allows(nowMs)
  }

  /** Whether the rate limit lets a delivery start now. Takes a token, which stays taken until `started`. */
  takeToken(nowMs: number): boolean {
    this.#tokenAtMs ??= this.#bucket?.take(nowMs) ?? nowMs
    return this.#tokenAtMs <= nowMs
  }

  /** A delivery was started with the token that was taken. */
  started(sort: Sort): void {
    this.#tokenAtMs = null
    this.#firstsInRow = sort === 'first' ? this.#firstsInRow + 1 : 0
  }

  /** The receiver answered: no 5xx, and nothing with a Retry-After. */
  answered(): void {
    this.#breaker.answered()
  }

  /** The receiver asks for a pause: nothing is sent for so long. It is no failure. */
  pause(pauseMs: number, nowMs: number): void {
    const untilMs = nowMs + pauseMs
    if (untilMs > this.#heldUntilMs) this.#hold = { sinceMs: nowMs, untilMs }
  }

  /**
   * The owner wants another try now. Returns when what waits is due: now, or within ten seconds where that was wanted just
   * before. Breaker and pause end now, or the pause at that moment.
   */
  hasten(nowMs: number): number {
    const isAhead = this.#hastenedMs > nowMs
    const nextMs = isAhead ? this.#hastenedMs : Math.max(nowMs, this.#hastenedMs + HASTEN_EVERY_MS)
    // The clock may have been set back.
    this.#hastenedMs = Math.min(nextMs, nowMs + HASTEN_EVERY_MS)
    if (this.#hastenedMs <= nowMs) this.reset()
    else if (this.#hold !== null && this.#hold.untilMs > this.#hastenedMs) {
      this.#hold = { ...this.#hold, untilMs: this.#hastenedMs }
    }
    return this.#hastenedMs
  }

  /** The endpoint was repaired, or its owner wants another try now: breaker and pause end. */
  reset(): void {
    this.#breaker.answered()
    this.#hold = null
  }

  /** An attempt got no answer, or 5xx. `chance` is a number in [0, 1). */
  failed(failure: CountedFailure, nowMs: number, chance: number): void {
    this.#breaker.failed(failure, nowMs, chance)
  }
}
