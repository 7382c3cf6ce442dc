/**
 * Where the next poll goes: the shortest path over the next few polls, each as dear as the pace says, each saving the delay
 * of what has arrived by then. Owns that optimisation; pure. Refuses to know budgets (`rate-solver.ts`).
 */
import { type Outlook, stretchesOf } from '../arrivals/forecast.ts'

/** So many polls at the pace are looked ahead; beyond them the √ rule's cost stands in. */
const POLLS_AHEAD = 5
/** The last of them lie where the √ rule's cost stands in. */
const POLLS_AT_END = 1.5
/** Places tried between two polls. */
const PLACES = 10
const MOST_PLACES = 800
const SHORTEST_STEP_MS = 1000
/** Day by day the items of a stretch differ by so much beyond chance, as a share of them. */
const SPREAD = 0.3
/**
 * Requests of a fill besides the pages that overflowed, as they are weighed. Its margin takes more; but with three, scarce
 * polls part bursts to save fills that are paid for, and with none a slow pace makes fills without end.
 */
const FILL_REQUESTS = 1

/** What bounds a poll. */
export interface PlacingRules {
  /** As `paceOf` gives it: polls a second = pace × √rate. */
  pace: number
  /** Items of a page. */
  pageSize: number
  shortestMs: number
  longestMs: number
}

/** Places for a poll, from now on, with what is expected up to each. */
interface Grid {
  /** Milliseconds from now, rising from 0. */
  atMs: number[]
  /** Items. */
  items: number[]
  /** Items × the seconds from now at which they arrive. */
  moments: number[]
  /** Polls that the √ rule makes. */
  polls: number[]
}

/** Milliseconds from the outlook's start to the next poll; a poll is taken to have been made just there. */
export function nextPollInMs(outlook: Outlook, rules: PlacingRules): number {
  const { pace, shortestMs, longestMs } = rules
  if (!Number.isFinite(pace)) return shortestMs
  if (pace <= 0) return longestMs
  const grid = gridOf(outlook, rules)
  const { atMs, polls } = grid
  const last = atMs.length - 1
  /** One poll, in item-seconds. */
  const price = 1 / (2 * pace * pace)
  const endPolls = polls[last] ?? 0
  /** Least cost from a poll at each place on. The √ rule costs twice its polls: as much delay as polls. */
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
      const cost = delay + price * (1 + overflowPolls(grid, from, to, rules.pageSize)) + (costs[to] ?? 0)
      if (cost < least) {
        least = cost
        if (from === 0) best = to
      }
    }
    costs[from] = least
  }
  return Math.min(longestMs, Math.max(shortestMs, atMs[best] ?? shortestMs))
}

/** Probability that more than a page arrives. Normal with the spread of days, by its logistic approximation. */
export function overflowRisk(items: number, pageSize: number): number {
  const deviation = Math.sqrt(items + (SPREAD * items) ** 2)
  if (deviation === 0) return 0
  return 1 / (1 + Math.exp((1.702 * (pageSize + 0.5 - items)) / deviation))
}

/** What an overflow between two places would cost, in requests, as likely as it is. */
function overflowPolls({ items }: Grid, from: number, to: number, pageSize: number): number {
  const arrived = (items[to] ?? 0) - (items[from] ?? 0)
  if (arrived < pageSize / 4) return 0
  return (FILL_REQUESTS + arrived / pageSize) * overflowRisk(arrived, pageSize)
}

/** Item-seconds that what arrives between two places waits for the poll at the second. */
function delayBetween({ atMs, items, moments }: Grid, from: number, to: number): number {
  const arrived = (items[to] ?? 0) - (items[from] ?? 0)
  return ((atMs[to] ?? 0) / 1000) * arrived - ((moments[to] ?? 0) - (moments[from] ?? 0))
}

function gridOf(ahead: Outlook, { pace, longestMs }: PlacingRules): Grid {
  const grid: Grid = { atMs: [0], items: [0], moments: [0], polls: [0] }
  let [at, items, moments, polls] = [0, 0, 0, 0]
  for (const { toMs: stretchEndMs, rate } of stretchesOf(ahead)) {
    const endMs = stretchEndMs - ahead.fromMs
    const perSecond = pace * Math.sqrt(rate)
    const stepMs = Math.max(SHORTEST_STEP_MS, Math.min(longestMs, 1000 / perSecond) / PLACES)
    while (at < endMs) {
      // A rest shorter than half a step belongs to the step before it.
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
      if (grid.atMs.length >= MOST_PLACES) return grid
      if (polls >= POLLS_AHEAD && at >= Math.min(longestMs, 2000)) return grid
    }
  }
  return grid
}
