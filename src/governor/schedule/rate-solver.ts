/**
 * Computes the polling rate that the quota can pay for: pace × √(items a second), limited by the request rate of the
 * upstream plan. The pace is one factor for the whole forecast. This square-root rule minimises the mean delay of items.
 */
import { eachRate, type Forecast, highestRate, rootsUntil } from '../arrivals/forecast.ts'

/** Polls that may be made before a moment, by upstream's clock, ms since 1970. */
export interface Budget {
  untilMs: number
  polls: number
}

/** Iterations for sharing out what polls above the plan's rate leave; each only raises the pace. */
const ITERATIONS = 20
/** Keeps a quotient finite where every period is polled at the plan's rate. */
const TINY = 1e-9
/** The pace may grow by this factor before the periods at the plan's rate are looked up again. */
const HEADROOM = 1.5

/**
 * The pace that the tightest budget pays, with at most `maxPerSecond` polls a second. A poll is then worth 1 / (2 pace²)
 * item-seconds of delay.
 */
export function paceOf(forecast: Forecast, budgets: readonly Budget[], maxPerSecond: number): number {
  const [pace, { untilMs, polls }] = budgets
    .map((budget) => [budget.polls / Math.max(rootsUntil(forecast, budget.untilMs), TINY), budget] as const)
    .reduce((least, other) => (other[0] < least[0] ? other : least))
  if (!isCapped(forecast, pace, maxPerSecond)) return pace
  const roots = rootsUntil(forecast, untilMs)
  let capped = pace
  let busy: BusyPeriods = { abovePace: 0, periods: [] }
  for (let round = 0; round < ITERATIONS; round++) {
    if (busy.abovePace < capped) busy = busyPeriods(forecast, capped * HEADROOM, untilMs, maxPerSecond)
    const atLimit = busy.periods.filter(({ root }) => capped * root >= maxPerSecond)
    const full = atLimit.reduce((sum, { seconds }) => sum + seconds * maxPerSecond, 0)
    const others = atLimit.reduce((sum, { seconds, root }) => sum - seconds * root, roots)
    const next = Math.max(0, polls - full) / Math.max(others, TINY)
    if (next <= capped) break
    capped = next
  }
  return capped
}

/** Periods that are polled at the plan's rate at this pace or below. */
interface BusyPeriods {
  abovePace: number
  periods: { seconds: number; root: number }[]
}

/** Found in one pass over the forecast, so that the iterations visit these periods only. */
function busyPeriods(
  forecast: Forecast,
  abovePace: number,
  untilMs: number,
  maxPerSecond: number,
): BusyPeriods {
  const leastRate = (maxPerSecond / abovePace) ** 2
  const periods: BusyPeriods['periods'] = []
  eachRate(forecast, untilMs, (seconds, rate) => {
    if (rate >= leastRate) periods.push({ seconds, root: Math.sqrt(rate) })
  })
  return { abovePace, periods }
}

/** Polls that this pace makes from the forecast's start until a moment. */
export function pollsUntil(forecast: Forecast, pace: number, untilMs: number, maxPerSecond: number): number {
  if (!isCapped(forecast, pace, maxPerSecond)) return pace * rootsUntil(forecast, untilMs)
  const { full, roots } = atFullRate(forecast, pace, untilMs, maxPerSecond)
  return full + pace * roots
}

function isCapped(forecast: Forecast, pace: number, maxPerSecond: number): boolean {
  return pace * Math.sqrt(highestRate(forecast)) > maxPerSecond
}

/** Polls of the periods that are polled at the plan's rate, and seconds × √rate of the others. */
function atFullRate(
  forecast: Forecast,
  pace: number,
  untilMs: number,
  maxPerSecond: number,
): { full: number; roots: number } {
  let [full, roots] = [0, 0]
  eachRate(forecast, untilMs, (seconds, rate) => {
    const root = Math.sqrt(rate)
    if (pace * root >= maxPerSecond) full += seconds * maxPerSecond
    else roots += seconds * root
  })
  return { full, roots }
}
