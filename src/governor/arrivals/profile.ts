/**
 * What we believe of when items arrive: a London business day in five-minute slots, with the seconds of its sharp minutes,
 * the weekdays, the month's first business day, the closed days. Owns the shape and the first belief. Refuses to learn
 * (`learning.ts`) and to look ahead (`forecast.ts`). Plain JSON of at most some 12 KB: it lives in the log's state.
 */
import { intensity } from '../../core/calendar/intensity.ts'

/** Seconds of a slot. */
export const SLOT_S = 300
const SLOTS = 86_400 / SLOT_S
/** Items of a usual business day on this wire; the estimate until arrivals have been learnt. */
export const ITEMS_A_DAY = 1900
/** Items of a closed day before anything is learnt: a guess, there are none on bank holidays. */
const ITEMS_A_CLOSED_DAY = 2
/** The first belief counts as much as so many days of one's own. */
const FIRST_DAYS = 0.7
/** The highest day of a month is its first business day: 2,710 items where 2,280 are usual. */
const MONTH_FIRST_FACTOR = 1.19
/** Share of a burst's minute that comes within its seconds. */
const BURST_SHARE = 0.95
/** The minutes of the two bursts, and the seconds in which their items come: the first slips by 1 to 5 s. */
const BURSTS = [
  { minute: 420, firstS: 2, lastS: 13 },
  { minute: 430, firstS: 1, lastS: 10 },
] as const

/**
 * A Gamma–Poisson belief: what was seen, and over how much. Their quotient is what is expected of one whole.
 * For a slot, `over` is in days; for a factor, in items that were expected without it.
 */
export type Belief = readonly [seen: number, over: number]

/** A minute of the business day whose seconds are told apart, because many items come within few of them. */
export interface SharpMinute {
  minuteOfDay: number
  /** Days watched, as in a belief. */
  days: number
  /** Items seen in each of its sixty seconds. */
  seen: readonly number[]
}

/** Times of day are London's, of the moments in which items became visible. */
export interface Profile {
  /** Business days: each slot without its sharp minutes. */
  slots: readonly Belief[]
  /** In the order of the day. */
  sharp: readonly SharpMinute[]
  /** A whole closed day. */
  closed: Belief
  /** Factors of the business days, Monday to Friday. */
  weekdays: readonly Belief[]
  /** Factor of the month's first business day. */
  monthFirst: Belief
  /**
   * By how much the newest item of the latest polls was older than the poll before, ms, oldest first: 0 where items show
   * at once, more where the plan shows them late.
   */
  lagsMs: readonly number[]
  /** End of the time that it has learnt from last, by upstream's clock, ms since 1970; 0 before. */
  learntToMs: number
}

/** The belief that the shipped table of a day gives. */
export function firstProfile(): Profile {
  const total = intensity.reduce((sum, [, , share]) => sum + share, 0)
  const seen = new Array<number>(SLOTS).fill(0)
  const sharp: SharpMinute[] = []
  for (const [startMinute, endMinute, share] of intensity) {
    const items = (ITEMS_A_DAY * share) / total
    const isSharp = endMinute - startMinute === 1 && items >= SHARP_ITEMS
    if (isSharp) sharp.push(firstSharp(startMinute, items))
    else spread(seen, startMinute, endMinute, items)
  }
  const slots = seen.map((items, slot): Belief => {
    const open = SLOT_S - 60 * sharp.filter(({ minuteOfDay }) => slotOf(minuteOfDay) === slot).length
    return [items * FIRST_DAYS, Math.max(FIRST_DAYS * (open / SLOT_S), 0.01)]
  })
  return {
    slots,
    sharp,
    closed: [ITEMS_A_CLOSED_DAY * FIRST_DAYS, FIRST_DAYS],
    weekdays: Array.from({ length: 5 }, (): Belief => [ITEMS_A_DAY * 2, ITEMS_A_DAY * 2]),
    monthFirst: [ITEMS_A_DAY * MONTH_FIRST_FACTOR, ITEMS_A_DAY],
    lagsMs: [],
    learntToMs: 0,
  }
}

/** A minute that brings so many items a day is sharp. */
export const SHARP_ITEMS = 8

/** The slot of a minute of the day. */
export function slotOf(minuteOfDay: number): number {
  return Math.floor((minuteOfDay * 60) / SLOT_S)
}

function firstSharp(minuteOfDay: number, items: number): SharpMinute {
  const burst = BURSTS.find((known) => known.minute === minuteOfDay)
  const seen = Array.from({ length: 60 }, (_, second) => {
    if (burst === undefined) return (items * FIRST_DAYS) / 60
    const length = burst.lastS - burst.firstS + 1
    const inside = second >= burst.firstS && second <= burst.lastS
    const share = inside ? BURST_SHARE / length : (1 - BURST_SHARE) / (60 - length)
    return items * FIRST_DAYS * share
  })
  return { minuteOfDay, days: FIRST_DAYS, seen }
}

/** Shares items out evenly over the slots of a stretch of minutes. */
function spread(seen: number[], startMinute: number, endMinute: number, items: number): void {
  const each = items / (endMinute - startMinute)
  for (let minute = startMinute; minute < endMinute; minute++) {
    const slot = slotOf(minute)
    seen[slot] = (seen[slot] ?? 0) + each
  }
}
