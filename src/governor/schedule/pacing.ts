/**
 * How the quota is shared out: when the next poll is due, and what fills, sweeps and the backfill may take. Owns the
 * shares. Refuses to count and to send; where polls go is the planner's.
 */

import type { Calendar } from '../../core/calendar/calendar.ts'
import { HOUR_MS, WEEK_MS } from '../../core/durations.ts'
import type { Purpose } from '../../core/purpose.ts'
import { outlooks } from '../arrivals/forecast.ts'
import type { QuotaReset } from '../quota/ledger.ts'
import { ledgerWithout, quotaAt, spentOn, spentSince } from '../quota/ledger.ts'
import { bucketOf, type Ledger } from '../quota/time-buckets.ts'
import { dayWalksOf } from './daily-reconciliation.ts'
import { MOST_FILL_SHARE, usualFillShare } from './fills.ts'
import {
  type PlannedQuota,
  paysFullRate,
  pollIntervalMs,
  pollsWithin,
  prospect,
  type Situation,
} from './planner.ts'
import { pollsUntil } from './rate-solver.ts'
import { roundsOf } from './rescans.ts'

/** Of the weekly quota, the least that is kept for fills and retried gaps. */
const LEAST_FILL_SHARE = 0.06
/**
 * Of the weekly quota, kept for the sweeps after bursts, beside the shares of rounds and day walks. A morning on the lite
 * plan takes 22 of a day's 300, on advanced 11 of 700.
 */
const MORNING_SWEEP_SHARE = 0.08
/** Of the weekly quota, the most that a backfill may take. */
const BACKFILL_SHARE = 0.5
/** How far back polls are counted for one before its turn, ms. */
const EARLY_WINDOW_MS = 6 * HOUR_MS
/**
 * Polls in that time, over those that the interval gives: so that a process that dies again and again spends a tenth
 * more on polls at most, which the share of the walks pays.
 */
const EARLY_SHARE = 1.1
/** And so many more, because polls just after bursts are more than the pace tells. */
const EARLY_EXTRA = 3
/** Polling faster than this gains nothing that a reader would notice. */
const SHORTEST_INTERVAL_MS = 1000

/** The purposes that draw on that share. A backfill is weighed once, before it starts. */
const WALKS: readonly Purpose[] = ['fill', 'sweep']

/** The figures of the plan that govern spending. */
export interface PlanFigures {
  ratePerSecond: number
  burst: number
  weeklyQuota: number
  pageSize: number
  quotaReset: QuotaReset
  /** Of the weekly quota, what is kept for requests that are passed through; absent: nothing. */
  gatewayUnits?: number
}

/** The plan as far as the poller may use it: without the share of the gateway. */
export function withoutGateway<P extends PlanFigures>(plan: P): P {
  return { ...plan, weeklyQuota: plan.weeklyQuota - (plan.gatewayUnits ?? 0), gatewayUnits: 0 }
}

/** What is planned at the moment of a poll. */
export interface PollPlan {
  /** From this poll to the next, ms. */
  intervalMs: number
  /** Polls planned until units come back. */
  pollsUntilReset: number
}

export interface Pacing {
  /** From one poll to the next if the week were polled evenly, ms. */
  readonly meanIntervalMs: number
  /** What follows a poll that is made now. */
  plan(situation: Situation): PollPlan
  /** True when whoever begins to poll may do so at once, though the interval since the last poll is not over. */
  mayPollEarly(situation: Situation): boolean
  /** True when one more request of a fill can be paid: it comes before polls, up to half of a week's quota. */
  mayFill(ledger: Ledger, nowMs: number): boolean
  /** True when one more request for an open gap can be paid without taking it from the polls. */
  mayWalk(ledger: Ledger, nowMs: number): boolean
  /** True when one more request of a sweep can be paid without taking it from polls and fills. */
  maySweep(ledger: Ledger, nowMs: number): boolean
  /** True when so many requests of a day walk can all be paid in the same way. */
  mayWalkDay(ledger: Ledger, nowMs: number, units: number): boolean
  /** True when one more request of the backfill can be paid: at most half of a week's quota goes there. */
  mayBackfill(ledger: Ledger, nowMs: number): boolean
  /** True when any request can be paid. */
  mayRequest(ledger: Ledger, nowMs: number): boolean
}

/** Shares of the weekly quota that are kept on a plan. */
export interface WalkShares {
  /** For fills and retried gaps. */
  fills: number
  /** For sweeps, rounds and day walks; 0 where the plan does not pay for rounds. */
  sweeps: number
}

