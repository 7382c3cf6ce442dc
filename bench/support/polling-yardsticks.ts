/**
 * Implements the baselines of the planner: even polling, the plain √ rule, and the best timetable for the expected
 * arrivals; and computes delays.
 */
import type { Calendar } from '../../src/core/calendar/calendar.ts'
import { createForecaster, ratePeriods, rootsUntil } from '../../src/governor/arrivals/forecast.ts'
import { firstProfile } from '../../src/governor/arrivals/profile.ts'
import { type Arrivals, bestTimetable } from './best-timetable.ts'
import { placeOf } from './polling-simulation.ts'
import type { Trace } from './polling-traces.ts'

const DAY_MS = 86_400_000
const WEEK_MS = 7 * DAY_MS

/** Seconds from the moment at which items became visible to the one at which they were found. */
export interface Delays {
  mean: number
  p99: number
}

/** When each item is found by these polls if every overflow is filled at once; Infinity after the last. */
export function foundBy({ visibleMs }: Trace, pollsMs: readonly number[]): Float64Array {
  let poll = 0
  return Float64Array.from(visibleMs, (ms) => {
    while (poll < pollsMs.length && (pollsMs[poll] ?? 0) <= ms) poll++
    return pollsMs[poll] ?? Number.POSITIVE_INFINITY
  })
}

/** The delays of the items between two moments that pass a test. What was never found does not count. */
export function delaysOf(
  { visibleMs }: Trace,
  foundMs: Float64Array,
  { fromMs, toMs }: { fromMs: number; toMs: number },
  counts: (ms: number) => boolean = () => true,
): Delays {
  const delays: number[] = []
  for (let item = placeOf(visibleMs, fromMs); item < placeOf(visibleMs, toMs); item++) {
    const ms = visibleMs[item] ?? 0
    const delayMs = (foundMs[item] ?? Number.POSITIVE_INFINITY) - ms
    if (Number.isFinite(delayMs) && counts(ms)) delays.push(delayMs / 1000)
  }
  delays.sort((one, other) => one - other)
  const sum = delays.reduce((total, delay) => total + delay, 0)
  return { mean: sum / delays.length, p99: delays[Math.floor(delays.length * 0.99)] ?? 0 }
}

/** This many polls a week, at even intervals. */
export function evenPolls(fromMs: number, toMs: number, pollsAWeek: number): number[] {
  const stepMs = WEEK_MS / pollsAWeek
  return Array.from(
    { length: Math.floor((toMs - fromMs) / stepMs) },
    (_, poll) => fromMs + (poll + 1) * stepMs,
  )
}

/** This many polls a week, at even intervals inside the release windows, none outside. */
export function evenPollsInHours(
  calendar: Calendar,
  fromMs: number,
  toMs: number,
  pollsAWeek: number,
): number[] {
  const windows: { fromMs: number; toMs: number }[] = []
  for (let ms = fromMs + DAY_MS / 2; ms < toMs; ms += DAY_MS) {
    const window = calendar.releaseWindow(calendar.londonDate(ms))
    if (window !== null) windows.push(window)
  }
  const openMs = windows.reduce((sum, window) => sum + window.toMs - window.fromMs, 0)
  const stepMs = openMs / ((pollsAWeek * (toMs - fromMs)) / WEEK_MS)
  return windows.flatMap((window) =>
    Array.from(
      { length: Math.floor((window.toMs - window.fromMs) / stepMs) },
      (_, poll) => window.fromMs + (poll + 1) * stepMs,
    ),
  )
}

/** This many polls a week by the √ rule over the shipped profile: one whenever the rule adds up to a poll. */
export function rootPolls(calendar: Calendar, fromMs: number, toMs: number, pollsAWeek: number): number[] {
  const ahead = createForecaster(calendar)(firstProfile(), fromMs, toMs)
  const pace = (pollsAWeek * (toMs - fromMs)) / WEEK_MS / rootsUntil(ahead, toMs)
  const pollsMs: number[] = []
  let made = 0
  for (const stretch of ratePeriods(ahead)) {
    const perMs = (pace * Math.sqrt(stretch.rate)) / 1000
    const upTo = made + perMs * (stretch.toMs - stretch.fromMs)
    for (let poll = Math.floor(made) + 1; poll <= upTo; poll++) {
      pollsMs.push(stretch.fromMs + (poll - made) / perMs)
    }
    made = upTo
  }
  return pollsMs
}

/** The mean week of a trace: the mean of its business days, five times, and of its closed days, twice. */
export function typicalWeek(trace: Trace, calendar: Calendar): Arrivals {
  const open = new Map<number, number>()
  const closed = new Map<number, number>()
  const days = { open: 0, closed: 0 }
  for (let ms = trace.startMs + DAY_MS / 2; ms < trace.endMs; ms += DAY_MS) {
    days[calendar.isBusinessDay(calendar.londonDate(ms)) ? 'open' : 'closed'] += 1
  }
  for (const ms of trace.visibleMs) {
    const date = calendar.londonDate(ms)
    const counts = calendar.isBusinessDay(date) ? open : closed
    const second = Math.floor((ms - calendar.momentMs(date, 0)) / 1000) + 1
    counts.set(second, (counts.get(second) ?? 0) + 1)
  }
  const week = Array.from({ length: 7 }, (_, day) => {
    const [counts, of] = day < 5 ? [open, days.open] : [closed, days.closed]
    return [...counts]
      .sort(([one], [other]) => one - other)
      .map(([second, items]) => [day * 86_400 + second, items / Math.max(1, of)] as const)
  }).flat()
  return { atS: week.map(([at]) => at), items: week.map(([, items]) => items) }
}

/** The polls of the best timetable for that week, followed from one moment to another. */
export function timetablePolls(
  calendar: Calendar,
  week: Arrivals,
  range: { fromMs: number; toMs: number },
  pollsAWeek: number,
): number[] {
  const { pollsS } = bestTimetable(week, pollsAWeek)
  const pollsMs: number[] = []
  for (let weekMs = range.fromMs; weekMs < range.toMs; weekMs += WEEK_MS) {
    for (const second of pollsS) {
      const day = Math.min(6, Math.floor(second / 86_400))
      const date = calendar.londonDate(weekMs + day * DAY_MS + DAY_MS / 2)
      pollsMs.push(calendar.momentMs(date, 0) + (second - day * 86_400) * 1000)
    }
  }
  return pollsMs
}

/** Mean delay of this many polls if every item is known in advance, seconds. */
export function clairvoyantMean(
  { visibleMs }: Trace,
  polls: number,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): number {
  const counts = new Map<number, number>()
  for (const ms of visibleMs.slice(placeOf(visibleMs, fromMs), placeOf(visibleMs, toMs))) {
    const second = Math.floor((ms - fromMs) / 1000) + 1
    counts.set(second, (counts.get(second) ?? 0) + 1)
  }
  const arrivals = { atS: [...counts.keys()], items: [...counts.values()] }
  return bestTimetable(arrivals, polls).delay / arrivals.items.reduce((sum, items) => sum + items, 0)
}
