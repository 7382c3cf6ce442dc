/**
 * Defines the scenario type, its defaults, and helpers that most scenarios share.
 */
import { type SeededChance, seededChance } from '../../core/chance.ts'
import type { ScheduledFault } from '../faults/fault-schedule.ts'
import { even, USUAL_DAY_ITEMS, usualDay } from './day-shape.ts'
import { usualHistory } from './issuer-history.ts'
import type { Issuers } from './issuers.ts'
import { type Draft, draftDay } from './item-template.ts'
import { isHalfDay, parseSecondOfDay } from './london.ts'
import { disappearances, type Happening, publications } from './market-events.ts'

/** Source from which scenarios generate items. */
export interface MarketSeed {
  seed: number
  issuers: Issuers
}

/** A scenario. Times are London's, `HH:MM:SS` on `day`; hours from 24 on belong to the following days. */
export interface Scenario {
  /** One-line description. */
  meaning: string
  /** The first day, `YYYY-MM-DD`. */
  day: string
  /** When the clock starts. */
  start: string
  /** Items of the previous business day, which a backfill may read. */
  backlog: number
  /** Quiet periods that the clock skips, in order. */
  skips: readonly { from: string; to: string }[]
  /** True = usual days follow the first one. */
  goesOn: boolean
  /** Faults that the market clock switches on and off. */
  faults: readonly ScheduledFault[]
  /** How long documents answer 404 after their item became visible, milliseconds of market time. */
  documentsAfterMs: number
  /** Derives the market's issuers from those that the seed gives. */
  cast: (issuers: Issuers, market: { seed: number; day: string }) => Issuers
  /** Events before the business day of the backlog. */
  earlier: (market: MarketSeed, day: string) => Happening[]
  /** All events from the start on; may include the following days. */
  firstDay: (market: MarketSeed, day: string) => Happening[]
}

/** Defaults of most scenarios: a Tuesday in winter, when London is on UTC, from 10:00 on. */
export const plain: Omit<Scenario, 'meaning' | 'firstDay'> = Object.freeze({
  day: '2026-02-03',
  start: '10:00:00',
  backlog: 20,
  skips: [],
  goesOn: false,
  faults: [],
  documentsAfterMs: 0,
  cast: usualHistory,
  earlier: () => [],
})

/** Generates a usual day in which replaced items disappear. A half day ends at 13:30. */
export function normalDay(market: MarketSeed, day: string, items: number = USUAL_DAY_ITEMS): Happening[] {
  const seconds = usualDay(items, chanceOf(market, day))
  const end = isHalfDay(day) ? parseSecondOfDay('13:30') : parseSecondOfDay('24:00')
  const published = publications(
    draftDay(
      market,
      day,
      seconds.filter((second) => second < end),
    ),
  )
  return [...published, ...disappearances(published)]
}

/** Generates `items` item templates at even distances from one time to another, both included. */
export function evenDrafts(
  market: MarketSeed,
  day: string,
  { from, to, items }: { from: string; to: string; items: number },
): Draft[] {
  return draftDay(market, day, even({ first: parseSecondOfDay(from), last: parseSecondOfDay(to) }, items))
}

/** Creates the random source for one day. */
export function chanceOf(market: MarketSeed, day: string): SeededChance {
  return seededChance(market.seed ^ Math.floor(Date.parse(day) / 1000))
}