/** What is kept for fills and sweeps on this plan before a week was seen. */
export function walkSharesOf(plan: Pick<PlanFigures, 'weeklyQuota' | 'pageSize'>): WalkShares {
  const rounds = roundsOf(plan)
  return {
    fills: Math.min(MOST_FILL_SHARE, Math.max(LEAST_FILL_SHARE, usualFillShare(plan))),
    sweeps: rounds === null ? 0 : MORNING_SWEEP_SHARE + rounds.share + (dayWalksOf(plan)?.share ?? 0),
  }
}

/** Polls where the news is expected, within what the shares kept for the gateway and for walks leave of the quota. */
export function plannedPacing(given: PlanFigures, calendar: Calendar): Pacing {
  const plan = withoutGateway(given)
  const shares = walkSharesOf(plan)
  const walkShare = shares.fills + shares.sweeps
  const { weeklyQuota, quotaReset, pageSize } = plan
  /** Units that count against what the poller may use. */
  const own = (ledger: Ledger): Ledger =>
    weeklyQuota === given.weeklyQuota ? ledger : ledgerWithout(ledger, 'gateway')
  const shortestMs = Math.max(SHORTEST_INTERVAL_MS, 1000 / plan.ratePerSecond)
  const meanIntervalMs = Math.max(shortestMs, WEEK_MS / (weeklyQuota * (1 - walkShare)))
  const quota: PlannedQuota = { weeklyQuota, quotaReset, pageSize, walkShares: shares, shortestMs }
  const isFull = paysFullRate(quota)
  const outlookOf = outlooks(calendar)
  const mayRequest = (ledger: Ledger, nowMs: number): boolean =>
    quotaAt(ledger, given.weeklyQuota, quotaReset, nowMs).remaining > 0 &&
    quotaAt(own(ledger), weeklyQuota, quotaReset, nowMs).remaining > 0
  const mayWalk = (ledger: Ledger, nowMs: number): boolean =>
    mayRequest(ledger, nowMs) && spentOn(ledger, WALKS, nowMs) < weeklyQuota * walkShare
  const sweepUnits = weeklyQuota * shares.sweeps
  return {
    meanIntervalMs,
    plan(situation) {
      const { nowMs } = situation
      const ledger = own(situation.ledger)
      if (isFull) {
        const { resetMs } = quotaAt(ledger, weeklyQuota, quotaReset, nowMs)
        return { intervalMs: shortestMs, pollsUntilReset: (resetMs - nowMs) / shortestMs }
      }
      const ahead = prospect(quota, outlookOf, { ...situation, ledger })
      const { resetMs } = quotaAt(ledger, weeklyQuota, quotaReset, nowMs)
      return {
        intervalMs: pollIntervalMs(quota, ahead),
        pollsUntilReset: pollsWithin(quota, ahead, resetMs - nowMs),
      }
    },
    mayRequest,
    mayPollEarly(situation) {
      const { ledger, profile, nowMs, skewMs } = situation
      const sinceMs = bucketOf(nowMs - EARLY_WINDOW_MS)
      const spent = spentSince(ledger, ['poll'], sinceMs)
      if (isFull) return spent < ((nowMs - sinceMs) / shortestMs) * EARLY_SHARE
      const { pace } = prospect(quota, outlookOf, { ...situation, ledger: own(ledger) })
      const past = outlookOf(profile, sinceMs + skewMs, nowMs + skewMs)
      const planned = pollsUntil(past, pace, nowMs + skewMs, 1000 / shortestMs)
      return spent < planned * EARLY_SHARE + EARLY_EXTRA
    },
    mayFill: (ledger, nowMs) =>
      mayRequest(ledger, nowMs) && spentOn(ledger, ['fill'], nowMs) < weeklyQuota * MOST_FILL_SHARE,
    mayWalk,
    mayBackfill: (ledger, nowMs) =>
      mayRequest(ledger, nowMs) && spentOn(ledger, ['backfill'], nowMs) < weeklyQuota * BACKFILL_SHARE,
    maySweep: (ledger, nowMs) => mayWalk(ledger, nowMs) && spentOn(ledger, ['sweep'], nowMs) < sweepUnits,
    mayWalkDay: (ledger, nowMs, units) =>
      quotaAt(ledger, weeklyQuota, quotaReset, nowMs).remaining >= units &&
      spentOn(ledger, WALKS, nowMs) + units <= weeklyQuota * walkShare &&
      spentOn(ledger, ['sweep'], nowMs) + units <= sweepUnits,
  }
}
