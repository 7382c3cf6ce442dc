/**
 * What retries may cost: requests that leave sooner than the plan has one. Owns the allowance, so many units a week that
 * come back evenly. Refuses to know why a request failed, and when it is sent again.
 */
import { WEEK_MS } from '../../core/durations.ts'

/** Units taken and not yet come back, as of that moment (ms since 1970). */
export interface RetryAllowance {
  taken: number
  asOfMs: number
}

/** Nothing taken. */
export const UNTOUCHED: RetryAllowance = { taken: 0, asOfMs: 0 }

/** The allowance with one more unit taken at `nowMs`, or null where none of `unitsAWeek` is left. */
export function takeRetry(
  { taken, asOfMs }: RetryAllowance,
  unitsAWeek: number,
  nowMs: number,
): RetryAllowance | null {
  const backMs = Math.max(0, nowMs - asOfMs)
  const still = Math.max(0, taken - (unitsAWeek * backMs) / WEEK_MS)
  return still + 1 > unitsAWeek ? null : { taken: still + 1, asOfMs: nowMs }
}
