/**
 * Defines the arrival profile, the learnt rates at which items arrive upstream by time of day, and its initial value from a
 * shipped table. The log stores the profile as JSON of at most some 12 KB, so its member names are fixed.
 */
import { intensity } from '../../core/calendar/intensity.ts'

/** Seconds per slot. */
export const SLOT_S = 300
const SLOTS = 86_400 / SLOT_S
/** Items of a usual business day on this wire; the estimate until arrivals have been learnt. */
export const ITEMS_A_DAY = 1900
/** Items of a closed day before anything is learnt: a guess; bank holidays have none. */
const ITEMS_A_CLOSED_DAY = 2
/** Weight of the initial profile, in days of observation. */
const INITIAL_DAYS = 0.7
/** The first business day of a month is its busiest: 2,710 items where 2,280 are usual. */
const MONTH_FIRST_FACTOR = 1.19
/** Share of a burst minute's items that arrive within its burst seconds. */
const BURST_SHARE = 0.95
/** The two bursts: minute of the day, and the seconds in which their items arrive; the first starts 1 to 5 s late. */
const BURSTS = [
  { minute: 420, firstS: 2, lastS: 13 },
  { minute: 430, firstS: 1, lastS: 10 },
] as const

/**
 * A Gamma–Poisson belief: items seen over an exposure; the quotient is the expected value. The exposure of a slot is in
 * days, that of a factor in items expected without it.
 */
export type Belief = readonly [seen: number, over: number]

/** A minute of the business day that is modelled second by second, because many items arrive within a few of them. */
export interface BurstMinute {
  minuteOfDay: number
  /** Exposure in days, as in a belief. */
  days: number
  /** Items seen in each of its sixty seconds. */
  seen: readonly number[]
}

/** When items become visible, by London's time of day. */
export interface Profile {
  /** Business days by slot, burst minutes excluded. */
  slots: readonly Belief[]
  /** Burst minutes, in the order of the day. */
  sharp: readonly BurstMinute[]
  /** A whole closed day. */
  closed: Belief
  /** The last weekday that the calendar calls closed and on which so many items came that the market is open; absent: none. */
  openDate?: string
  /** Factors of the business days, Monday to Friday. */
  weekdays: readonly Belief[]
  /** Factor of the month's first business day. */
  monthFirst: Belief
  /**
   * For each of the latest polls, how much older its newest item was than the previous poll, ms, oldest first: 0 where
   * items are visible at once, more where the plan delays them.
   */
  lagsMs: readonly number[]
  /** End of the last observation, by upstream's clock, ms since 1970; 0 before the first. */
  learntToMs: number
}

/** The initial profile, from the shipped table of a day. */
export function firstProfile(): Profile {
  const total = intensity.reduce((sum, [, , share]) => sum + share, 0)
  const seen = new Array<number>(SLOTS).fill(0)
  const sharp: BurstMinute[] = []
  for (const [startMinute, endMinute, share] of intensity) {
    const items = (ITEMS_A_DAY * share) / total
    const isBurst = endMinute - startMinute === 1 && items >= BURST_ITEMS
    if (isBurst) sharp.push(initialBurst(startMinute, items))
    else spread(seen, startMinute, endMinute, items)
  }
  const slots = seen.map((items, slot): Belief => {
    const open = SLOT_S - 60 * sharp.filter(({ minuteOfDay }) => slotOf(minuteOfDay) === slot).length
    return [items * INITIAL_DAYS, Math.max(INITIAL_DAYS * (open / SLOT_S), 0.01)]
  })
  return {
    slots,
    sharp,
    closed: [ITEMS_A_CLOSED_DAY * INITIAL_DAYS, INITIAL_DAYS],
    weekdays: Array.from({ length: 5 }, (): Belief => [ITEMS_A_DAY * 2, ITEMS_A_DAY * 2]),
    monthFirst: [ITEMS_A_DAY * MONTH_FIRST_FACTOR, ITEMS_A_DAY],
    lagsMs: [],
    learntToMs: 0,
  }
}

/** Items a day from which a minute counts as a burst minute. */
export const BURST_ITEMS = 8

/** The slot that contains a minute of the day. */
export function slotOf(minuteOfDay: number): number {
  return Math.floor((minuteOfDay * 60) / SLOT_S)
}

function initialBurst(minuteOfDay: number, items: number): BurstMinute {
  const burst = BURSTS.find((known) => known.minute === minuteOfDay)
  const seen = Array.from({ length: 60 }, (_, second) => {
    if (burst === undefined) return (items * INITIAL_DAYS) / 60
    const length = burst.lastS - burst.firstS + 1
    const inside = second >= burst.firstS && second <= burst.lastS
    const share = inside ? BURST_SHARE / length : (1 - BURST_SHARE) / (60 - length)
    return items * INITIAL_DAYS * share
  })
  return { minuteOfDay, days: INITIAL_DAYS, seen }
}

/** Adds items evenly to the slots of a range of minutes. */
function spread(seen: number[], startMinute: number, endMinute: number, items: number): void {
  const each = items / (endMinute - startMinute)
  for (let minute = startMinute; minute < endMinute; minute++) {
    const slot = slotOf(minute)
    seen[slot] = (seen[slot] ?? 0) + each
  }
}
