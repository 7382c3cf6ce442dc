/**
 * The scenarios: what the market's first day holds, where its clock starts, what it steps over. Owns the list that
 * `bridge sandbox --list` shows. Refuses to run anything; everything here follows from the seed.
 */
import { type SeededChance, seededChance } from '../core/chance.ts'
import { didYouMean } from '../core/near.ts'
import { BridgeError } from '../errors.ts'
import { burst, even, fundBurst, openBurst, USUAL_DAY_ITEMS, usualDay } from './day-shape.ts'
import { type Draft, draftDay } from './draft.ts'
import {
  amendments,
  correctFirst,
  delayed,
  disappearances,
  type Happening,
  publications,
  unreadables,
} from './happenings.ts'
import type { Issuers } from './issuers.ts'
import { secondOfDay } from './london.ts'

/** The first day of every scenario: a Tuesday in winter, when London is on UTC. */
export const FIRST_DAY = '2026-02-03'

/** What scenarios draw from. */
export interface MarketSeed {
  seed: number
  issuers: Issuers
}

export interface Scenario {
  /** One line. */
  meaning: string
  /** London time on FIRST_DAY at which the clock starts, `HH:MM:SS`. */
  start: string
  /** Items of the business day before, which a backfill may read. */
  backlog: number
  /** Quiet stretches that the clock steps over, London times on FIRST_DAY. */
  skips: readonly { from: string; to: string }[]
  /** True = usual days follow the first one. */
  goesOn: boolean
  firstDay: (market: MarketSeed) => Happening[]
}

/** The late item of the mornings: stamped at this second of the burst, visible this long after it. */
const SKIPPED_SECOND = 3
const SKIPPED_DELAY_MS = 7_000

const quietBetweenBursts = { from: '07:00:12', to: '07:09:52' }

/** Every scenario by its name. */
/** Every scenario by its name. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  normal: {
    meaning: 'usual days of 1,900 items from 06:59 on, both bursts; replaced items disappear',
    start: '06:59:00',
    backlog: USUAL_DAY_ITEMS,
    skips: [],
    goesOn: true,
    firstDay: (market) => normalDay(market, FIRST_DAY),
  },
  morning: {
    meaning:
      '265 items at 07:00:01–09, 495 at 07:10:01–10; one comes in late and lies before cursors already given',
    start: '06:59:55',
    backlog: 120,
    skips: [],
    goesOn: false,
    firstDay: morning,
  },
  'morning-short': {
    meaning:
      'the same two bursts, but the clock steps over the quiet: the second begins 20 s after the first',
    start: '06:59:55',
    backlog: 120,
    skips: [quietBetweenBursts],
    goesOn: false,
    firstDay: morning,
  },
  flood: {
    meaning: '1,500 items in 60 s',
    start: '06:59:57',
    backlog: 60,
    skips: [],
    goesOn: false,
    firstDay: (market) => publications(drafts(market, stretch('07:00:01', '07:01:00'), 1500)),
  },
  quiet: {
    meaning: 'six items in ten minutes',
    start: '12:00:00',
    backlog: 20,
    skips: [],
    goesOn: false,
    firstDay: (market) => publications(drafts(market, stretch('12:00:05', '12:10:00'), 6)),
  },
  amended: {
    meaning:
      '30 items in a minute; 20 s after each the same guid comes with other content and a new timestamp',
    start: '10:00:00',
    backlog: 20,
    skips: [],
    goesOn: false,
    firstDay: (market) => amendedMinute(market, true),
  },
  'amended-in-place': {
    meaning: 'the same, but the timestamp stays: no cursor shows it, only reading the window again does',
    start: '10:00:00',
    backlog: 20,
    skips: [],
    goesOn: false,
    firstDay: (market) => amendedMinute(market, false),
  },
  late: {
    meaning: '60 items in two minutes; every tenth becomes visible 5 to 55 s after its timestamp',
    start: '10:00:00',
    backlog: 20,
    skips: [],
    goesOn: false,
    firstDay: (market) =>
      delayed(
        publications(drafts(market, stretch('10:00:02', '10:02:00'), 60)),
        (index) => index % 10 === 5,
        (index) => 5_000 + (index - 5) * 1_000,
      ),
  },
  malformed: {
    meaning: '40 items in a minute; after every fourth one that has no guid or no time, or is no object',
    start: '10:00:00',
    backlog: 20,
    skips: [],
    goesOn: false,
    firstDay: (market) => {
      const published = publications(drafts(market, stretch('10:00:02', '10:01:00'), 40))
      return [...published, ...unreadables(published, 4)]
    },
  },
  vanish: {
    meaning: '40 items in a minute; the last ten replace the first ten, which disappear',
    start: '10:00:00',
    backlog: 20,
    skips: [],
    goesOn: false,
    firstDay: (market) => {
      const minute = drafts(market, stretch('10:00:02', '10:01:00'), 40)
      correctFirst(minute, 10)
      const published = publications(minute)
      return [...published, ...disappearances(published)]
    },
  },
  demo: {
    meaning: 'both bursts within half a minute, an item every five seconds until 08:00, then usual days',
    start: '06:59:57',
    backlog: 60,
    skips: [quietBetweenBursts],
    goesOn: true,
    firstDay: (market) => {
      const steady = even(stretch('07:10:13', '07:59:58'), 598)
      const later = usualDay(USUAL_DAY_ITEMS, chanceOf(market, FIRST_DAY)).filter(
        (at) => at >= secondOfDay('08:00'),
      )
      return publications(draftDay(market, FIRST_DAY, [...burstSeconds(market), ...steady, ...later]))
    },
  },
}

/**
 * The scenario of that name.
 * @throws BridgeError `usage` with the near match
 */
