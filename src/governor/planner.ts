/**
 * When the next poll is due: budgets from ledger and plan, the pace that they pay, the place that the pace gives. Owns how
 * many units polls may have until when, under both readings of "weekly". Pure. Refuses to spend and to wait.
 */
import type { Ledger, Purpose } from '../log/log.ts'
import { type QuotaReset, quotaAt, unitsOf } from './ledger.ts'
import { itemsUntil, type Outlook, type OutlookOf } from './outlook.ts'
import { nextPollInMs } from './placing.ts'
import { type Budget, paceOf, pollsUntil } from './price.ts'
import type { Profile } from './profile.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const WEEK_MS = 7 * DAY_MS
/** However little is expected: so long a silence would look like a dead poller. */
const LONGEST_INTERVAL_MS = 6 * HOUR_MS
/** Of the week's pace, the least that is kept up where few units are left for now: others come back hour by hour. */
const LEAST_PACE = 0.6
/** Polls that a day takes beyond the √ rule: those just after bursts, and on closed days those of the longest interval. */
const OPEN_DAY_EXTRA = 3
const CLOSED_DAY_EXTRA = 3
/** Horizons at which a rolling quota is looked at. */
const HORIZONS_MS = [
  ...[1, 3, 6].map((hours) => hours * HOUR_MS),
  ...[1, 2, 3, 4, 5, 6, 7].map((days) => days * DAY_MS),
]
/** Of a rolling quota, the least that plans of a day and more leave: room for a changed profile and for the dearest hour. */
const ROLLING_REST = 0.02
/** Fills and sweeps are expected to take what they took in the last week and so much more. */
const WALK_MARGIN = 1.25
/** Walks that took so much of their share would have taken more. */
const STARVED = 0.9
const WALKS: readonly Purpose[] = ['fill', 'sweep']

