/**
 * An endpoint's own limit of deliveries a second: a token bucket that holds one second of them. Owns when the next may leave,
 * as a decision over times. Refuses to wait.
 */

export interface RateLimit {
  /** Longest wait for a token, ms. */
  readonly spacingMs: number
  /**
   * Takes the next token: the moment from which it may be used, ms since 1970, never before `nowMs`. Whoever takes waits for
   * that moment before taking another.
   */
  take(nowMs: number): number
}

/** A full bucket for so many a second, which need not be a whole number. */
export function createRateLimit(perSecond: number): RateLimit {
  const spacingMs = 1000 / perSecond
  const roomMs = Math.max(0, 1000 - spacingMs)
  /** When the bucket is full again. */
  let fullAtMs = Number.NEGATIVE_INFINITY
  return {
    spacingMs,
    take(nowMs) {
      // A clock that was set back owes a bucket's worth at most.
      fullAtMs = Math.min(Math.max(fullAtMs, nowMs), nowMs + roomMs + spacingMs)
      const readyMs = Math.max(nowMs, fullAtMs - roomMs)
      fullAtMs += spacingMs
      return readyMs
    },
  }
}
