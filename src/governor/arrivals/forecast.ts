/**
 * Forecasts when items arrive over a time range, from the arrival profile (learnt item rates by time of day) and the London
 * business calendar.
 */
import type { Calendar } from '../../core/calendar/calendar.ts'
import { closedDayShape, createBusinessDays, type DayShape, segmentAt, truncatedShape } from './day-shape.ts'
import { dayFactor, daySeen, type LondonDay, londonDayOf, momentOfDay, secondOfDay } from './london-day.ts'
import type { Profile } from './profile.ts'

/** One day of a forecast: the rates are those of `shape` times `factor`. */
interface ForecastDay {
  day: LondonDay
  shape: DayShape
  factor: number
}

/** Expected arrivals over [fromMs, toMs), by upstream's clock, ms since 1970. */
export interface Forecast {
  fromMs: number
  toMs: number
  days: readonly ForecastDay[]
}

/** A period of constant rate. */
export interface RatePeriod {
  fromMs: number
  toMs: number
  /** Items a second. */
  rate: number
}

/** Returns the forecast over [fromMs, toMs), by upstream's clock, ms since 1970. */
export type Forecaster = (profile: Profile, fromMs: number, toMs: number) => Forecast

/** Creates a forecaster on this calendar; it recomputes only what a new profile changes. */
export function createForecaster(calendar: Calendar): Forecaster {
  const businessDayShape = createBusinessDays()
  return (profile, fromMs, toMs) => {
    const open = businessDayShape(profile)
    const closed = closedDayShape(profile)
    const days: ForecastDay[] = []
    let day = daySeen(profile, londonDayOf(calendar, fromMs))
    for (; day.startMs < toMs; day = daySeen(profile, londonDayOf(calendar, day.endMs))) {
      const factor = day.isOpen ? dayFactor(profile, day) : 1
      const usual = day.isOpen ? open : closed
      const shape = day.isOpen && calendar.isHalfDay(day.date) ? truncatedShape(open, day.releaseEndS) : usual
      days.push({ day, shape, factor })
    }
    return { fromMs, toMs, days }
  }
}

/** The forecast's periods of constant rate, in order. */
export function* ratePeriods({ fromMs, toMs, days }: Forecast): Generator<RatePeriod> {
  let atMs = fromMs
  for (const { day, shape, factor } of days) {
    for (let index = segmentAt(shape, secondOfDay(day, atMs)); index < shape.endsS.length; index++) {
      const endMs = Math.min(toMs, momentOfDay(day, shape.endsS[index] ?? 86_400))
      if (endMs > atMs) yield { fromMs: atMs, toMs: endMs, rate: factor * (shape.rates[index] ?? 0) }
      atMs = Math.max(atMs, endMs)
    }
  }
}

/** Items expected from the start until a moment. */
export function itemsUntil(forecast: Forecast, untilMs: number): number {
  return sumUntil(forecast, untilMs, ({ items }) => items, 1)
}

/** Seconds × √rate from the start until a moment. */
export function rootsUntil(forecast: Forecast, untilMs: number): number {
  return sumUntil(forecast, untilMs, ({ roots }) => roots, 0.5)
}

/** Visits every period until a moment: its seconds and its items a second. Faster than `ratePeriods`. */
export function eachRate(
  { fromMs, days }: Forecast,
  untilMs: number,
  visit: (seconds: number, rate: number) => void,
): void {
  for (const { day, shape, factor } of days) {
    if (day.startMs >= untilMs) break
    let startS = secondOfDay(day, Math.max(fromMs, day.startMs))
    const toS = untilMs >= day.endMs ? 86_400 : secondOfDay(day, untilMs)
    for (let index = segmentAt(shape, startS); startS < toS && index < shape.endsS.length; index++) {
      const endS = Math.min(toS, shape.endsS[index] ?? 86_400)
      visit(endS - startS, factor * (shape.rates[index] ?? 0))
      startS = endS
    }
  }
}

/** The highest rate of any period, items a second. */
export function highestRate({ days }: Forecast): number {
  return days.reduce((highest, { shape, factor }) => Math.max(highest, factor * shape.highestRate), 0)
}

/** `power`: how the sums scale with the factor of a day. */
function sumUntil(
  { fromMs, days }: Forecast,
  untilMs: number,
  sumsOf: (shape: DayShape) => ArrayLike<number>,
  power: number,
): number {
  let sum = 0
  for (const { day, shape, factor } of days) {
    if (day.startMs >= untilMs) break
    const sums = sumsOf(shape)
    const fromS = secondOfDay(day, Math.max(fromMs, day.startMs))
    const toS = untilMs >= day.endMs ? 86_400 : secondOfDay(day, untilMs)
    sum += factor ** power * (sumAt(shape, sums, toS) - sumAt(shape, sums, fromS))
  }
  return sum
}

function sumAt(shape: DayShape, sums: ArrayLike<number>, second: number): number {
  const index = segmentAt(shape, second)
  const [startS, endS] = [shape.endsS[index - 1] ?? 0, shape.endsS[index] ?? 86_400]
  const [before, after] = [sums[index - 1] ?? 0, sums[index] ?? 0]
  return before + ((after - before) * (second - startS)) / (endS - startS)
}
