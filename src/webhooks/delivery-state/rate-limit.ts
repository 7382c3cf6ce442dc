/** Limits the deliveries of an endpoint per second with a token bucket that holds one second of them. */

/** The token bucket of one endpoint, full at first. */
export class RateLimit {
  /** Longest wait for a token, ms. */
  readonly spacingMs: number
  readonly #roomMs: number
  /** When the bucket is full again. */
  #fullAtMs = Number.NEGATIVE_INFINITY

  /** `perSecond` need not be a whole number. */
  constructor(perSecond: number) {
    this.spacingMs = 1000 / perSecond
    this.#roomMs = Math.max(0, 1000 - this.spacingMs)
  }

  /**
   * Takes the next token. Returns the moment from which it may be used, ms since 1970, never before `nowMs`; the next one must
   * not be taken before that moment.
   */
  take(nowMs: number): number {
    // Where the clock was set back, the wait is one bucket at most.
    const fullAtMs = Math.min(Math.max(this.#fullAtMs, nowMs), nowMs + this.#roomMs + this.spacingMs)
    this.#fullAtMs = fullAtMs + this.spacingMs
    return Math.max(nowMs, fullAtMs - this.#roomMs)
  }
}
