/**
 * The throttle of the plan: a token bucket, as a pure decision over times. Owns when the next request may leave.
 * Refuses to wait: the caller does.
 */

/**
 * Part of the plan that we use: requests reach upstream with jitter, so the last token of a burst and two per cent of
 * the rate stay unused.
 */
const RATE_SHARE = 0.98

export interface TokenBucket {
  /** Takes the next token. Returns the moment (ms since 1970) from which it may be used; never earlier than `nowMs`. */
  take(nowMs: number): number
  /** Empties the bucket, for a start that does not know what was sent just before. */
  drain(nowMs: number): void
  /** Milliseconds until the bucket would be full, 0 when it is. */
  msUntilFull(nowMs: number): number
}

/** A full bucket of a plan with `ratePerSecond` tokens a second and room for `burst`. */
export function createTokenBucket(plan: { ratePerSecond: number; burst: number }): TokenBucket {
  const spacingMs = 1000 / (plan.ratePerSecond * RATE_SHARE)
  const room = Math.max(1, plan.burst - 1)
  /** When the bucket is full again (the theoretical arrival time of the generic cell rate algorithm). */
  let fullAtMs = 0
  let lastMs = Number.NEGATIVE_INFINITY
  /** A machine's clock may be set back: what the bucket owes is then owed from the new time. */
  const follow = (nowMs: number): void => {
    if (nowMs < lastMs) fullAtMs -= lastMs - nowMs
    lastMs = nowMs
  }
  return {
    take(nowMs) {
      follow(nowMs)
      const readyMs = Math.max(nowMs, fullAtMs - (room - 1) * spacingMs)
      fullAtMs = Math.max(fullAtMs, readyMs) + spacingMs
      return readyMs
    },
    drain(nowMs) {
      follow(nowMs)
      fullAtMs = Math.max(fullAtMs, nowMs + room * spacingMs)
    },
    msUntilFull(nowMs) {
      follow(nowMs)
      return Math.max(0, fullAtMs - nowMs)
    },
  }
}
