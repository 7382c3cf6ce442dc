/**
 * Defines scenarios of items that change or arrive late: amended, delayed, replaced or corrected.
 */
import { neverSeenGuid } from '../market/item-template.ts'
import {
  amendments,
  correctFirst,
  delayed,
  disappearances,
  type Happening,
  publications,
} from '../market/market-events.ts'
import { evenDrafts, type MarketSeed, plain, type Scenario } from '../market/scenario.ts'

const minute = { from: '10:00:02', to: '10:01:00' }
/** Items of `corrections` that correct an item that was never published. */
const ORPHANS = 3

/** Revisions, by name. */
export const revisionScenarios = {
  amended: {
    ...plain,
    meaning:
      '30 items in a minute; 20 s after each the same guid comes with other content and a new timestamp',
    firstDay: (market, day) => amendedMinute(market, day, true),
  },
  'amended-in-place': {
    ...plain,
    meaning: 'the same, but the timestamp stays: no cursor shows it, only reading the window again does',
    firstDay: (market, day) => amendedMinute(market, day, false),
  },
  late: {
    ...plain,
    meaning: '60 items in two minutes; every tenth becomes visible 5 to 55 s after its timestamp',
    firstDay: (market, day) =>
      delayed(
        publications(evenDrafts(market, day, { from: '10:00:02', to: '10:02:00', items: 60 })),
        (index) => index % 10 === 5,
        (index) => 5_000 + (index - 5) * 1_000,
      ),
  },
  vanish: {
    ...plain,
    meaning: '40 items in a minute; the last ten replace the first ten, which disappear',
    firstDay: (market, day) => {
      const drafts = evenDrafts(market, day, { ...minute, items: 40 })
      correctFirst(drafts, 10)
      const published = publications(drafts)
      return [...published, ...disappearances(published)]
    },
  },
  corrections: {
    ...plain,
    meaning: '40 items in a minute; the last ten correct the first ten, which stay; three more are orphans',
    firstDay: (market, day) => {
      const drafts = evenDrafts(market, day, { ...minute, items: 40 })
      correctFirst(drafts, 10)
      for (const orphan of drafts.slice(20, 20 + ORPHANS)) orphan.replacesGuid = neverSeenGuid(day)
      return publications(drafts)
    },
  },
} as const satisfies Record<string, Scenario>

function amendedMinute(market: MarketSeed, day: string, restamped: boolean): Happening[] {
  const published = publications(evenDrafts(market, day, { ...minute, items: 30 }))
  return [...published, ...amendments(published, { afterMs: 20_000, restamped })]
}
