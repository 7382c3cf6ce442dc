/**
 * The limits of the sandbox's plan on real time: a token bucket and a weekly quota over the last seven days. Owns the
 * decision and its count. Refuses to answer: the router does.
 */
import { WEEK_MS } from '../core/durations.ts'

/** What the plan of the key allows: requests a second, requests at once, units a week. */
export interface LimitFigures {
  ratePerSecond: number
  burst: number
  weeklyQuota: number
}

export interface Limits {
  /**
   * Counts one request with a valid key at `nowMs` (real time, ms since 1970).
   * `quota`: refused and not counted; `throttle`: refused and counted, as upstream does.
   */
  take(nowMs: number): 'ok' | 'throttle' | 'quota'
  /** Undoes the `take` just before: the request was answered as if it had not counted. */
  giveBack(): void
  /** Units counted in the week before `nowMs`. */
  unitsUsed(nowMs: number): number
}

/** Limits with a full bucket and an unused quota. */
export function createLimits(figures: LimitFigures, nowMs: number): Limits {
  let tokens = figures.burst
  let filledMs = nowMs
  /** Moments of counted units, rising. */
  const counted: number[] = []
  const forgetOld = (atMs: number): void => {
    const kept = counted.findIndex((unitMs) => unitMs > atMs - WEEK_MS)
    counted.splice(0, kept === -1 ? counted.length : kept)
  }
  return {
    take(atMs) {
      forgetOld(atMs)
      if (counted.length >= figures.weeklyQuota) return 'quota'
      counted.push(atMs)
      tokens = Math.min(figures.burst, tokens + ((atMs - filledMs) / 1000) * figures.ratePerSecond)
      filledMs = atMs
      if (tokens < 1) return 'throttle'
      tokens -= 1
      return 'ok'
    },
    giveBack() {
      counted.pop()
      tokens += 1
    },
    unitsUsed(atMs) {
      forgetOld(atMs)
      return counted.length
    },
  }
}
