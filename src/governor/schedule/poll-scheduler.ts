/**
 * Schedules the next poll: a shortest path over the next few polls finds the times with the least item delay and poll cost.
 * The cost of a poll follows from the polling rate that `rate-solver.ts` has computed.
 */
import { type Forecast, ratePeriods } from '../arrivals/forecast.ts'

/** Polls that are looked ahead; beyond them the cost of the √ rule is assumed. */
const POLLS_AHEAD = 5
/** The last of them, for which that cost is assumed too. */
const POLLS_AT_END = 1.5
/** Candidate moments per poll interval, and in all. */
const CANDIDATES = 10
const MAX_CANDIDATES = 800
const SHORTEST_STEP_MS = 1000
/** Relative standard deviation of a period's items from day to day, beyond Poisson noise. */
const SPREAD = 0.3
/**
 * Extra requests of a fill beside the overflowed pages, as the cost model counts them. Found by simulation: with three,
 * scarce polls split bursts to save fills that are already paid for; with none, fills never end.
 */
const FILL_REQUESTS = 1

/** Limits of a poll's schedule. */
export interface SchedulingRules {
  /** Polls a second = pace × √(items a second). */
  pace: number
  /** Items of a page. */
  pageSize: number
  /** Shortest and longest interval, ms. */
  shortestMs: number
  longestMs: number
}

/** Candidate moments for polls, with what is expected up to each. */
interface Grid {
  /** Milliseconds from the forecast's start, rising from 0. */
  atMs: number[]
  /** Items. */
  items: number[]
  /** Sum of the items' arrival times, in seconds from the start. */
  moments: number[]
  /** Polls by the √ rule. */
  polls: number[]
}

/** Milliseconds to the next poll, if a poll was just made at the forecast's start. */
export function nextPollInMs(forecast: Forecast, rules: SchedulingRules): number {
  const { pace, shortestMs, longestMs } = rules
  if (pace <= 0) return longestMs
  const grid = gridOf(forecast, rules)
  const { atMs, polls } = grid
  const last = atMs.length - 1
  /** Cost of one poll, item-seconds. */
  const price = 1 / (2 * pace * pace)
  const endPolls = polls[last] ?? 0
  /** Least cost from a poll at each candidate on. Under the √ rule delay and polls cost the same, hence twice. */
  const costs = polls.map((made) => 2 * price * (endPolls - made))
  const firstAtEnd = polls.findIndex((made) => made >= endPolls - POLLS_AT_END)
  let best = last
  for (let from = Math.max(0, Math.min(firstAtEnd, last) - 1); from >= 0; from--) {
    let least = Number.POSITIVE_INFINITY
    for (let to = from + 1; to <= last; to++) {
      const gapMs = (atMs[to] ?? 0) - (atMs[from] ?? 0)
      if (gapMs < shortestMs && to < last) continue
      const delay = delayBetween(grid, from, to)
      if (delay > least) break
      const cost = delay + price * (1 + overflowRequests(grid, from, to, rules.pageSize)) + (costs[to] ?? 0)
      if (cost < least) {
        least = cost
        if (from === 0) best = to
      }
    }
    costs[from] = least
  }
  return Math.min(longestMs, Math.max(shortestMs, atMs[best] ?? shortestMs))
}

/** Probability that more than a page arrives: a normal distribution, by its logistic approximation. */
export function overflowRisk(items: number, pageSize: number): number {
  const deviation = Math.sqrt(items + (SPREAD * items) ** 2)
  if (deviation === 0) return 0
  return 1 / (1 + Math.exp((1.702 * (pageSize + 0.5 - items)) / deviation))
}

/** Expected requests of a fill, if no poll is made between two candidates. */
function overflowRequests({ items }: Grid, from: number, to: number, pageSize: number): number {
  const arrived = (items[to] ?? 0) - (items[from] ?? 0)
  if (arrived < pageSize / 4) return 0
  return (FILL_REQUESTS + arrived / pageSize) * overflowRisk(arrived, pageSize)
}

/** Item-seconds that arrivals between two candidates wait for the poll at the second. */
function delayBetween({ atMs, items, moments }: Grid, from: number, to: number): number {
  const arrived = (items[to] ?? 0) - (items[from] ?? 0)
  return ((atMs[to] ?? 0) / 1000) * arrived - ((moments[to] ?? 0) - (moments[from] ?? 0))
}

function gridOf(forecast: Forecast, { pace, longestMs }: SchedulingRules): Grid {
  const grid: Grid = { atMs: [0], items: [0], moments: [0], polls: [0] }
  let [at, items, moments, polls] = [0, 0, 0, 0]
  for (const { toMs: periodEndMs, rate } of ratePeriods(forecast)) {
    const endMs = periodEndMs - forecast.fromMs
    const perSecond = pace * Math.sqrt(rate)
    const stepMs = Math.max(SHORTEST_STEP_MS, Math.min(longestMs, 1000 / perSecond) / CANDIDATES)
    while (at < endMs) {
      // A remainder shorter than half a step is added to the last step.
      const toMs = endMs - at < 1.5 * stepMs ? endMs : at + stepMs
      const seconds = (toMs - at) / 1000
      items += rate * seconds
      moments += (rate * seconds * (at + toMs)) / 2000
      polls += perSecond * seconds
      at = toMs
      grid.atMs.push(at)
      grid.items.push(items)
      grid.moments.push(moments)
      grid.polls.push(polls)
      if (grid.atMs.length >= MAX_CANDIDATES) return grid
      if (polls >= POLLS_AHEAD && at >= Math.min(longestMs, 2000)) return grid
    }
  }
  return grid
}
