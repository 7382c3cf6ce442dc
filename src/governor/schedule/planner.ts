/**
 * Plans the next poll: computes how many polls the quota can pay for, the polling rate that follows, and the time to the
 * next poll. The inputs are the ledger (units spent), the upstream plan, and the forecast of item arrivals.
 */
import { DAY_MS, HOUR_MS, SECOND_MS, WEEK_MS } from '../../core/durations.ts'
import { type Forecast, type Forecaster, itemsUntil, rootsUntil } from '../arrivals/forecast.ts'
import type { Profile } from '../arrivals/profile.ts'
import { COUNTED_MS, type QuotaReset, quotaAt, unitsOf } from '../quota/ledger.ts'
import { BUCKET_MS, type Ledger } from '../quota/time-buckets.ts'
import { type ExpectedFill, expectedFills, MOST_FILL_SHARE } from './fills.ts'
import { pollsByRule, pollsScheduled } from './poll-rounding.ts'
import { nextPollInMs } from './poll-scheduler.ts'
import { type Budget, paceOf, pollsUntil } from './rate-solver.ts'

/** Longest interval between polls: a longer silence would look like a dead poller. */
const LONGEST_INTERVAL_MS = 6 * HOUR_MS
/** Weight of closed hours in that silence: nothing is published on closed days. */
const CLOSED_HOUR = 0.5
/** Share of the week's pace that is kept even where few units are left now; more come back bucket by bucket. */
const LEAST_PACE = 0.45
/**
 * That takes at most so many times the polls that the units left a day from now and later pay beside the fills: otherwise a week
 * with little slack, as one in which clocks go forward, is out of units in the middle of a burst.
 */
const LEAST_PACE_SHARE = 1.5
/**
 * Share of a day's polls beyond the √ rule that is reserved for rounding; the rest is not scheduled. With 0.5 items of usual days
 * on `free` are a tenth less late, and a first week runs out of units.
 */
const ROUNDING_SHARE = 0.75
/** Horizons at which a rolling quota must suffice, besides the ends of the expected bursts. */
const HORIZONS_MS = [
  ...[1, 3, 6].map((hours) => hours * HOUR_MS),
  ...[1, 2, 3, 4, 5, 6, 7].map((days) => days * DAY_MS),
]
/** Time after a burst by which its fill has been paid. */
const FILLED_MS = 60_000
/**
 * Least share of a rolling quota that the plan of a week leaves unspent, for changed forecasts. At least the units of the
 * largest time bucket, times the margin, are left: they may all come back late.
 */
const ROLLING_RESERVE = 0.02
const LARGEST_BUCKET_MARGIN = 1.1
/** Fills and re-scans are expected to take what they took last week, times this. */
const FILL_MARGIN = 1.05
const RESCAN_MARGIN = 1.25
/** Re-scans that used this much of their share would have taken more. */
const STARVED = 0.9

/** Shares of the weekly quota that a plan reserves. */
export interface ReservedShares {
  /** For fills and retried gaps. */
  fills: number
  /** For re-scans and daily reconciliation; 0 where the plan does not pay for scheduled re-scans. */
  rescans: number
}

/** What the planner needs to know of a plan. */
export interface PlannedQuota {
  weeklyQuota: number
  quotaReset: QuotaReset
  pageSize: number
  /** What fills and re-scans are expected to take before a week has been seen. */
  reserved: ReservedShares
  /** Least time between two polls, ms. */
  shortestMs: number
}

/** What is known when a poll is planned. */
export interface Situation {
  ledger: Ledger
  profile: Profile
  /** Our clock, ms since 1970. */
  nowMs: number
  /** Upstream's clock minus ours, ms. */
  skewMs: number
}

/** What a poll is planned from. */
export interface PlanInput {
  /** The next week, by upstream's clock. */
  forecast: Forecast
  /** Polls a second = pace × √(items a second). */
  pace: number
}

/** True where the quota pays for the plan's full rate all week, so that nothing needs planning. */
export function paysFullRate(quota: PlannedQuota): boolean {
  const { weeklyQuota, shortestMs } = quota
  return weeklyQuota * pollShare(quota) >= (WEEK_MS + BUCKET_MS + COUNTED_MS) / shortestMs
}

/** The share of a whole quota that is left to polls. */
function pollShare({ reserved }: PlannedQuota): number {
  return 1 - reserved.fills - reserved.rescans - ROLLING_RESERVE
}

