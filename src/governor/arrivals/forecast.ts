/**
 * What is expected to arrive from a moment on: the profile laid over the calendar, day by day. Owns that projection and its
 * sums; pure. Refuses to know budgets and polls.
 */
import type { Calendar } from '../../core/calendar/calendar.ts'
import { expected, factorOf, type LondonDay, londonDayOf, momentIn, secondIn } from './day-kind.ts'
import { type DayShape, endedAt, evenShape, openShapes, stretchAt } from './day-shape.ts'
import type { Profile } from './profile.ts'

/** A day of the outlook: its rates are the shape's × the factor. */
interface OutlookDay {
  day: LondonDay
  shape: DayShape
  factor: number
}

/** By upstream's clock, ms since 1970. */
export interface Outlook {
  fromMs: number
  toMs: number
  days: readonly OutlookDay[]
}

/** A time of constant rate. */
export interface Stretch {
  fromMs: number
  toMs: number
  /** Items a second. */
  rate: number
}

/** The outlook over [fromMs, toMs), by upstream's clock. */
export type OutlookOf = (profile: Profile, fromMs: number, toMs: number) => Outlook

/** Outlooks on this calendar; of a profile that has changed a little, what has not changed is kept. */
export function outlooks(calendar: Calendar): OutlookOf {
  const openShape = openShapes()
  return (profile, fromMs, toMs) => {
    const open = openShape(profile)
    const closed = evenShape(expected(profile.closed))
    const days: OutlookDay[] = []
    for (
      let day = londonDayOf(calendar, fromMs);
      day.startMs < toMs;
      day = londonDayOf(calendar, day.endMs)
    ) {
      if (!day.isOpen) days.push({ day, shape: closed, factor: 1 })
      else {
        const shape = calendar.isHalfDay(day.date) ? endedAt(open, day.releaseEndS) : open
        days.push({ day, shape, factor: factorOf(profile, day) })
      }
    }
    return { fromMs, toMs, days }
  }
}

/** Its stretches from the start on. */
export function* stretchesOf({ fromMs, toMs, days }: Outlook): Generator<Stretch> {
  let atMs = fromMs
  for (const { day, shape, factor } of days) {
    for (let place = stretchAt(shape, secondIn(day, atMs)); place < shape.endsS.length; place++) {
      const endMs = Math.min(toMs, momentIn(day, shape.endsS[place] ?? 86_400))
      if (endMs > atMs) yield { fromMs: atMs, toMs: endMs, rate: factor * (shape.rates[place] ?? 0) }
      atMs = Math.max(atMs, endMs)
    }
  }
}

/** Items expected from the start until a moment. */
export function itemsUntil(ahead: Outlook, untilMs: number): number {
  return sumUntil(ahead, untilMs, ({ items }) => items, 1)
}

/** Seconds × √rate from the start until a moment. */
export function rootsUntil(ahead: Outlook, untilMs: number): number {
  return sumUntil(ahead, untilMs, ({ roots }) => roots, 0.5)
}

/** Every stretch until a moment, fast: how many seconds, at how many items a second. */
export function eachRate(
  { fromMs, days }: Outlook,
  untilMs: number,
  visit: (seconds: number, rate: number) => void,
): void {
  for (const { day, shape, factor } of days) {
    if (day.startMs >= untilMs) break
    const fromS = secondIn(day, Math.max(fromMs, day.startMs))
    const toS = untilMs >= day.endMs ? 86_400 : secondIn(day, untilMs)
    let startS = fromS
    for (let place = stretchAt(shape, fromS); startS < toS && place < shape.endsS.length; place++) {
      const endS = Math.min(toS, shape.endsS[place] ?? 86_400)
      visit(endS - startS, factor * (shape.rates[place] ?? 0))
      startS = endS
    }
  }
}

/** The highest rate of any stretch, items a second. */
export function highestRate({ days }: Outlook): number {
  return days.reduce((highest, { shape, factor }) => Math.max(highest, factor * shape.highestRate), 0)
}

/** `power`: how the sums go with the factor of a day. */
function sumUntil(
  { fromMs, days }: Outlook,
  untilMs: number,
  sumsOf: (shape: DayShape) => ArrayLike<number>,
  power: number,
): number {
  let sum = 0
  for (const { day, shape, factor } of days) {
    if (day.startMs >= untilMs) break
    const before = Math.max(fromMs, day.startMs)
    const part =
      sumAt(shape, sumsOf(shape), untilMs >= day.endMs ? 86_400 : secondIn(day, untilMs)) -
      sumAt(shape, sumsOf(shape), secondIn(day, before))
    sum += factor ** power * part
  }
  return sum
}

function sumAt(shape: DayShape, sums: ArrayLike<number>, second: number): number {
  const place = stretchAt(shape, second)
  const [startS, endS] = [shape.endsS[place - 1] ?? 0, shape.endsS[place] ?? 86_400]
  const [before, after] = [sums[place - 1] ?? 0, sums[place] ?? 0]
  return before + ((after - before) * (second - startS)) / (endS - startS)
}
