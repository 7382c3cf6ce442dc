/** Limits the deliveries of an endpoint per second with a token bucket that holds one second of them. */

/** The token bucket of one endpoint. */
export interface RateLimit {
  /** Longest wait for a token, ms. */
  readonly spacingMs: number
  /**
   * Takes the next token. Returns the moment from which it may be used, ms since 1970, never before `nowMs`; the next one must
   * not be taken before that moment.
   */
  take(nowMs: number): number
}

/** A full bucket. `perSecond` need not be a whole number. */
export function createRateLimit(perSecond: number): RateLimit {
  const spacingMs = 1000 / perSecond
  const roomMs = Math.max(0, 1000 - spacingMs)
  /** When the bucket is full again. */
  let fullAtMs = Number.NEGATIVE_INFINITY
  return {
    spacingMs,
    take(nowMs) {
      // Where the clock was set back, the wait is one bucket at most.
      fullAtMs = Math.min(Math.max(fullAtMs, nowMs), nowMs + roomMs + spacingMs)
      const readyMs = Math.max(nowMs, fullAtMs - roomMs)
      fullAtMs += spacingMs
      return readyMs
    },
  }
}
