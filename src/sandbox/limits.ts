/**
 * Enforces the limits of the simulated upstream plan on clients: a token bucket for the rate, and a quota over the last
 * seven days. Both run in real time, whatever the speed of the simulated market.
 */
import { WEEK_MS } from '../core/durations.ts'
import type { PlanLimits } from '../core/plans.ts'
import { takeDue } from './take-due.ts'

/** The limits that the sandbox enforces; the page size is checked by `api/mirror`. */
export type LimitFigures = Omit<PlanLimits, 'pageSize'>

/** A token bucket and a weekly quota. Times are ms since 1970, real time. */
export class Limits {
  readonly #figures: LimitFigures
  #tokens: number
  #filledMs: number
  /** Times of counted units, ascending. */
  readonly #counted: number[] = []

  /** Starts with a full bucket and an unused quota. */
  constructor(figures: LimitFigures, nowMs: number) {
    this.#figures = figures
    this.#tokens = figures.burst
    this.#filledMs = nowMs
  }

  /**
   * Counts one request with a valid key.
   * `quota`: refused and not counted; `throttle`: refused and counted, as upstream does.
   */
  take(nowMs: number): 'ok' | 'throttle' | 'quota' {
    const { weeklyQuota, burst, ratePerSecond } = this.#figures
    if (this.unitsUsed(nowMs) >= weeklyQuota) return 'quota'
    this.#counted.push(nowMs)
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#filledMs) / 1000) * ratePerSecond)
    this.#filledMs = nowMs
    if (this.#tokens < 1) return 'throttle'
    this.#tokens -= 1
    return 'ok'
  }

  /** Undoes the previous `take`, for a response that upstream would not have counted. */
  giveBack(): void {
    this.#counted.pop()
    this.#tokens += 1
  }

  /** Units counted in the week before `nowMs`. */
  unitsUsed(nowMs: number): number {
    takeDue(this.#counted, (unitMs) => unitMs <= nowMs - WEEK_MS)
    return this.#counted.length
  }
}
