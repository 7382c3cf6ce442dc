/**
 * How the quota is shared out: the seam behind which the planner comes. For now a fixed interval between polls, and
 * a share kept for fills and sweeps. Owns these two decisions. Refuses to count and to send.
 */
import type { Ledger, Purpose } from '../log/log.ts'
import type { QuotaReset } from './ledger.ts'
import { quotaAt, spentOn, spentSince } from './ledger.ts'
import { roundsOf } from './rounds.ts'

const HOUR_MS = 3_600_000
const WEEK_MS = 7 * 24 * HOUR_MS
/** Of the weekly quota, kept for fills and gaps where the plan pays for no sweeps. */
const WALK_SHARE = 0.2
/**
 * Of the weekly quota, kept for fills and for the sweeps after bursts, beside the share of the rounds. A morning on the
 * lite plan takes 17 and 22 of a day's 300, on advanced 11 and 11 of 700.
 */
const MORNING_SHARE = 0.14
/** Of the weekly quota, what sweeps leave to fills and gaps: they come first. */
const FILL_SHARE = 0.06
/** Of the weekly quota, the most that a backfill may take. */
const BACKFILL_SHARE = 0.5
/** How far back polls are counted for one before its turn, ms. */
const EARLY_WINDOW_MS = 6 * HOUR_MS
/**
 * Polls in that time, over those that the interval gives: so that a process that dies again and again spends a tenth
 * more on polls at most, which the share of the walks pays.
 */
const EARLY_SHARE = 1.1
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
}

export interface Pacing {
  /** Milliseconds from one poll to the next. */
  pollIntervalMs(): number
  /** True when whoever begins to poll may do so at once, though the interval since the last poll is not over. */
  mayPollEarly(ledger: Ledger, nowMs: number): boolean
  /** True when one more request of a fill or of a gap can be paid without taking it from the polls. */
  mayWalk(ledger: Ledger, nowMs: number): boolean
  /** True when one more request of a sweep can be paid without taking it from polls and fills. */
  maySweep(ledger: Ledger, nowMs: number): boolean
  /** True when one more request of the backfill can be paid: at most half of a week's quota goes there. */
  mayBackfill(ledger: Ledger, nowMs: number): boolean
  /** True when any request can be paid. */
  mayRequest(ledger: Ledger, nowMs: number): boolean
}

/** Of the weekly quota, what is kept for fills and sweeps on this plan. */
export function walkShareOf(plan: Pick<PlanFigures, 'weeklyQuota' | 'pageSize'>): number {
  const rounds = roundsOf(plan)
  return rounds === null ? WALK_SHARE : MORNING_SHARE + rounds.share
}

/** A fixed interval that, with the share kept for walks, spends the quota in exactly a week. */
export function fixedPacing(plan: PlanFigures): Pacing {
  const walkShare = walkShareOf(plan)
  const intervalMs = Math.max(
    SHORTEST_INTERVAL_MS,
    1000 / plan.ratePerSecond,
    WEEK_MS / (plan.weeklyQuota * (1 - walkShare)),
  )
  const mayRequest = (ledger: Ledger, nowMs: number): boolean =>
    quotaAt(ledger, plan.weeklyQuota, plan.quotaReset, nowMs).remaining > 0
  const mayWalk = (ledger: Ledger, nowMs: number): boolean =>
    mayRequest(ledger, nowMs) && spentOn(ledger, WALKS, nowMs) < plan.weeklyQuota * walkShare
  return {
    pollIntervalMs: () => intervalMs,
    mayRequest,
    mayPollEarly(ledger, nowMs) {
      const sinceMs = nowMs - Math.max(EARLY_WINDOW_MS, intervalMs)
      const countedMs = nowMs - Math.floor(sinceMs / HOUR_MS) * HOUR_MS
      const polls = spentSince(ledger, ['poll'], sinceMs)
      return polls < Math.max(1, (countedMs / intervalMs) * EARLY_SHARE)
    },
    mayWalk,
    mayBackfill: (ledger, nowMs) =>
      mayRequest(ledger, nowMs) && spentOn(ledger, ['backfill'], nowMs) < plan.weeklyQuota * BACKFILL_SHARE,
    maySweep: (ledger, nowMs) =>
      mayWalk(ledger, nowMs) &&
      spentOn(ledger, ['sweep'], nowMs) < plan.weeklyQuota * (walkShare - FILL_SHARE),
  }
}
