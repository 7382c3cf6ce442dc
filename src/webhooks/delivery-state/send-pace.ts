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

/** The pace of one endpoint. Times are ms since 1970. */
export class SendPace {
  readonly #breaker: Breaker
  #maxConcurrency = 1
  #rateLimit: number | null = null
  #bucket: RateLimit | null = null
  /** From when the token that was taken for the next delivery may be used; null: none is taken. */
  #tokenAtMs: number | null = null
  /** Until when a Retry-After holds all deliveries; 0: none does. */
  #heldUntilMs = 0
  #firstsInRow = 0
  /** When what waits was, or will be, due because its owner wanted so. */
  #hastenedMs = Number.NEGATIVE_INFINITY

  /**
   * `isFailing`: the last owner of the endpoint left it failing, so this one begins with a probe. `heldUntilMs`: until when it
   * held the endpoint back.
   */
  constructor({ isFailing, heldUntilMs }: { isFailing: boolean; heldUntilMs: number }) {
    this.#breaker = new Breaker(isFailing)
    this.#heldUntilMs = heldUntilMs
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

  /** Until when a Retry-After holds all deliveries, ms since 1970; in the past where none does. */
  get heldUntilMs(): number {
    return this.#heldUntilMs
  }

  /** Whether a slot is free, and breaker and Retry-After let a delivery start. */
  hasSlot(inFlight: number, nowMs: number): boolean {
    // The clock was set back since the token was taken: take another instead of waiting for that moment.
    const isFromFuture = this.#tokenAtMs !== null && this.#tokenAtMs - nowMs > (this.#bucket?.spacingMs ?? 0)
    if (isFromFuture) this.#tokenAtMs = null
    this.#heldUntilMs = Math.min(this.#heldUntilMs, nowMs + LONGEST_RETRY_AFTER_MS)
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

  /** The receiver asks for a pause: nothing is sent before that moment. It is no failure. */
  hold(untilMs: number): void {
    this.#heldUntilMs = Math.max(this.#heldUntilMs, untilMs)
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
    else this.#heldUntilMs = Math.min(this.#heldUntilMs, this.#hastenedMs)
    return this.#hastenedMs
  }

  /** The endpoint was repaired, or its owner wants another try now: breaker and pause end. */
  reset(): void {
    this.#breaker.answered()
    this.#heldUntilMs = 0
  }

  /** An attempt got no answer, or 5xx. `chance` is a number in [0, 1). */
  failed(failure: CountedFailure, nowMs: number, chance: number): void {
    this.#breaker.failed(failure, nowMs, chance)
  }
}
