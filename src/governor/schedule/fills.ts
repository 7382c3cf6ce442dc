/**
 * Estimates how many quota units fills will cost. A fill is needed when a burst brings more items than one page of a poll
 * can hold: the fill reads them page by page.
 */
import { BUSINESS_DAYS_A_WEEK } from '../../core/durations.ts'
import { createBusinessDays, type DayShape, segmentAt } from '../arrivals/day-shape.ts'
import type { Forecast } from '../arrivals/forecast.ts'
import { momentOfDay } from '../arrivals/london-day.ts'
import { firstProfile } from '../arrivals/profile.ts'

/** Items a second that make a burst; outside the two of the morning at most 45 a minute were counted. */
const BURST_RATE = 1.5
/** Bursts closer together than this count as one: no poll fits between them. */
const NEAR_S = 60
/** A fill re-reads what arrived this long before the burst: its margin, and the time since the previous poll. */
const READ_BEFORE_S = 20 * 60
/** Units reserved for fills, as a multiple of what is expected. */
const MARGIN = 1.1
/** Share of the weekly quota reserved beside them for gaps that are tried again. */
const RETRY_SHARE = 0.03
/** Largest share of the weekly quota for fills; where they cost more, gaps stay open. */
export const MOST_FILL_SHARE = 0.5

/** A fill that the forecast expects. */
export interface ExpectedFill {
  /** When it begins, by upstream's clock, ms since 1970. */
  atMs: number
  units: number
}

/** A burst of a usual day. */
interface Burst {
  /** Second of the day at which it ends. */
  endS: number
  items: number
  /** Items that its fill reads: the burst and what came before it. */
  read: number
}

/** The fills of a forecast, in the order of time, if every burst of more than a page needs one. */
export function expectedFills({ fromMs, toMs, days }: Forecast, pageSize: number): ExpectedFill[] {
  const known = new Map<DayShape, Burst[]>()
  return days.flatMap(({ day, shape, factor }) => {
    const bursts = known.get(shape) ?? burstsOf(shape)
    known.set(shape, bursts)
    return bursts
      .map((burst) => ({ atMs: momentOfDay(day, burst.endS), units: fillUnits(burst, factor, pageSize) }))
      .filter(({ atMs, units }) => units > 0 && atMs > fromMs && atMs <= toMs)
  })
}

/** Share of the weekly quota that fills and retried gaps take in a usual week by the shipped table; may exceed 1. */
export function usualFillShare({ weeklyQuota, pageSize }: { weeklyQuota: number; pageSize: number }): number {
  const bursts = burstsOf(createBusinessDays()(firstProfile()))
  const aDay = bursts.reduce((sum, burst) => sum + fillUnits(burst, 1, pageSize), 0)
  return (BUSINESS_DAYS_A_WEEK * aDay * MARGIN) / weeklyQuota + RETRY_SHARE
}

function fillUnits({ items, read }: Burst, factor: number, pageSize: number): number {
  return items * factor <= pageSize ? 0 : Math.ceil((read * factor) / pageSize)
}

function burstsOf(shape: DayShape): Burst[] {
  const { endsS, rates, items } = shape
  const bursts: { firstS: number; endS: number; items: number; itemsAtEnd: number }[] = []
  for (let index = 0; index < rates.length; index++) {
    const rate = rates[index] ?? 0
    if (rate < BURST_RATE) continue
    const startS = endsS[index - 1] ?? 0
    const endS = endsS[index] ?? 86_400
    let burst = bursts.at(-1)
    if (burst === undefined || startS - burst.endS >= NEAR_S) {
      burst = { firstS: startS, endS, items: 0, itemsAtEnd: 0 }
      bursts.push(burst)
    }
    burst.endS = endS
    burst.items += (endS - startS) * rate
    burst.itemsAtEnd = items[index] ?? 0
  }
  return bursts.map(({ firstS, endS, items: own, itemsAtEnd }) => {
    const itemsBefore = items[segmentAt(shape, firstS - READ_BEFORE_S) - 1] ?? 0
    return { endS, items: own, read: itemsAtEnd - itemsBefore }
  })
}
