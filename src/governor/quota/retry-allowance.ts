/**
 * Limits how many quota units a week are spent on early retries: retries of a failed request before the next poll is due.
 * The allowance refills evenly over the week.
 */
import { WEEK_MS } from '../../core/durations.ts'

/** Units taken and not yet refilled, as of `asOfMs` (ms since 1970). */
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
  const refilledMs = Math.max(0, nowMs - asOfMs)
  const outstanding = Math.max(0, taken - (unitsAWeek * refilledMs) / WEEK_MS)
  return outstanding + 1 > unitsAWeek ? null : { taken: outstanding + 1, asOfMs: nowMs }
}
