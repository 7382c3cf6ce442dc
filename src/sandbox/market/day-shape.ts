/**
 * Chooses the seconds of the London day at which items appear: a usual day, a burst, random or even spacing.
 */
import { intensity } from '../../core/calendar/intensity.ts'
import type { SeededChance } from '../../core/chance.ts'
import { parseSecondOfDay } from './london.ts'

/** RNS items of a usual business day. */
export const USUAL_DAY_ITEMS = 1_900

/** A range of seconds of the day, both ends included. */
interface SecondRange {
  first: number
  last: number
}

/** The range between two times of day, `HH:MM:SS`. */
export function secondRange(from: string, to: string): SecondRange {
  return { first: parseSecondOfDay(from), last: parseSecondOfDay(to) }
}

/** First and last second of the two bursts, as counted: companies at 07:00, fund values at 07:10. */
export const openBurst = secondRange('07:00:01', '07:00:09')
export const fundBurst = secondRange('07:10:01', '07:10:10')
/** Fraction of items in the minute of 07:00 that fall inside the burst. */
const OPEN_BURST_SHARE = 0.95
const SHARES_TOTAL = intensity.reduce((sum, [, , share]) => sum + share, 0)

/** Returns the seconds of exactly `items` items, distributed as on a usual day, ascending. */
export function usualDay(items: number, chance: SeededChance): number[] {
  let shares = 0
  let placed = 0
  const seconds = intensity.flatMap(([start, end, share]) => {
    shares += share
    const count = Math.round((items * shares) / SHARES_TOTAL) - placed
    placed += count
    return slotsOf({ first: start * 60, last: end * 60 - 1 }, count, chance)
  })
  return seconds.sort((left, right) => left - right)
}

function slotsOf(minutes: SecondRange, count: number, chance: SeededChance): number[] {
  if (minutes.first === fundBurst.first - 1) return burst(fundBurst, count, chance)
  if (minutes.first !== openBurst.first - 1) return scattered(minutes, count, chance)
  const inside = Math.round(count * OPEN_BURST_SHARE)
  const after = { first: openBurst.last + 1, last: minutes.last }
  return [...burst(openBurst, inside, chance), ...scattered(after, count - inside, chance)]
}

/** Spreads `count` items over a few seconds: about the same number in each, varied by up to a third. */
export function burst(range: SecondRange, count: number, chance: SeededChance): number[] {
  const weights = Array.from({ length: range.last - range.first + 1 }, () => 0.67 + chance.next() * 0.66)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  let reached = 0
  let placed = 0
  return weights.flatMap((weight, index) => {
    reached += weight
    const share = Math.round((count * reached) / total) - placed
    placed += share
    return Array.from({ length: share }, () => range.first + index)
  })
}

/** Places `count` items at random within a range, ascending. */
export function scattered(range: SecondRange, count: number, chance: SeededChance): number[] {
  const seconds = Array.from({ length: count }, () => chance.between(range.first, range.last))
  return seconds.sort((left, right) => left - right)
}

/** Places `count` items at even distances over a range, ascending. */
export function even(range: SecondRange, count: number): number[] {
  const step = (range.last - range.first) / Math.max(1, count - 1)
  return Array.from({ length: count }, (_, index) => Math.floor(range.first + index * step))
}
