/**
 * Divides the weekly upstream quota: decides when the next poll is due, and whether a fill, re-scan or backfill request can
 * be paid. A fill reads what a poll's full page left out; a re-scan reads past time again.
 */
import type { Calendar } from '../../core/calendar/calendar.ts'
import { HOUR_MS, SECOND_MS, WEEK_MS } from '../../core/durations.ts'
import type { PlanLimits } from '../../core/plans.ts'
import type { Purpose } from '../../core/purpose.ts'
import { createForecaster, itemsUntil } from '../arrivals/forecast.ts'
import type { Profile } from '../arrivals/profile.ts'
import type { QuotaReset } from '../quota/ledger.ts'
import { ledgerWithout, quotaAt, spentOn, spentSince } from '../quota/ledger.ts'
import type { Ledger } from '../quota/time-buckets.ts'
import { bucketOf } from '../quota/time-buckets.ts'
import { reconciliationBudget } from './daily-reconciliation.ts'
import { MOST_FILL_SHARE, usualFillShare } from './fills.ts'
import {
  type PlannedQuota,
  paysFullRate,
  planInput,
  pollIntervalMs,
  pollsWithin,
  type ReservedShares,
  type Situation,
  usualPollsWithin,
} from './planner.ts'
import { pollsUntil } from './rate-solver.ts'
import { rescansOf } from './rescans.ts'

/** Least share of the weekly quota reserved for fills and retried gaps. */
const LEAST_FILL_SHARE = 0.06
/**
 * Share reserved for the overlap re-scans after bursts, beside scheduled re-scans and daily reconciliation. A morning takes
 * 22 of a day's 300 units on the plan lite, 11 of 700 on advanced.
 */
const OVERLAP_RESCAN_SHARE = 0.08
/** Largest share of the weekly quota for a backfill. */
const BACKFILL_SHARE = 0.5
/** Polls of this long before now are compared with the plan before a new leader polls early, ms. */
const EARLY_WINDOW_MS = 6 * HOUR_MS
/**
 * An early poll needs fewer polls than planned times this, plus an allowance for the polls after bursts. A process that
 * crashes again and again thus spends at most a tenth more on polls, which the reserved shares pay.
 */
const EARLY_SHARE = 1.1
const EARLY_EXTRA = 3
/** Polling faster than this gains nothing that a reader notices. */
const SHORTEST_INTERVAL_MS = 1000
/**
 * Polls take at most one of so many requests that the plan's rate allows. Page scans need the others: with fewer, their
 * requests wait for the rate limit until the next poll is due, and that one waits for it after them.
 */
const REQUESTS_A_POLL = 5

/** The purposes that draw on the reserved shares; a backfill is checked once, before it starts. */
const PAGE_SCANS: readonly Purpose[] = ['fill', 'sweep']

/** The figures of a plan that limit spending. */
export interface PlanFigures extends PlanLimits {
  quotaReset: QuotaReset
  /** Units a week reserved for proxied requests; default 0. */
  gatewayUnits?: number
}

/** The plan without the units of proxied requests: what the poller may use. */
export function withoutGateway<P extends PlanFigures>(plan: P): P {
  return { ...plan, weeklyQuota: plan.weeklyQuota - (plan.gatewayUnits ?? 0), gatewayUnits: 0 }
}

/** What is planned at the moment of a poll. */
export interface PollPlan {
  /** Time to the next poll, ms. */
  intervalMs: number
  /** Polls planned until the quota resets. */
  pollsUntilReset: number
  /** Polls until then that a usual week does not go below: more than are left, where they have to become rarer. */
  wantedUntilReset: number
}

/** Decisions about spending; each takes the ledger as it is now. */
export type Pacing = ReturnType<typeof plannedPacing>

/** The shares reserved on this plan. */
export function reservedShares(plan: Pick<PlanFigures, 'weeklyQuota' | 'pageSize'>): ReservedShares {
  const rescans = rescansOf(plan)
  return {
    fills: Math.min(MOST_FILL_SHARE, Math.max(LEAST_FILL_SHARE, usualFillShare(plan))),
    rescans:
      rescans === null ? 0 : OVERLAP_RESCAN_SHARE + rescans.share + (reconciliationBudget(plan)?.share ?? 0),
  }
}

