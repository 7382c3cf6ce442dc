/**
 * Simulates weeks of polling over a trace, with a policy that chooses each poll time. It models what polls see, what
 * fills and re-scans cost, and the ledger. Unlike the tests, which run the real state machine, it keeps only times and
 * counts.
 */
import type { Calendar } from '../../src/core/calendar/calendar.ts'
import type { PlanLimits } from '../../src/core/plans.ts'
import type { Purpose } from '../../src/core/purpose.ts'
import { learn } from '../../src/governor/arrivals/learning.ts'
import { firstProfile, type Profile } from '../../src/governor/arrivals/profile.ts'
import { type QuotaReset, quotaAt } from '../../src/governor/quota/ledger.ts'
import { countUnits, type OpenLedger } from '../../src/governor/quota/time-buckets.ts'
import type { Pacing } from '../../src/governor/schedule/pacing.ts'
import { rescansOf } from '../../src/governor/schedule/rescans.ts'
import type { Trace } from './polling-traces.ts'

const FILL_MARGIN_MS = 15 * 60_000
/** An overflow without budget is retried this much later, repeatedly. */
const UNPAID_GAP_RETRY_MS = 15 * 60_000
const SWEEP_MARGIN_MS = 2 * 60_000
const SWEEP_QUIET_MS = 20_000
const BURST_ITEMS = 20
const BURST_MS = 20_000

/** One poll: how much it found at once. */
export interface SimulatedPoll {
  atMs: number
  items: number
}

/** The result. */
export interface Simulated {
  polls: SimulatedPoll[]
  /** Units of all purposes, and when. */
  spent: { atMs: number; units: number; purpose: Purpose }[]
  /** When each item of the trace was found, ms since 1970; of those that never were, Infinity. */
  foundMs: Float64Array
  /** Overflows that no unit was left to fill at once, filled later or not at all. */
  lateFills: number
  unfilled: number
  /** Units left at each fixed reset, as a share of the quota. */
  leftAtResets: number[]
  profile: Profile
}

/** Items that an overflow left out, until a fill has budget. */
interface Open {
  /** Items of the trace, from one to before the other. */
  first: number
  end: number
  /** Pages of its page scan, and how many its attempts have read: the next attempt continues after them. */
  pages: number
  pagesRead: number
  retryAtMs: number
}

type Situation = { ledger: OpenLedger; profile: Profile; nowMs: number }

