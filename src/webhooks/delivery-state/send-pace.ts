/**
 * Decides when an endpoint may start its next delivery, by its free slots, its circuit breaker and its rate limit.
 */
import { Breaker } from './endpoint-breaker.ts'
import { RateLimit } from './rate-limit.ts'
import type { Sort } from './scheduling-policy.ts'

/** First tries before a retry gets the only slot; while only probes are sent, first tries and retries alternate. */
const FIRSTS_BEFORE_RETRY = 3

/** The pace of one endpoint. Times are ms since 1970. */
export class SendPace {
  readonly #breaker: Breaker
  #maxConcurrency = 1
  #rateLimit: number | null = null
  #bucket: RateLimit | null = null
  /** From when the token that was taken for the next delivery may be used; null: none is taken. */
  #tokenAtMs: number | null = null
  #firstsInRow = 0

  /** `isFailing`: the last owner of the endpoint left it failing, so this one begins with a probe. */
  constructor(isFailing: boolean) {
    this.#breaker = new Breaker(isFailing)
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

  /** What the scheduling policy needs to know. */
  get turns(): { firstsInRow: number; firstsBeforeRetry: number } {
    return {
      firstsInRow: this.#firstsInRow,
      firstsBeforeRetry: this.#breaker.isOpen ? 1 : FIRSTS_BEFORE_RETRY,
    }
  }

  /** The earliest moment at which the breaker and the rate limit let a delivery start; 0: now. */
  get readyAtMs(): number {
    return Math.max(this.#breaker.probeAtMs, this.#tokenAtMs ?? 0)
  }

  /** Whether a slot is free and the breaker lets a delivery start. */
  hasSlot(inFlight: number, nowMs: number): boolean {
    // The clock was set back since the token was taken: take another instead of waiting for that moment.
    const isFromFuture = this.#tokenAtMs !== null && this.#tokenAtMs - nowMs > (this.#bucket?.spacingMs ?? 0)
    if (isFromFuture) this.#tokenAtMs = null
    return inFlight < this.slots && this.#breaker.allows(nowMs)
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

  /** An attempt was delivered, or the endpoint was made active again. */
  succeeded(): void {
    this.#breaker.succeeded()
  }

  /** An attempt failed. `chance` is a number in [0, 1). */
  failed(nowMs: number, chance: number): void {
    this.#breaker.failed(nowMs, chance)
  }
}
