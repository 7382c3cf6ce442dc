/**
 * Defines scenarios without faults: usual days, morning bursts, a quiet period and a flood.
 */
import type { SeededChance } from '../../core/chance.ts'
import {
  burst,
  even,
  fundBurst,
  openBurst,
  secondRange,
  USUAL_DAY_ITEMS,
  usualDay,
} from '../market/day-shape.ts'
import { parseSecondOfDay } from '../market/london.ts'
import { delayed, type PublishEvent } from '../market/market-events.ts'
import {
  atSeconds,
  chanceOf,
  evenly,
  type MarketSeed,
  normalDay,
  plain,
  type Scenario,
} from '../market/scenario.ts'

/** The late item of `morning`: about this many seconds into the burst, and its delay after its timestamp. */
const SKIPPED_SECOND = 3
const SKIPPED_DELAY_MS = 7_000

/** Quiet period between the bursts, which short scenarios skip. */
export const quietBetweenBursts = Object.freeze({ from: '07:00:12', to: '07:09:52' })

/** Usual days, by name. */
export const usualScenarios = {
  normal: {
    ...plain,
    meaning: 'usual days of 1,900 items from 06:59 on, both bursts; replaced items disappear',
    start: '06:59:00',
    backlog: USUAL_DAY_ITEMS,
    goesOn: true,
    firstDay: (market, day) => normalDay(market, day),
  },
  morning: {
    ...plain,
    meaning: '265 items at 07:00:01–09, 495 at 07:10:01–10; one comes in late, behind cursors already given',
    start: '06:59:55',
    backlog: 120,
    firstDay: morning,
  },
  'morning-short': {
    ...plain,
    meaning:
      'the same two bursts, but the clock steps over the quiet: the second begins 20 s after the first',
    start: '06:59:55',
    backlog: 120,
    skips: [quietBetweenBursts],
    firstDay: morning,
  },
  flood: {
    ...plain,
    meaning: '1,500 items in 60 s',
    start: '06:59:57',
    backlog: 60,
    firstDay: evenly('07:00:01', '07:01:00', 1500),
  },
  quiet: {
    ...plain,
    meaning: 'six items in ten minutes',
    start: '12:00:00',
    firstDay: evenly('12:00:05', '12:10:00', 6),
  },
  demo: {
    ...plain,
    meaning: 'both bursts within half a minute, an item every five seconds until 08:00, then usual days',
    start: '06:59:57',
    backlog: 60,
    skips: [quietBetweenBursts],
    goesOn: true,
    firstDay: (market, day) => {
      const steady = even(secondRange('07:10:13', '07:59:58'), 598)
      const later = usualDay(USUAL_DAY_ITEMS, chanceOf(market, day)).filter(
        (second) => second >= parseSecondOfDay('08:00'),
      )
      return atSeconds((chance) => [...burstSeconds(chance), ...steady, ...later])(market, day)
    },
  },
} as const satisfies Record<string, Scenario>

function morning(market: MarketSeed, day: string): PublishEvent[] {
  const published = atSeconds(burstSeconds)(market, day)
  const firstMs = published[0]?.atMs ?? 0
  const skipped = published.findIndex(({ atMs }) => atMs >= firstMs + SKIPPED_SECOND * 1000)
  return delayed(published, (index) => (index === skipped ? SKIPPED_DELAY_MS : null))
}

function burstSeconds(chance: SeededChance): number[] {
  return [...burst(openBurst, 265, chance), ...burst(fundBurst, 495, chance)]
}
