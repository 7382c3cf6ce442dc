/**
 * A week of polls before any is made: when they would come, and what they would find if everything comes as expected. Owns
 * that reckoning; pure. Refuses to spend and to print.
 */

import type { Calendar } from '../../core/calendar/calendar.ts'
import { HOUR_MS, WEEK_MS } from '../../core/durations.ts'
import type { Purpose } from '../../core/purpose.ts'
import { itemsUntil, type Outlook, outlooks, stretchesOf } from '../arrivals/forecast.ts'
import type { Profile } from '../arrivals/profile.ts'
import { countUnits, type OpenLedger } from '../quota/time-buckets.ts'
import { expectedFills, MOST_FILL_SHARE } from './fills.ts'
import { type Arrivals, bestPlacing } from './optimum.ts'
import { type PlanFigures, plannedPacing, walkSharesOf } from './pacing.ts'
import { overflowRisk } from './poll-scheduler.ts'

/** Expected arrivals are taken together over so long a time where a best timetable is looked for. */
const GRAIN_S = 10

/** What is expected of one hour of London's days, on average over the days of its sort. */
export interface PlannedHour {
  /** 0–23. */
  hour: number
  /** Of a business day, else of a closed one. */
  isOpen: boolean
  /** A day. */
  polls: number
  items: number
  /** From the moment an item shows to its poll, seconds. */
  meanDelayS: number
  /** The longest that an item of this hour may have to wait, seconds. */
  worstDelayS: number
  /** Highest probability of any poll that more than a page has come. */
  overflowRisk: number
}

/** A week as planned. */
export interface WeekPlan {
  fromMs: number
  hours: readonly PlannedHour[]
  polls: number
  /** Units kept for fills, sweeps and rounds. */
  kept: number
  /** Units that filling every burst of the week would take. */
  fills: number
  /** Units left over. */
  left: number
  meanDelayS: number
  /** Of as many polls at even distances round the clock. */
  evenMeanDelayS: number
}

/** Mean delays of as many polls, placed otherwise, seconds. */
export interface Comparison {
  evenInHoursS: number
  bestS: number
}

/**
 * The moments of a week's polls from `fromMs` on, where nothing was spent before; every burst of more than a page is
 * filled, and sweeps take their whole share, as the items come.
 */
export function plannedPolls(
  plan: PlanFigures,
  profile: Profile,
  calendar: Calendar,
  fromMs: number,
): number[] {
  const pacing = plannedPacing(plan, calendar)
  const ahead = outlooks(calendar)(profile, fromMs, fromMs + WEEK_MS)
  const sweepsAnItem = (plan.weeklyQuota * walkSharesOf(plan).sweeps) / itemsUntil(ahead, ahead.toMs)
  const fills = expectedFills(ahead, { pageSize: plan.pageSize, pace: 0 })
  const ledger: OpenLedger = new Map()
  const spend = (units: number, purpose: Purpose, atMs: number): void =>
    countUnits(ledger, units, purpose, atMs)
  const pollsMs: number[] = []
  let swept = 0
  for (let nowMs = fromMs; nowMs < ahead.toMs; ) {
    for (; (fills[0]?.atMs ?? Number.POSITIVE_INFINITY) <= nowMs; fills.shift()) {
      for (let unit = 0; unit < (fills[0]?.units ?? 0) && pacing.mayFill(ledger, nowMs); unit++)
        spend(1, 'fill', nowMs)
    }
    const sweeps = Math.floor(sweepsAnItem * itemsUntil(ahead, nowMs)) - swept
    spend(sweeps, 'sweep', nowMs)
    swept += sweeps
    const isPaid = pacing.mayRequest(ledger, nowMs)
    if (isPaid) {
      spend(1, 'poll', nowMs)
      pollsMs.push(nowMs)
    }
    nowMs += isPaid ? pacing.plan({ ledger, profile, nowMs, skewMs: 0 }).intervalMs : HOUR_MS
  }
  return pollsMs
}