/** The forecast for the next week and the pace that the budgets pay now. */
export function planInput(quota: PlannedQuota, forecaster: Forecaster, situation: Situation): PlanInput {
  const { profile, nowMs, skewMs } = situation
  const upstreamMs = nowMs + skewMs
  const forecast = forecaster(profile, upstreamMs, upstreamMs + WEEK_MS)
  const spent = spentBuckets(situation.ledger, nowMs)
  const fills = scaledFills(expectedFills(forecast, quota.pageSize), spent, nowMs)
  const budgets = budgetsOf(quota, forecast, fills, spent, situation)
  const maxPerSecond = SECOND_MS / quota.shortestMs
  const leastPace = Math.min(
    LEAST_PACE * paceOf(forecast, [budgets.week], maxPerSecond),
    LEAST_PACE_SHARE * paceOf(forecast, budgets.beyondFills, maxPerSecond),
  )
  return { forecast, pace: Math.max(paceOf(forecast, budgets.all, maxPerSecond), leastPace) }
}

/** From one poll to the next, ms. */
export function pollIntervalMs(quota: PlannedQuota, { forecast, pace }: PlanInput): number {
  const { pageSize, shortestMs } = quota
  const longestMs = Math.max(shortestMs, longestSilenceMs(forecast))
  return nextPollInMs(forecast, { pace, pageSize, shortestMs, longestMs })
}

/** The longest permitted interval from the forecast's start on, ms. */
function longestSilenceMs({ fromMs, days }: Forecast): number {
  let left = LONGEST_INTERVAL_MS
  let atMs = fromMs
  for (const { day } of days) {
    const weight = day.isOpen ? 1 : CLOSED_HOUR
    const lasts = (day.endMs - atMs) * weight
    if (lasts >= left) return atMs - fromMs + left / weight
    left -= lasts
    atMs = day.endMs
  }
  return atMs - fromMs
}

/** Polls that a week which begins with a whole quota makes at least within a time from the forecast's start on. */
export function usualPollsWithin(quota: PlannedQuota, forecast: Forecast, lastsMs: number): number {
  const weekRoots = rootsUntil(forecast, forecast.toMs)
  if (weekRoots === 0) return 0
  const weekPolls = LEAST_PACE * quota.weeklyQuota * pollShare(quota)
  return (weekPolls * rootsUntil(forecast, forecast.fromMs + lastsMs)) / weekRoots
}

/** Polls expected within a time from the forecast's start on. */
export function pollsWithin(quota: PlannedQuota, { forecast, pace }: PlanInput, lastsMs: number): number {
  const untilMs = forecast.fromMs + lastsMs
  const byRule = pollsUntil(forecast, pace, untilMs, SECOND_MS / quota.shortestMs)
  return pollsScheduled(byRule, openDays(forecast, untilMs))
}

/** What polls may spend. */
interface PollBudgets {
  /** Those that they must keep to. */
  all: readonly Budget[]
  /** That of the whole week, for which no bucket need come back late. */
  week: Budget
  /** All that is left beside the fills, a day from now and later. */
  beyondFills: readonly Budget[]
}

/** A moment at which the quota must suffice. */
interface Horizon {
  /** By our clock, and by upstream's; ms since 1970. */
  untilMs: number
  upstreamMs: number
  /** Units spent by now that still count then. */
  counted: Omit<SpentBucket, 'backMs'>
  /** Units that fills are expected to take by then. */
  filling: number
  /** Units of a rolling quota that are left then, if nothing is spent from now on. */
  left: number
}

/** Those budgets for a week from now on, or until a fixed week ends. */
function budgetsOf(
  { weeklyQuota, quotaReset, reserved, ...quota }: PlannedQuota,
  forecast: Forecast,
  fills: readonly ExpectedFill[],
  spent: SpentBuckets,
  { ledger, nowMs, skewMs }: Situation,
): PollBudgets {
  const weekItems = itemsUntil(forecast, forecast.toMs)
  const rescanUnits = rescansAWeek({ weeklyQuota, quotaReset, reserved, ...quota }, spent, nowMs)
  const largestBucket = spent.buckets.reduce((most, { units }) => Math.max(most, units), 0)
  const reserve =
    quotaReset === 'rolling'
      ? Math.max(weeklyQuota * ROLLING_RESERVE, LARGEST_BUCKET_MARGIN * largestBucket)
      : 0
  const usual = weeklyQuota - unitsBy(fills, Number.POSITIVE_INFINITY) - rescanUnits - reserve
  const days = forecast.days.filter(({ day }) => day.isOpen).length
  const roundingUnits = ROUNDING_SHARE * (usual - pollsByRule(usual, days))
  const horizonAt = (untilMs: number): Horizon => {
    const upstreamMs = untilMs + skewMs
    const counted = countedAt(spent, untilMs)
    const filling = Math.min(unitsBy(fills, upstreamMs), weeklyQuota * MOST_FILL_SHARE - counted.fills)
    return { untilMs, upstreamMs, counted, filling: Math.max(0, filling), left: weeklyQuota - counted.units }
  }
  const budget = ({ upstreamMs, counted, filling }: Horizon, units: number): Budget => {
    const weekShare = itemsUntil(forecast, upstreamMs) / weekItems
    const rescanning = Math.min(rescanUnits * weekShare, weeklyQuota * reserved.rescans - counted.rescans)
    const kept = filling + Math.max(0, rescanning) + roundingUnits * weekShare
    return { untilMs: upstreamMs, polls: Math.max(0, units - kept) }
  }
  if (quotaReset !== 'rolling') {
    const { remaining, resetMs } = quotaAt(ledger, weeklyQuota, quotaReset, nowMs)
    const week = budget(horizonAt(resetMs), remaining)
    return { all: [week], week, beyondFills: [week] }
  }
  const endMs = nowMs + WEEK_MS
  const horizons = [
    ...HORIZONS_MS.map((horizonMs) => nowMs + horizonMs),
    ...fills.map(({ atMs }) => atMs - skewMs + FILLED_MS).filter((atMs) => atMs < endMs),
  ].map(horizonAt)
  const end = horizonAt(endMs)
  return {
    // Within the week the units that come back are known from the ledger; at its end the reserve must be left.
    all: horizons.map((horizon) => budget(horizon, horizon.left - (horizon.untilMs < endMs ? 0 : reserve))),
    week: budget(end, end.left - weeklyQuota * ROLLING_RESERVE),
    beyondFills: horizons
      .filter(({ untilMs }) => untilMs >= nowMs + DAY_MS)
      .map(({ upstreamMs, left, filling }) => ({
        untilMs: upstreamMs,
        polls: pollsByRule(left - filling, openDays(forecast, upstreamMs)),
      })),
  }
}