/** Polls at the moments that the pacing gives, from the trace's start to its end. */
export function simulate(
  trace: Trace,
  plan: PlanLimits & { quotaReset: QuotaReset },
  pacing: Pacing,
  calendar: Calendar,
): Simulated {
  const { visibleMs, startMs, endMs, stampOffMs } = trace
  const rounds = rescansOf(plan)
  const foundMs = new Float64Array(visibleMs.length).fill(Number.POSITIVE_INFINITY)
  const result: Omit<Simulated, 'unfilled' | 'profile'> = {
    polls: [],
    spent: [],
    foundMs,
    lateFills: 0,
    leftAtResets: [],
  }
  let open: Open[] = []
  const state: Situation = { ledger: new Map(), profile: firstProfile(), nowMs: startMs }
  let seen = 0
  let lastMs = startMs
  let sweepFromMs: number | null = null
  let roundFromMs: number | null = null
  let roundDueMs = Number.POSITIVE_INFINITY
  let resetMs = quotaAt(state.ledger, plan.weeklyQuota, plan.quotaReset, startMs).resetMs

  const spend = (units: number, purpose: Purpose): void => {
    countUnits(state.ledger, units, purpose, state.nowMs)
    result.spent.push({ atMs: state.nowMs, units, purpose })
  }
  const pagesOf = (items: number): number => Math.max(1, Math.ceil(items / plan.pageSize))
  /** Reads page by page within the budget; returns how many pages were read, including earlier attempts. */
  const scan = (
    { pages, read = 0 }: { pages: number; read?: number },
    purpose: 'fill' | 'sweep',
    may: Pacing['mayFill'],
  ): number => {
    let pagesRead = read
    for (; pagesRead < pages && may(state.ledger, state.nowMs); pagesRead++) spend(1, purpose)
    return pagesRead
  }
  const since = (fromMs: number): number => seen - placeOf(visibleMs, fromMs)
  const sweepIfDue = (): void => {
    if (rounds === null) return
    if (sweepFromMs !== null && since(state.nowMs - SWEEP_QUIET_MS) < BURST_ITEMS) {
      scan({ pages: pagesOf(since(sweepFromMs)) }, 'sweep', pacing.mayRescan)
      sweepFromMs = null
    }
    if (roundFromMs !== null && state.nowMs >= roundDueMs) {
      scan({ pages: pagesOf(since(roundFromMs - rounds.reachMs)) }, 'sweep', pacing.mayRescan)
      roundFromMs = null
    }
  }
  /** Overflows without budget are read when it allows, like any open gap. */
  const fillIfDue = (): void => {
    open = open.filter((gap) => {
      if (state.nowMs < gap.retryAtMs) return true
      gap.pagesRead = scan({ pages: gap.pages, read: gap.pagesRead }, 'fill', pacing.mayRetryGap)
      const isFilled = gap.pagesRead === gap.pages
      gap.retryAtMs = state.nowMs + UNPAID_GAP_RETRY_MS
      if (isFilled) foundMs.fill(state.nowMs, gap.first, gap.end)
      return !isFilled
    })
  }
  const poll = (): void => {
    spend(1, 'poll')
    const before = seen
    seen = placeOf(visibleMs, state.nowMs)
    const items = seen - before
    result.polls.push({ atMs: state.nowMs, items })
    const overflowed = items > plan.pageSize
    const fromMs = lastMs - FILL_MARGIN_MS
    const pages = overflowed ? pagesOf(since(fromMs)) : 0
    const pagesRead = scan({ pages }, 'fill', pacing.mayFill)
    const filled = pagesRead === pages
    const first = filled ? before : seen - plan.pageSize
    foundMs.fill(state.nowMs, first, seen)
    if (!filled) {
      open.push({ first: before, end: first, pages, pagesRead, retryAtMs: state.nowMs + UNPAID_GAP_RETRY_MS })
      result.lateFills += 1
    }
    if (items > 0 && since(state.nowMs - BURST_MS) >= BURST_ITEMS) sweepFromMs ??= lastMs - SWEEP_MARGIN_MS
    if (items > 0 && rounds !== null && roundFromMs === null) {
      roundFromMs = lastMs
      roundDueMs = state.nowMs + rounds.everyMs
    }
    const found = visibleMs.slice(first, seen)
    state.profile = learn(state.profile, calendar, {
      fromMs: lastMs,
      toMs: state.nowMs,
      timesMs: found.map((ms) => Math.floor((ms + stampOffMs) / 1000) * 1000),
      atLeast: !filled,
    })
    lastMs = state.nowMs
  }

  while (state.nowMs < endMs) {
    if (pacing.mayRequest(state.ledger, state.nowMs)) {
      poll()
      fillIfDue()
      sweepIfDue()
      state.nowMs += Math.ceil(pacing.plan({ ...state, skewMs: 0 }).intervalMs)
    } else {
      state.nowMs = quotaAt(state.ledger, plan.weeklyQuota, plan.quotaReset, state.nowMs).resetMs
    }
    if (plan.quotaReset !== 'rolling' && state.nowMs >= resetMs) {
      const { remaining } = quotaAt(state.ledger, plan.weeklyQuota, plan.quotaReset, resetMs - 1)
      result.leftAtResets.push(remaining / plan.weeklyQuota)
      resetMs = quotaAt(state.ledger, plan.weeklyQuota, plan.quotaReset, state.nowMs).resetMs
    }
  }
  return { ...result, unfilled: open.length, profile: state.profile }
}

/** How many moments are before `ms`. */
export function placeOf(moments: readonly number[], ms: number): number {
  let low = 0
  let high = moments.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((moments[middle] ?? 0) < ms) low = middle + 1
    else high = middle
  }
  return low
}
