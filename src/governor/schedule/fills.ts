/**
 * What fills are expected to cost: a burst of more than a page overflows the poll that meets it, and its fill reads it again,
 * with the margin before it. Owns that estimate; pure. Refuses to pay, and to know what was paid before.
 */
import { momentIn } from '../arrivals/day-kind.ts'
import { type DayShape, openShapes } from '../arrivals/day-shape.ts'
import type { Outlook } from '../arrivals/forecast.ts'
import { firstProfile } from '../arrivals/profile.ts'

/** So many items a second are a burst: outside the two of the morning never more than 45 a minute came. */
const BURST_RATE = 1.5
/** Bursts nearer to each other than this are one: no poll lies between them. */
const NEAR_S = 60
/** A fill begins so long before the poll that came before the burst, and that poll some way before it. */
const READ_BEFORE_S = 20 * 60
const BUSINESS_DAYS = 5
/** Fills are paid for by what is expected of them, and so much more. */
const MARGIN = 1.1
/** As a share of the weekly quota, kept beside them for gaps that are tried again. */
const RETRY_SHARE = 0.03
/** Of the weekly quota, the most that fills may take: where they cost more, gaps stay open. */
export const MOST_FILL_SHARE = 0.5

/** A fill that is expected. */
export interface ExpectedFill {
  /** When it begins, by upstream's clock, ms since 1970. */
  atMs: number
  units: number
  /** True where the polls that the pace makes are too few to part the burst into pages. */
  isSure: boolean
}

/** A burst of a usual day, as seconds of the day. */
interface Burst {
  endS: number
  /** Of it alone. */
  items: number
  /** Of it and of what its fill reads before it. */
  read: number
  /** Seconds × √rate. */
  roots: number
}

/** The fills of the outlook if every burst of more than a page needs one, in the order of time. `pace` as in `rate-solver.ts`. */
export function expectedFills(
  { fromMs, toMs, days }: Outlook,
  { pageSize, pace }: { pageSize: number; pace: number },
): ExpectedFill[] {
  const known = new Map<DayShape, Burst[]>()
  return days.flatMap(({ day, shape, factor }) => {
    const bursts = known.get(shape) ?? burstsOf(shape)
    known.set(shape, bursts)
    return bursts
      .map((burst) => ({
        atMs: momentIn(day, burst.endS),
        units: unitsOf(burst, factor, pageSize),
        isSure: burst.items * factor > pageSize * (1 + pace * Math.sqrt(factor) * burst.roots),
      }))
      .filter(({ atMs, units }) => units > 0 && atMs > fromMs && atMs <= toMs)
  })
}

/** Of the weekly quota, what the fills and retried gaps of a usual week take, by the shipped table; above 1 possible. */
export function usualFillShare({ weeklyQuota, pageSize }: { weeklyQuota: number; pageSize: number }): number {
  const bursts = burstsOf(openShapes()(firstProfile()))
  const aDay = bursts.reduce((sum, burst) => sum + unitsOf(burst, 1, pageSize), 0)
  return (BUSINESS_DAYS * aDay * MARGIN) / weeklyQuota + RETRY_SHARE
}

function unitsOf({ items, read }: Burst, factor: number, pageSize: number): number {
  return items * factor <= pageSize ? 0 : Math.ceil((read * factor) / pageSize)
}

function burstsOf({ endsS, rates, items: itemsTo }: DayShape): Burst[] {
  const bursts: { firstS: number; endS: number; items: number; roots: number; itemsTo: number }[] = []
  for (let place = 0; place < rates.length; place++) {
    const rate = rates[place] ?? 0
    if (rate < BURST_RATE) continue
    const startS = endsS[place - 1] ?? 0
    const endS = endsS[place] ?? 86_400
    const last = bursts.at(-1)
    const burst =
      last !== undefined && startS - last.endS < NEAR_S
        ? last
        : { firstS: startS, endS, items: 0, roots: 0, itemsTo: 0 }
    if (burst !== last) bursts.push(burst)
    burst.endS = endS
    burst.items += (endS - startS) * rate
    burst.roots += (endS - startS) * Math.sqrt(rate)
    burst.itemsTo = itemsTo[place] ?? 0
  }
  return bursts.map(({ firstS, endS, items, roots, itemsTo: toEnd }) => {
    return { endS, items, roots, read: toEnd - itemsBefore({ endsS, itemsTo }, firstS - READ_BEFORE_S) }
  })
}

/** Items from midnight to the end of the last stretch that ends by that second. */
function itemsBefore(
  { endsS, itemsTo }: { endsS: ArrayLike<number>; itemsTo: ArrayLike<number> },
  second: number,
): number {
  let items = 0
  for (let place = 0; place < endsS.length && (endsS[place] ?? 0) <= second; place++)
    items = itemsTo[place] ?? 0
  return items
}
