/** Limits the deliveries of an endpoint per second: they keep even distances, so no second has more of them. */

/** A delivery that is late by no more, since timers are, does not put off the ones behind it, ms. */
const LATE_TIMER_MS = 10

/** The rate of one endpoint. */
export class RateLimit {
  /** Between two deliveries, and the longest wait for one, ms. */
  readonly spacingMs: number
  /** When the next delivery is due. */
  #dueMs = Number.NEGATIVE_INFINITY

  /** `perSecond` need not be a whole number. */
  constructor(perSecond: number) {
    this.spacingMs = 1000 / perSecond
  }

  /**
   * Takes the next token. Returns the moment from which it may be used, ms since 1970, never before `nowMs`; the next one must
   * not be taken before that moment.
   */
  take(nowMs: number): number {
    const isIdle = nowMs - this.#dueMs > LATE_TIMER_MS
    // Where the clock was set back, the wait is one distance at most.
    const dueMs = isIdle ? nowMs : Math.min(this.#dueMs, nowMs + this.spacingMs)
    this.#dueMs = dueMs + this.spacingMs
    return Math.max(nowMs, dueMs)
  }
}
