/**
 * Simulates a week of polls before any is made: when they would come, and how long items would wait for them.
 */
import type { Calendar } from '../../core/calendar/calendar.ts'
import { WEEK_MS } from '../../core/durations.ts'
import type { Steps } from '../../lifecycle/slices.ts'
import { createForecaster, type Forecast, itemsUntil, ratePeriods } from '../arrivals/forecast.ts'
import type { Profile } from '../arrivals/profile.ts'
import { expectedFills, MOST_FILL_SHARE } from './fills.ts'
import { type PlanFigures, reservedShares } from './pacing.ts'
import { simulatePolls } from './planned-spending.ts'
import { overflowRisk } from './poll-scheduler.ts'

/** One hour of London's day, averaged over the business days or the closed days of the week. */
export interface PlannedHour {
  /** 0–23. */
  hour: number
  /** True for business days. */
  isOpen: boolean
  /** Polls and items a day. */
  polls: number
  items: number
  /** From an item's appearance to its poll, seconds. */
  meanDelayS: number
  /** Longest possible wait of an item of this hour, seconds. */
  worstDelayS: number
  /** Highest probability that one poll meets more than a page. */
  overflowRisk: number
}

/** A planned week. */
export interface WeekPlan {
  fromMs: number
  hours: readonly PlannedHour[]
  polls: number
  /** Units reserved for fills and re-scans. */
  kept: number
  /** Units that filling every burst would take. */
  fills: number
  /** Units neither used nor reserved. */
  left: number
  meanDelayS: number
  /** Mean delay of as many polls spread evenly round the clock, seconds. */
  evenMeanDelayS: number
}

/**
 * The moments of a week's polls from `fromMs` on, starting with an empty ledger. Every burst of more than a page is filled,
 * and re-scans take their whole share as items arrive.
 */
export function plannedPolls(
  plan: PlanFigures,
  profile: Profile,
  calendar: Calendar,
  fromMs: number,
): Steps<number[]> {
  const week = { fromMs, untilMs: fromMs + WEEK_MS }
  return simulatePolls({ plan, profile, calendar }, new Map(), week)
}

/** Delays and overflow risks with these polls. */
export function weekPlan(
  plan: PlanFigures,
  profile: Profile,
  calendar: Calendar,
  pollsMs: readonly number[],
): WeekPlan {
  const fromMs = pollsMs[0] ?? 0
  const forecast = createForecaster(calendar)(profile, fromMs, fromMs + WEEK_MS)
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
    const items = itemsUntil(forecast, ms) - itemsUntil(forecast, beforeMs)
    hour.overflowRisk = Math.max(hour.overflowRisk, overflowRisk(items, plan.pageSize))
    beforeMs = ms
  }
  eachWait(forecast, pollsMs, (atMs, items, { meanS, mostS }) => {
    const hour = hourOf(atMs)
    hour.items += items
    hour.delayS += items * meanS
    hour.worstDelayS = Math.max(hour.worstDelayS, mostS)
  })
  const all = [...hours.values()].sort(
    (one, other) => Number(other.isOpen) - Number(one.isOpen) || one.hour - other.hour,
  )
  const fills = expectedFills(forecast, plan.pageSize).reduce((sum, { units }) => sum + units, 0)
  const reserved = reservedShares(plan)
  const kept = Math.ceil(
    Math.min(fills, plan.weeklyQuota * MOST_FILL_SHARE) + plan.weeklyQuota * reserved.rescans,
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
    meanDelayS: meanDelayOf(forecast, pollsMs),
    evenMeanDelayS: meanDelayOf(forecast, evenly(fromMs, pollsMs.length)),
  }
}

function evenly(fromMs: number, count: number): number[] {
  return Array.from({ length: count }, (_, poll) => fromMs + ((poll + 1) * WEEK_MS) / count)
}

/** Mean delay if as many polls were spread evenly over the release windows, seconds. */
export function evenInHoursDelayS(profile: Profile, calendar: Calendar, pollsMs: readonly number[]): number {
  const fromMs = pollsMs[0] ?? 0
  const forecast = createForecaster(calendar)(profile, fromMs, fromMs + WEEK_MS)
  const windows = forecast.days.flatMap(({ day }) => calendar.releaseWindow(day.date) ?? [])
  const openMs = windows.reduce((sum, window) => sum + window.toMs - window.fromMs, 0)
  const polls = windows.flatMap((window) => {
    const count = Math.round((pollsMs.length * (window.toMs - window.fromMs)) / openMs)
    const stepMs = (window.toMs - window.fromMs) / count
    return Array.from({ length: count }, (_, poll) => window.fromMs + (poll + 1) * stepMs)
  })
  return meanDelayOf(forecast, polls)
}

function meanDelayOf(forecast: Forecast, pollsMs: readonly number[]): number {
  let [items, delayS] = [0, 0]
  eachWait(forecast, pollsMs, (_atMs, arrived, { meanS }) => {
    items += arrived
    delayS += arrived * meanS
  })
  return delayS / items
}

/** Visits every part of the forecast that ends with the same poll: its items and their mean and longest wait, seconds. */
function eachWait(
  forecast: Forecast,
  pollsMs: readonly number[],
  visit: (atMs: number, items: number, wait: { meanS: number; mostS: number }) => void,
): void {
  let poll = 0
  for (const period of ratePeriods(forecast)) {
    for (let atMs = period.fromMs; atMs < period.toMs; ) {
      while (poll < pollsMs.length && (pollsMs[poll] ?? 0) <= atMs) poll++
      const pollMs = pollsMs[poll]
      if (pollMs === undefined) return
      const endMs = Math.min(period.toMs, pollMs)
      visit(atMs, (period.rate * (endMs - atMs)) / 1000, {
        meanS: (pollMs - (atMs + endMs) / 2) / 1000,
        mostS: (pollMs - atMs) / 1000,
      })
      atMs = endMs
    }
  }
}