/** Units of the fills that begin by a moment of upstream's clock. */
function unitsBy(fills: readonly ExpectedFill[], untilMs: number): number {
  return fills.reduce((sum, { atMs, units }) => (atMs <= untilMs ? sum + units : sum), 0)
}

/** Business days until a moment, weighted by the polls that the √ rule makes in them. */
function openDays(forecast: Forecast, untilMs: number): number {
  const open = forecast.days.filter(({ day }) => day.isOpen)
  const roots = open.reduce(
    (sum, { shape, factor }) => sum + (shape.roots[shape.roots.length - 1] ?? 0) * Math.sqrt(factor),
    0,
  )
  return roots === 0 ? 0 : (rootsUntil(forecast, untilMs) * open.length) / roots
}

/** One time bucket of the ledger. */
interface SpentBucket {
  /** When its units come back in a rolling week, ms since 1970. */
  backMs: number
  units: number
  fills: number
  rescans: number
}

/** The buckets that still count in a rolling week, and whether the ledger covers a whole week. */
interface SpentBuckets {
  buckets: readonly SpentBucket[]
  isWholeWeek: boolean
}

function spentBuckets(ledger: Ledger, nowMs: number): SpentBuckets {
  const buckets: SpentBucket[] = []
  let isWholeWeek = false
  for (const [bucketMs, spent] of ledger) {
    const backMs = bucketMs + COUNTED_MS + WEEK_MS
    if (bucketMs <= nowMs - WEEK_MS) isWholeWeek = true
    if (backMs <= nowMs) continue
    buckets.push({ backMs, units: unitsOf(spent), fills: spent.fill ?? 0, rescans: spent.sweep ?? 0 })
  }
  return { buckets, isWholeWeek }
}

/** Units spent by now that will still count at a moment, in a rolling week. */
function countedAt({ buckets }: SpentBuckets, atMs: number): Omit<SpentBucket, 'backMs'> {
  let [units, fills, rescans] = [0, 0, 0]
  for (const bucket of buckets) {
    if (bucket.backMs <= atMs) continue
    units += bucket.units
    fills += bucket.fills
    rescans += bucket.rescans
  }
  return { units, fills, rescans }
}

/** The expected fills, scaled to what fills took in the last week once a whole one is known. */
function scaledFills(fills: readonly ExpectedFill[], spent: SpentBuckets, nowMs: number): ExpectedFill[] {
  const expected = unitsBy(fills, Number.POSITIVE_INFINITY)
  const weekUnits = spent.isWholeWeek ? countedAt(spent, nowMs + HOUR_MS).fills : expected
  const scale = (FILL_MARGIN * weekUnits) / expected
  return fills.map((fill) => ({ ...fill, units: fill.units * scale }))
}

/** Units that re-scans take in a week: their whole share, or what a whole week has shown. */
function rescansAWeek({ weeklyQuota, reserved }: PlannedQuota, spent: SpentBuckets, nowMs: number): number {
  const most = weeklyQuota * reserved.rescans
  if (!spent.isWholeWeek) return most
  const { rescans } = countedAt(spent, nowMs)
  return rescans > most * STARVED ? most : Math.min(most, rescans * RESCAN_MARGIN)
}
