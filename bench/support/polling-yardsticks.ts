/**
 * Implements the yardsticks of the planner: even polling, the plain √ rule, the best timetable for the expected arrivals
 * and the one that knows every item; and computes delays.
 */
import type { Calendar } from '../../src/core/calendar/calendar.ts'
import { DAY_MS, WEEK_MS } from '../../src/core/durations.ts'
import { createForecaster, ratePeriods, rootsUntil } from '../../src/governor/arrivals/forecast.ts'
import { firstProfile } from '../../src/governor/arrivals/profile.ts'
import { type Arrivals, bestTimetable, delayOf } from './best-timetable.ts'
import { placeOf } from './polling-simulation.ts'
import type { Trace } from './polling-traces.ts'

const DAY_S = 86_400
/** What arrives within a second counts at its end, half a second late in the mean. */
const HALF_A_SECOND = 0.5
/**
 * An item is spread as far as so many neighbours are away, for each day, and at least so many. With fewer the best
 * timetable would find seconds that had more items by chance, also among sixty weeks.
 */
const NEIGHBOURS_A_DAY = 2
const LEAST_NEIGHBOURS = 30
/** What rounding leaves of a second's items where there are none. */
const NOTHING = 1e-12
/** Of sums of a million terms, as a share. */
const ROUNDING = 1e-9

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

/**
 * Mean time between the first poll after an item and the answer that brought it, of what was found, seconds: 0 where
 * every overflow was filled at once.
 */
