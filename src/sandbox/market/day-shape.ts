/**
 * When the items of a day appear, to the second: the intensity table with its two bursts, and the plain shapes that
 * scenarios are made of. Owns seconds of the London day. Refuses to know what is published.
 */

import { intensity } from '../../core/calendar/intensity.ts'
import type { SeededChance } from '../../core/chance.ts'
import { parseSecondOfDay } from './london.ts'

/** RNS items of a usual business day. */
export const USUAL_DAY_ITEMS = 1_900

/** First and last second of the two bursts, as counted: companies at 07:00, fund values at 07:10. */
export const openBurst = { first: parseSecondOfDay('07:00:01'), last: parseSecondOfDay('07:00:09') }
export const fundBurst = { first: parseSecondOfDay('07:10:01'), last: parseSecondOfDay('07:10:10') }
/** Part of the first burst's minute that is inside the burst. */
const OPEN_BURST_SHARE = 0.95
const SHARES_TOTAL = intensity.reduce((sum, [, , share]) => sum + share, 0)

/** A stretch of the day in seconds, both ends included. */
export interface Stretch {
  first: number
  last: number
}

/** Seconds of the day of `items` items spread as on a usual day, rising. Exactly that many. */
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

function slotsOf(minutes: Stretch, count: number, chance: SeededChance): number[] {
  if (minutes.first === fundBurst.first - 1) return burst(fundBurst, count, chance)
  if (minutes.first !== openBurst.first - 1) return scattered(minutes, count, chance)
  const inside = Math.round(count * OPEN_BURST_SHARE)
  const after = { first: openBurst.last + 1, last: minutes.last }
  return [...burst(openBurst, inside, chance), ...scattered(after, count - inside, chance)]
}

/** `count` items in a stretch of a few seconds: about the same in each, by a third more or less. */
export function burst(stretch: Stretch, count: number, chance: SeededChance): number[] {
  const weights = Array.from({ length: stretch.last - stretch.first + 1 }, () => 0.67 + chance.next() * 0.66)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  let reached = 0
  let placed = 0
  return weights.flatMap((weight, index) => {
    reached += weight
    const share = Math.round((count * reached) / total) - placed
    placed += share
    return Array.from({ length: share }, () => stretch.first + index)
  })
}

/** `count` items anywhere in a stretch, rising. */
export function scattered(stretch: Stretch, count: number, chance: SeededChance): number[] {
  const seconds = Array.from({ length: count }, () => chance.between(stretch.first, stretch.last))
  return seconds.sort((left, right) => left - right)
}

/** `count` items at even distances over a stretch, rising. */
export function even(stretch: Stretch, count: number): number[] {
  const step = (stretch.last - stretch.first) / Math.max(1, count - 1)
  return Array.from({ length: count }, (_, index) => Math.floor(stretch.first + index * step))
}
