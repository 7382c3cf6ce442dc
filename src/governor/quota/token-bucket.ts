/**
 * Computes when the next request may be sent under the rate limit of the upstream plan, a token bucket. The caller waits
 * until then.
 */

/** Share of the plan's rate that we use; the last token of a burst stays unused too, because requests arrive with jitter. */
const RATE_SHARE = 0.98

/** Token bucket of one key; all moments are ms since 1970. */
export type TokenBucket = ReturnType<typeof createTokenBucket>

/** Creates a full bucket for a plan of `ratePerSecond` tokens a second and `burst` tokens at once. */
export function createTokenBucket(plan: { ratePerSecond: number; burst: number }) {
  const spacingMs = 1000 / (plan.ratePerSecond * RATE_SHARE)
  const room = Math.max(1, plan.burst - 1)
  /** When the bucket is full again: the theoretical arrival time of the generic cell rate algorithm (GCRA). */
  let fullAtMs = 0
  let lastMs = Number.NEGATIVE_INFINITY
  /** When the machine's clock is set back, the remaining refill time counts from the new time. */
  const followClock = (nowMs: number): void => {
    if (nowMs < lastMs) fullAtMs -= lastMs - nowMs
    lastMs = nowMs
  }
  return {
    /** Takes the next token and returns the moment from which it may be used, never earlier than `nowMs`. */
    take(nowMs: number): number {
      followClock(nowMs)
      const readyMs = Math.max(nowMs, fullAtMs - (room - 1) * spacingMs)
      fullAtMs = Math.max(fullAtMs, readyMs) + spacingMs
      return readyMs
    },
    /** Empties the bucket, for a process that does not know what was sent just before it started. */
    drain(nowMs: number): void {
      followClock(nowMs)
      fullAtMs = Math.max(fullAtMs, nowMs + room * spacingMs)
    },
    /** Milliseconds until the bucket would be full, 0 when it is. */
    msUntilFull(nowMs: number): number {
      followClock(nowMs)
      return Math.max(0, fullAtMs - nowMs)
    },
  }
}