export function latenessOf(
  trace: Trace,
  foundMs: Float64Array,
  pollsMs: readonly number[],
  range: { fromMs: number; toMs: number },
): number {
  const polledMs = foundBy(trace, pollsMs).map((ms, item) =>
    foundMs[item] === Number.POSITIVE_INFINITY ? Number.POSITIVE_INFINITY : ms,
  )
  return delaysOf(trace, foundMs, range).mean - delaysOf(trace, polledMs, range).mean
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

/** Items expected within each second of a business day and of a closed one; place 1 is the day's first second. */
export interface TypicalDays {
  open: Float64Array
  closed: Float64Array
}

/**
 * The mean days of a trace. Each item is spread evenly as far to both sides as its nearest neighbours on days of its kind
 * are away, so that days which are few do not pass for known to the second; a burst stays where it is.
 */
export function typicalDays(trace: Trace, calendar: Calendar): TypicalDays {
  const dates = datesOf(trace.startMs, trace.endMs, calendar)
  const openDays = dates.filter((date) => calendar.isBusinessDay(date)).length
  const open: number[] = []
  const closed: number[] = []
  for (const ms of trace.visibleMs) {
    const date = calendar.londonDate(ms)
    const second = Math.min(DAY_S - 1, (ms - calendar.momentMs(date, 0)) / 1000)
    ;(calendar.isBusinessDay(date) ? open : closed).push(second)
  }
  return { open: spread(open, openDays), closed: spread(closed, dates.length - openDays) }
}

/** Mean counts by second of so many days with items at these seconds. */
function spread(itemsS: readonly number[], days: number): Float64Array {
  const rising = Float64Array.from(itemsS).sort()
  const neighbours = Math.max(LEAST_NEIGHBOURS, NEIGHBOURS_A_DAY * days)
  const at = (place: number): number => rising[place] ?? Number.POSITIVE_INFINITY
  const changes = new Float64Array(DAY_S + 2)
  let first = 0
  for (const item of rising) {
    while (at(first + neighbours) - item < item - at(first)) first += 1
    const last = Math.min(first + neighbours, rising.length) - 1
    const reach = Math.max(item - at(first), at(last) - item)
    const fromS = Math.max(1, Math.floor(item - reach) + 1)
    const toS = Math.min(DAY_S, Math.floor(item + reach) + 1)
    const share = 1 / (toS - fromS + 1) / days
    changes[fromS] = (changes[fromS] ?? 0) + share
    changes[toS + 1] = (changes[toS + 1] ?? 0) - share
  }
  let items = 0
  return changes.map((change) => {
    items += change
    return items > NOTHING ? items : 0
  })
}

/** What is expected in a range of days: on each of its dates the typical day of that kind. */
export interface Expected extends Arrivals {
  fromMs: number
  toMs: number
  /** Sum of `items`. */
  all: number
}

/**
 * The expected arrivals of a range that is whole seconds long, in seconds since its start. The last ones, of no items,
 * are at its end, so that every timetable has a poll there and finds everything.
 */
export function expectedArrivals(
  days: TypicalDays,
  calendar: Calendar,
  range: { fromMs: number; toMs: number },
): Expected {
  const lastS = (range.toMs - range.fromMs) / 1000
  const atS: number[] = []
  const items: number[] = []
  let all = 0
  for (const date of datesOf(range.fromMs, range.toMs, calendar)) {
    const midnightS = (calendar.momentMs(date, 0) - range.fromMs) / 1000
    const day = days[calendar.isBusinessDay(date) ? 'open' : 'closed']
    for (const [second, count] of day.entries()) {
      const at = midnightS + second
      // A spring night has no 25th hour, and a range that begins or ends inside a day has none of its other part.
      if (count === 0 || at <= (atS.at(-1) ?? 0) || at > lastS) continue
      atS.push(at)
      items.push(count)
      all += count
    }
  }
  if ((atS.at(-1) ?? 0) < lastS) {
    atS.push(lastS)
    items.push(0)
  }
  return { ...range, atS, items, all }
}

/**
 * Mean delay of what is expected, seconds, with polls at these moments, rising, each moved to the end of its second, and
 * one more at the end of the range.
 */
export function expectedMean(expected: Expected, pollsMs: readonly number[]): number {
  const { fromMs, toMs, all } = expected
  const pollsS = [...pollsMs, toMs].map((ms) => Math.ceil((ms - fromMs) / 1000))
  return delayOf(expected, pollsS) / all + HALF_A_SECOND
}

/** Moments, the end of the range among them, and mean delay, seconds, of the best timetable of whole seconds. */
export interface Best {
  pollsMs: number[]
  mean: number
}

/**
 * The least `expectedMean` of all sets of at most `polls` polls: no policy, however clever, places its own better. Where
 * no price gives exactly as many polls it has a few more, which makes it no worse.
 */
export function bestOf(expected: Expected, polls: number): Best {
  const { pollsS, delay } = bestTimetable(expected, polls + 1)
  return {
    pollsMs: pollsS.map((second) => expected.fromMs + second * 1000),
    mean: delay / expected.all + HALF_A_SECOND,
  }
}

/**
 * How many times the optimum a mean delay is.
 * @throws Error where it is below: then the optimum is none, and nothing may be judged by it
 */
export function timesOptimum(mean: number, optimum: number): number {
  if (mean < optimum * (1 - ROUNDING)) {
    throw new Error(`a mean delay of ${mean} s is below ${optimum} s, which is said to be the optimum`)
  }
  return mean / optimum
}

/**
 * Least mean delay, seconds, of what was found, with this many polls at any moments: every item is known in advance.
 * `foundMs`: when each item of the trace was found.
 */
export function foresightMean(
  { visibleMs }: Trace,
  foundMs: Float64Array,
  polls: number,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): number {
  const counts = new Map<number, number>()
  let all = 0
  for (let item = placeOf(visibleMs, fromMs); item < placeOf(visibleMs, toMs); item++) {
    if (foundMs[item] === Number.POSITIVE_INFINITY) continue
    const at = ((visibleMs[item] ?? 0) - fromMs) / 1000
    counts.set(at, (counts.get(at) ?? 0) + 1)
    all += 1
  }
  return bestTimetable({ atS: [...counts.keys()], items: [...counts.values()] }, polls).delay / all
}

/** London's dates from one moment to before another, of a range that begins at or near a midnight. */
function datesOf(fromMs: number, toMs: number, calendar: Calendar): string[] {
  const dates: string[] = []
  for (let ms = fromMs + DAY_MS / 2; ms < toMs; ms += DAY_MS) dates.push(calendar.londonDate(ms))
  return dates
}