/** What the planner needs of a plan. */
export interface PlannedQuota {
  weeklyQuota: number
  quotaReset: QuotaReset
  pageSize: number
  /** Of the weekly quota, kept for fills and sweeps. */
  walkShare: number
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

/** What the planner sees from one moment on. */
export interface Prospect {
  /** By upstream's clock. */
  outlook: Outlook
  /** Polls a second = pace × √(items a second). */
  pace: number
}

/**
 * True where the quota pays for the plan's full rate all week long, so that nothing needs to be planned: the polls of a
 * week and of the two hours that the ledger's hours may count too long.
 */
export function paysFullRate({ weeklyQuota, walkShare, shortestMs }: PlannedQuota): boolean {
  return weeklyQuota * (1 - walkShare - ROLLING_REST) >= (WEEK_MS + 2 * HOUR_MS) / shortestMs
}

/** The outlook over the next week, or from another moment, and the pace that the budgets pay now. */
export function prospect(quota: PlannedQuota, outlookOf: OutlookOf, situation: Situation): Prospect {
  const { profile, nowMs, skewMs } = situation
  const upstreamMs = nowMs + skewMs
  const ahead = outlookOf(profile, upstreamMs, upstreamMs + WEEK_MS)
  const budgets = budgetsOf(quota, ahead, situation)
  const most = 1000 / quota.shortestMs
  const longest = budgets.slice(-1)
  return {
    outlook: ahead,
    pace: Math.max(paceOf(ahead, budgets, most), LEAST_PACE * paceOf(ahead, longest, most)),
  }
}

/** From one poll to the next, ms. */
export function pollIntervalMs(quota: PlannedQuota, { outlook: ahead, pace }: Prospect): number {
  const { pageSize, shortestMs } = quota
  const longestMs = Math.max(shortestMs, LONGEST_INTERVAL_MS)
  return nextPollInMs(ahead, { pace, pageSize, shortestMs, longestMs })
}

/** Polls that the pace makes in the time from the prospect's start on. */
export function pollsWithin(
  quota: PlannedQuota,
  { outlook: ahead, pace }: Prospect,
  lastsMs: number,
): number {
  return pollsUntil(ahead, pace, ahead.fromMs + lastsMs, 1000 / quota.shortestMs)
}

function budgetsOf(quota: PlannedQuota, ahead: Outlook, { ledger, nowMs, skewMs }: Situation): Budget[] {
  const { weeklyQuota, quotaReset } = quota
  const hours = unitsByHour(ledger)
  const itemsAWeek = itemsUntil(ahead, ahead.toMs)
  const walks = walksAWeek(quota, hours, nowMs)
  /** Fills and sweeps go with the items, as long as their share lasts. */
  const budget = (untilMs: number, units: number): Budget => {
    const wanted = (walks * itemsUntil(ahead, untilMs + skewMs)) / itemsAWeek
    const paid = weeklyQuota * quota.walkShare - countedAt(hours, untilMs).walks
    const kept = Math.max(0, Math.min(wanted, paid)) + extraPolls(ahead, untilMs + skewMs)
    return { untilMs: untilMs + skewMs, polls: Math.max(0, units - kept) }
  }
  if (quotaReset !== 'rolling') {
    const { remaining, resetMs } = quotaAt(ledger, weeklyQuota, quotaReset, nowMs)
    return [budget(resetMs, remaining)]
  }
  const rest = Math.max(weeklyQuota * ROLLING_REST, dearestHour(hours, nowMs))
  return HORIZONS_MS.map((horizonMs) => {
    const { units } = countedAt(hours, nowMs + horizonMs)
    return budget(nowMs + horizonMs, weeklyQuota - units - rest * Math.min(1, horizonMs / DAY_MS))
  })
}

function extraPolls({ fromMs, days }: Outlook, untilMs: number): number {
  return days.reduce((sum, { day }) => {
    const insideMs = Math.max(0, Math.min(untilMs, day.endMs) - Math.max(fromMs, day.startMs))
    return sum + ((day.isOpen ? OPEN_DAY_EXTRA : CLOSED_DAY_EXTRA) * insideMs) / (day.endMs - day.startMs)
  }, 0)
}

/** An hour of the ledger, added up. */
interface SpentHour {
  hourMs: number
  units: number
  /** Of them, those of fills and sweeps. */
  walks: number
}

function unitsByHour(ledger: Ledger): SpentHour[] {
  const hours: SpentHour[] = []
  for (const [hourMs, spent] of ledger) {
    let walks = 0
    for (const purpose of WALKS) walks += spent[purpose] ?? 0
    hours.push({ hourMs, units: unitsOf(spent), walks })
  }
  return hours
}

/** What has been spent by now and will still count at that moment, in a rolling week. */
function countedAt(hours: readonly SpentHour[], atMs: number): { units: number; walks: number } {
  let [units, walks] = [0, 0]
  for (const hour of hours) {
    if (hour.hourMs + HOUR_MS <= atMs - WEEK_MS) continue
    units += hour.units
    walks += hour.walks
  }
  return { units, walks }
}

/** A unit comes back when its whole hour has left the week: at most as many are late as the dearest hour has. */
function dearestHour(hours: readonly SpentHour[], nowMs: number): number {
  return hours.reduce(
    (most, { hourMs, units }) => (hourMs > nowMs - WEEK_MS ? Math.max(most, units) : most),
    0,
  )
}

/** Units that fills and sweeps would take in a week: their share, or what a whole week has shown. */
function walksAWeek(
  { weeklyQuota, walkShare }: PlannedQuota,
  hours: readonly SpentHour[],
  nowMs: number,
): number {
  const most = weeklyQuota * walkShare
  if (!hours.some(({ hourMs }) => hourMs <= nowMs - WEEK_MS)) return most
  const { walks } = countedAt(hours, nowMs)
  return walks > most * STARVED ? most * 2 : Math.min(most, walks * WALK_MARGIN)
}
