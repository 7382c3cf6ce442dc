/**
 * Enforces the plan's limits in real time: a token bucket and a quota over the last seven days.
 */
import { WEEK_MS } from '../core/durations.ts'

/** Limits of the key's plan: requests per second, requests at once, units per week. */
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
  /** Undoes the previous `take`, for a response that upstream would not have counted. */
  giveBack(): void
  /** Units counted in the week before `nowMs`. */
  unitsUsed(nowMs: number): number
}

/** Creates limits with a full bucket and an unused quota. */
export function createLimits(figures: LimitFigures, nowMs: number): Limits {
  let tokens = figures.burst
  let filledMs = nowMs
  /** Times of counted units, ascending. */
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