/** Pacing that polls when news is expected, within what the reserved shares leave of the quota. */
export function plannedPacing(given: PlanFigures, calendar: Calendar) {
  const plan = withoutGateway(given)
  const reserved = reservedShares(plan)
  const reservedShare = reserved.fills + reserved.rescans
  const { weeklyQuota, quotaReset, pageSize } = plan
  /** The ledger without proxied requests, which have their own units. */
  const own = (ledger: Ledger): Ledger =>
    weeklyQuota === given.weeklyQuota ? ledger : ledgerWithout(ledger, 'gateway')
  const shortestMs = Math.max(SHORTEST_INTERVAL_MS, (REQUESTS_A_POLL * SECOND_MS) / plan.ratePerSecond)
  const meanIntervalMs = Math.max(shortestMs, WEEK_MS / (weeklyQuota * (1 - reservedShare)))
  const quota: PlannedQuota = { weeklyQuota, quotaReset, pageSize, reserved, shortestMs }
  const isFull = paysFullRate(quota)
  const forecaster = createForecaster(calendar)
  /** Units that the poller may still use: of its own, and of the whole quota, where proxied requests used more than theirs. */
  const unitsLeft = (ledger: Ledger, nowMs: number): number => {
    const { remaining } = quotaAt(ledger, given.weeklyQuota, quotaReset, nowMs)
    if (weeklyQuota === given.weeklyQuota) return remaining
    return Math.min(remaining, quotaAt(own(ledger), weeklyQuota, quotaReset, nowMs).remaining)
  }
  const mayRequest = (ledger: Ledger, nowMs: number): boolean => unitsLeft(ledger, nowMs) > 0
  const mayRetryGap = (ledger: Ledger, nowMs: number): boolean =>
    mayRequest(ledger, nowMs) && spentOn(ledger, PAGE_SCANS, nowMs) < weeklyQuota * reservedShare
  const rescanUnits = weeklyQuota * reserved.rescans
  return {
    /** Interval if the polls of a week were spread evenly, ms. */
    meanIntervalMs,
    /** Plans the poll after one that is made now. */
    plan(situation: Situation): PollPlan {
      const { nowMs } = situation
      const ledger = own(situation.ledger)
      const { resetMs } = quotaAt(ledger, weeklyQuota, quotaReset, nowMs)
      const fullRate = (resetMs - nowMs) / shortestMs
      if (isFull) return { intervalMs: shortestMs, pollsUntilReset: fullRate, wantedUntilReset: fullRate }
      const input = planInput(quota, forecaster, { ...situation, ledger })
      // The plan of a fixed week knows nothing of the next one, which begins with a whole quota.
      const mostMs = quotaReset === 'rolling' ? Number.POSITIVE_INFINITY : resetMs - nowMs + SECOND_MS
      return {
        intervalMs: Math.min(pollIntervalMs(quota, input), Math.max(shortestMs, mostMs)),
        pollsUntilReset: pollsWithin(quota, input, resetMs - nowMs),
        wantedUntilReset: usualPollsWithin(quota, input.forecast, resetMs - nowMs),
      }
    },
    /** Items that usually come between two moments of upstream's clock, ms since 1970. */
    expectedItems: (profile: Profile, fromMs: number, toMs: number): number =>
      itemsUntil(forecaster(profile, fromMs, toMs), toMs),
    /** True if any request can be paid. */
    mayRequest,
    /** True if a new leader may poll at once, before the interval since the last poll is over. */
    mayPollEarly(situation: Situation): boolean {
      const { ledger, profile, nowMs, skewMs } = situation
      const sinceMs = bucketOf(nowMs - EARLY_WINDOW_MS)
      const spent = spentSince(ledger, ['poll'], sinceMs)
      const most = (nowMs - sinceMs) / shortestMs
      if (isFull) return spent < most * EARLY_SHARE
      const { pace } = planInput(quota, forecaster, { ...situation, ledger: own(ledger) })
      const past = forecaster(profile, sinceMs + skewMs, nowMs + skewMs)
      const planned = pollsUntil(past, pace, nowMs + skewMs, SECOND_MS / shortestMs)
      return spent < planned * EARLY_SHARE + EARLY_EXTRA
    },
    /** True if one more request of a fill can be paid: fills come before polls, up to half of the weekly quota. */
    mayFill: (ledger: Ledger, nowMs: number): boolean =>
      mayRequest(ledger, nowMs) && spentOn(ledger, ['fill'], nowMs) < weeklyQuota * MOST_FILL_SHARE,
    /** True if one more request for an open gap can be paid from the reserved shares, not from polls. */
    mayRetryGap,
    /** True if one more request of the backfill can be paid: at most half of the weekly quota. */
    mayBackfill: (ledger: Ledger, nowMs: number): boolean =>
      mayRequest(ledger, nowMs) && spentOn(ledger, ['backfill'], nowMs) < weeklyQuota * BACKFILL_SHARE,
    /** True if one more request of a re-scan can be paid from its own share, not from polls and fills. */
    mayRescan: (ledger: Ledger, nowMs: number): boolean =>
      mayRetryGap(ledger, nowMs) && spentOn(ledger, ['sweep'], nowMs) < rescanUnits,
    /** True if all `units` requests of a daily reconciliation can be paid from the same share. */
    mayReconcile: (ledger: Ledger, nowMs: number, units: number): boolean =>
      unitsLeft(ledger, nowMs) >= units &&
      spentOn(ledger, PAGE_SCANS, nowMs) + units <= weeklyQuota * reservedShare &&
      spentOn(ledger, ['sweep'], nowMs) + units <= rescanUnits,
  }
}
