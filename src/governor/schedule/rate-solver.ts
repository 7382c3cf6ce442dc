/**
 * Solves for the polling rate that the budgets pay: pace × √(items a second), the rule that minimises the mean delay.
 */
import { type Forecast, rootsUntil } from '../arrivals/forecast.ts'

/** Polls that may be made before a moment, by upstream's clock, ms since 1970. */
export interface Budget {
  untilMs: number
  polls: number
}

/** The pace that the tightest budget pays. A poll is then worth 1 / (2 pace²) item-seconds of delay. */
export function paceOf(forecast: Forecast, budgets: readonly Budget[]): number {
  return Math.min(
    ...budgets.map(({ untilMs, polls }) => polls / Math.max(rootsUntil(forecast, untilMs), Number.MIN_VALUE)),
  )
}

/** Polls that this pace makes from the forecast's start until a moment. */
export function pollsUntil(forecast: Forecast, pace: number, untilMs: number): number {
  return pace * rootsUntil(forecast, untilMs)
}
