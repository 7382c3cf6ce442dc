/**
 * Defines the type of a sandbox scenario, its defaults, and helpers that most scenarios share. A scenario sets which
 * items the invented market publishes, when, and with which faults.
 */
import { type SeededChance, seededChance } from '../../core/chance.ts'
import type { ScheduledFault } from '../faults/faults.ts'
import { even, secondRange, USUAL_DAY_ITEMS, usualDay } from './day-shape.ts'
import { usualHistory } from './issuer-history.ts'
import type { Issuers } from './issuers.ts'
import { type ItemTemplate, templatesOf } from './item-template.ts'
import { isHalfDay, parseSecondOfDay } from './london.ts'
import { type MarketEvent, type PublishEvent, publications, withDisappearances } from './market-events.ts'

/** Source from which scenarios generate items. */
export interface MarketSeed {
  seed: number
  issuers: Issuers
  /** Items of each usual day; default: as counted on the live service. */
  dayItems?: number | undefined
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
  earlier: (market: MarketSeed, day: string) => MarketEvent[]
  /** All events from the start on; may include the following days. */
  firstDay: (market: MarketSeed, day: string) => MarketEvent[]
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
export function normalDay(
  market: MarketSeed,
  day: string,
  items: number = market.dayItems ?? USUAL_DAY_ITEMS,
): MarketEvent[] {
  const end = parseSecondOfDay(isHalfDay(day) ? '13:30' : '24:00')
  const usual = atSeconds((chance) => usualDay(items, chance).filter((second) => second < end))
  return withDisappearances(usual(market, day))
}

type PublishDay = (market: MarketSeed, day: string) => PublishEvent[]
type ChangeTemplates = (templates: ItemTemplate[], market: MarketSeed, day: string) => void

/** Publishes an item at each of the seconds of the day. `change` may alter the item templates first. */
export function atSeconds(
  secondsOf: (chance: SeededChance) => readonly number[],
  change: ChangeTemplates = () => {},
): PublishDay {
  return (market, day) => {
    const templates = templatesOf(market, day, secondsOf(chanceOf(market, day)))
    change(templates, market, day)
    return publications(templates)
  }
}

/** Publishes `items` items at even distances from one time of day to another, both included. */
export function evenly(from: string, to: string, items: number, change?: ChangeTemplates): PublishDay {
  return atSeconds(() => even(secondRange(from, to), items), change)
}

/** Publishes `items` items at even distances within the first minute of most scenarios. */
export function minute(items: number, change?: ChangeTemplates): PublishDay {
  return evenly('10:00:02', '10:01:00', items, change)
}

/** Creates the random source for one day. */
export function chanceOf(market: { seed: number }, day: string): SeededChance {
  return seededChance(market.seed ^ Math.floor(Date.parse(day) / 1000))
}
