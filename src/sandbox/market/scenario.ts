/**
 * What a scenario is, and the parts that most of them are made of. Owns the type and its defaults. Refuses to hold a
 * scenario: the files beside it do, by theme, and `../scenarios.ts` is the list.
 */
import { type SeededChance, seededChance } from '../../core/chance.ts'
import type { ScheduledFault } from '../faults/fault-schedule.ts'
import { even, USUAL_DAY_ITEMS, usualDay } from './day-shape.ts'
import { usualHistory } from './issuer-history.ts'
import type { Issuers } from './issuers.ts'
import { type Draft, draftDay } from './item-template.ts'
import { isHalfDay, parseSecondOfDay } from './london.ts'
import { disappearances, type Happening, publications } from './market-events.ts'

/** What scenarios draw from. */
export interface MarketSeed {
  seed: number
  issuers: Issuers
}

/** Times are London's, `HH:MM:SS` on `day`; hours from 24 on belong to the days after. */
export interface Scenario {
  /** One line. */
  meaning: string
  /** The first day, `YYYY-MM-DD`. */
  day: string
  /** When the clock starts. */
  start: string
  /** Items of the business day before, which a backfill may read. */
  backlog: number
  /** Quiet stretches that the clock steps over, in order. */
  skips: readonly { from: string; to: string }[]
  /** True = usual days follow the first one. */
  goesOn: boolean
  /** Faults that the market's clock switches on. */
  faults: readonly ScheduledFault[]
  /** How long documents answer 404 after their item became visible, milliseconds of market time. */
  documentsAfterMs: number
  /** The market's publishers, made of those that the seed gives. */
  cast: (issuers: Issuers, market: { seed: number; day: string }) => Issuers
  /** What happened before the business day of the backlog. */
  earlier: (market: MarketSeed, day: string) => Happening[]
  /** Everything that happens from the start on; may reach into the days after. */
  firstDay: (market: MarketSeed, day: string) => Happening[]
}

/** What most scenarios have in common: a Tuesday in winter, when London is on UTC, from ten o'clock on. */
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

/** A usual day with its corrections. A half day has nothing after 13:30. */
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

/** `items` announcements at even distances from one time to another, both included. */
export function evenDrafts(
  market: MarketSeed,
  day: string,
  { from, to, items }: { from: string; to: string; items: number },
): Draft[] {
  return draftDay(market, day, even({ first: parseSecondOfDay(from), last: parseSecondOfDay(to) }, items))
}

/** The seed's chance for one day. */
export function chanceOf(market: MarketSeed, day: string): SeededChance {
  return seededChance(market.seed ^ Math.floor(Date.parse(day) / 1000))
}