export function findScenario(name: string): Scenario {
  const scenario = Object.hasOwn(scenarios, name) ? scenarios[name] : undefined
  if (scenario !== undefined) return scenario
  const near = didYouMean(name, Object.keys(scenarios))
  throw new BridgeError('usage', `there is no scenario "${name}"${near}`, {
    hint: 'bridge sandbox --list shows every scenario.',
  })
}

/** A usual day with its corrections. */
export function normalDay(market: MarketSeed, day: string, items: number = USUAL_DAY_ITEMS): Happening[] {
  const published = publications(draftDay(market, day, usualDay(items, chanceOf(market, day))))
  return [...published, ...disappearances(published)]
}

function morning(market: MarketSeed): Happening[] {
  const published = publications(draftDay(market, FIRST_DAY, burstSeconds(market)))
  const firstMs = published[0]?.atMs ?? 0
  const skipped = published.findIndex(({ atMs }) => atMs >= firstMs + SKIPPED_SECOND * 1000)
  return delayed(
    published,
    (index) => index === skipped,
    () => SKIPPED_DELAY_MS,
  )
}

function burstSeconds(market: MarketSeed): number[] {
  const chance = chanceOf(market, FIRST_DAY)
  return [...burst(openBurst, 265, chance), ...burst(fundBurst, 495, chance)]
}

function amendedMinute(market: MarketSeed, restamped: boolean): Happening[] {
  const published = publications(drafts(market, stretch('10:00:02', '10:01:00'), 30))
  return [...published, ...amendments(published, { afterMs: 20_000, restamped })]
}

function drafts(market: MarketSeed, { first, last }: ReturnType<typeof stretch>, count: number): Draft[] {
  return draftDay(market, FIRST_DAY, even({ first, last }, count))
}

function stretch(first: string, last: string): { first: number; last: number } {
  return { first: secondOfDay(first), last: secondOfDay(last) }
}

function chanceOf(market: MarketSeed, day: string): SeededChance {
  return seededChance(market.seed ^ Math.floor(Date.parse(day) / 1000))
}