/** What these polls would find. */
export function weekPlan(
  plan: PlanFigures,
  profile: Profile,
  calendar: Calendar,
  pollsMs: readonly number[],
): WeekPlan {
  const fromMs = pollsMs[0] ?? 0
  const ahead = outlooks(calendar)(profile, fromMs, fromMs + WEEK_MS)
  const hours = new Map<string, PlannedHour & { days: Set<string>; delayS: number }>()
  const hourOf = (ms: number) => {
    const date = calendar.londonDate(ms)
    const isOpen = calendar.isBusinessDay(date)
    const hour = Math.floor(calendar.minuteOfDay(ms) / 60)
    const key = `${isOpen} ${hour}`
    const none = { polls: 0, items: 0, meanDelayS: 0, worstDelayS: 0, overflowRisk: 0, delayS: 0 }
    const found = hours.get(key) ?? { hour, isOpen, days: new Set<string>(), ...none }
    hours.set(key, found)
    found.days.add(date)
    return found
  }
  let beforeMs = fromMs
  for (const ms of pollsMs) {
    const hour = hourOf(ms)
    hour.polls += 1
    const items = itemsUntil(ahead, ms) - itemsUntil(ahead, beforeMs)
    hour.overflowRisk = Math.max(hour.overflowRisk, overflowRisk(items, plan.pageSize))
    beforeMs = ms
  }
  eachWait(ahead, pollsMs, (atMs, items, { meanS, mostS }) => {
    const hour = hourOf(atMs)
    hour.items += items
    hour.delayS += items * meanS
    hour.worstDelayS = Math.max(hour.worstDelayS, mostS)
  })
  const all = [...hours.values()].sort(
    (one, other) => Number(other.isOpen) - Number(one.isOpen) || one.hour - other.hour,
  )
  const fills = expectedFills(ahead, { pageSize: plan.pageSize, pace: 0 }).reduce(
    (sum, { units }) => sum + units,
    0,
  )
  const shares = walkSharesOf(plan)
  const kept = Math.ceil(
    Math.min(fills, plan.weeklyQuota * MOST_FILL_SHARE) + plan.weeklyQuota * shares.sweeps,
  )
  return {
    fromMs,
    hours: all.map(({ days, delayS, ...hour }) => ({
      ...hour,
      polls: hour.polls / days.size,
      items: hour.items / days.size,
      meanDelayS: hour.items === 0 ? 0 : delayS / hour.items,
    })),
    polls: pollsMs.length,
    kept,
    fills,
    left: Math.max(0, plan.weeklyQuota - pollsMs.length - kept),
    meanDelayS: meanDelayOf(ahead, pollsMs),
    evenMeanDelayS: meanDelayOf(ahead, evenly(fromMs, pollsMs.length)),
  }
}

function evenly(fromMs: number, count: number): number[] {
  return Array.from({ length: count }, (_, poll) => fromMs + ((poll + 1) * WEEK_MS) / count)
}

/** How as many polls would do evenly inside the release windows, and by the best timetable of all. */
export function comparison(profile: Profile, calendar: Calendar, pollsMs: readonly number[]): Comparison {
  const fromMs = pollsMs[0] ?? 0
  const ahead = outlooks(calendar)(profile, fromMs, fromMs + WEEK_MS)
  const count = pollsMs.length
  const windows = ahead.days.flatMap(({ day }) => calendar.releaseWindow(day.date) ?? [])
  const openMs = windows.reduce((sum, window) => sum + window.toMs - window.fromMs, 0)
  const inHours = windows.flatMap((window) => {
    const polls = Math.round((count * (window.toMs - window.fromMs)) / openMs)
    const stepMs = (window.toMs - window.fromMs) / polls
    return Array.from({ length: polls }, (_, poll) => window.fromMs + (poll + 1) * stepMs)
  })
  const arrivals = arrivalsOf(ahead)
  return {
    evenInHoursS: meanDelayOf(ahead, inHours),
    bestS: meanDelayOf(
      ahead,
      bestPlacing(arrivals, count).pollsS.map((second) => fromMs + second * 1000),
    ),
  }
}

function meanDelayOf(ahead: Outlook, pollsMs: readonly number[]): number {
  let [items, delayS] = [0, 0]
  eachWait(ahead, pollsMs, (_atMs, arrived, { meanS }) => {
    items += arrived
    delayS += arrived * meanS
  })
  return delayS / items
}

/** Every piece of the outlook up to the last poll that one poll ends: its items, and how long they wait, seconds. */
function eachWait(
  ahead: Outlook,
  pollsMs: readonly number[],
  visit: (atMs: number, items: number, wait: { meanS: number; mostS: number }) => void,
): void {
  let poll = 0
  for (const stretch of stretchesOf(ahead)) {
    for (let atMs = stretch.fromMs; atMs < stretch.toMs; ) {
      while (poll < pollsMs.length && (pollsMs[poll] ?? 0) <= atMs) poll++
      const pollMs = pollsMs[poll]
      if (pollMs === undefined) return
      const endMs = Math.min(stretch.toMs, pollMs)
      visit(atMs, (stretch.rate * (endMs - atMs)) / 1000, {
        meanS: (pollMs - (atMs + endMs) / 2) / 1000,
        mostS: (pollMs - atMs) / 1000,
      })
      atMs = endMs
    }
  }
}

function arrivalsOf(ahead: Outlook): Arrivals {
  const atS: number[] = []
  const items: number[] = []
  for (const stretch of stretchesOf(ahead)) {
    const seconds = (stretch.toMs - stretch.fromMs) / 1000
    const pieces = Math.max(1, Math.round(seconds / GRAIN_S))
    for (let piece = 1; piece <= pieces; piece++) {
      atS.push((stretch.fromMs - ahead.fromMs) / 1000 + (seconds * piece) / pieces)
      items.push((stretch.rate * seconds) / pieces)
    }
  }
  return { atS, items }
}
