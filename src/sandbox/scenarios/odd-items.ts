/**
 * Defines scenarios of items that break the published schema or common expectations, as live items do.
 */
import { seededChance } from '../../core/chance.ts'
import { type Draft, renumber } from '../market/item-template.ts'
import type { ItemVariant } from '../market/item-variants.ts'
import { type Happening, publications, unreadables } from '../market/market-events.ts'
import { evenDrafts, type MarketSeed, plain, type Scenario } from '../market/scenario.ts'

const minute = { from: '10:00:02', to: '10:01:00' }
/** Two codes that live data uses although the official list lacks them, and one that does not exist. */
const unknownCodes = ['ADM', 'PRE', 'Z/9 x']
/** A day about half a year earlier, after which rnsIds repeat. */
const HALF_A_YEAR_BEFORE = '2025-07-18'
/** The last ten rnsIds of the last letter, then the first ten of the first letter. */
const wrappingIds = Array.from({ length: 20 }, (_, index) =>
  index < 10 ? `999${index}Z` : `000${index - 10}A`,
)

/** Odd items, by name. */
export const oddItemScenarios = {
  malformed: {
    ...plain,
    meaning: '40 items in a minute; after every fourth one that has no guid or no time, or is no object',
    firstDay: (market, day) => {
      const published = publications(evenDrafts(market, day, { ...minute, items: 40 }))
      return [...published, ...unreadables(published, 4)]
    },
  },
  'id-wrap': {
    ...plain,
    meaning: '20 items numbered 9990Z to 9999Z, 0000A to 0009A, as 20 others were half a year before',
    earlier: (market) => wrapping(market, HALF_A_YEAR_BEFORE),
    firstDay: (market, day) => wrapping(market, day),
  },
  'null-version': {
    ...plain,
    meaning: '20 items in a minute, every second with `version: null`',
    firstDay: variants(['null-version', null]),
  },
  'rns-kind': {
    ...plain,
    meaning: '20 items in a minute, every second with a third category, of the kind `RNS`',
    firstDay: variants(['rns-kind', null]),
  },
  'unknown-codes': {
    ...plain,
    meaning: '24 items in a minute with codes outside the list (ADM, PRE, "Z/9 x") or an unknown importance',
    firstDay: (market, day) => {
      const drafts = evenDrafts(market, day, { ...minute, items: 24 })
      drafts.forEach((draft, index) => {
        const code = unknownCodes[index % 4]
        if (code === undefined) draft.variant = 'unknown-importance'
        else draft.category = { ...draft.category, code, name: `Category ${code}`, importance: null }
      })
      return publications(drafts)
    },
  },
  'missing-fields': {
    ...plain,
    meaning: '24 items in a minute; by turns without symbol, LEI, instrument, or company name',
    firstDay: variants(['no-symbol', 'no-lei', 'no-instrument', 'no-name']),
  },
  'blank-headlines': {
    ...plain,
    meaning: '20 items in a minute with headlines that end in blanks',
    firstDay: variants(['blank-ended-headline']),
  },
  'fractional-seconds': {
    ...plain,
    meaning: '20 items in a minute whose timestamps have 0 to 9 decimals',
    firstDay: (market, day) => {
      const drafts = evenDrafts(market, day, { ...minute, items: 20 })
      drafts.forEach((draft, index) => {
        setFraction(draft, index % 10)
      })
      return publications(drafts)
    },
  },
} as const satisfies Record<string, Scenario>

/** Generates a minute of items with the given variants in turn. */
function variants(turns: readonly (ItemVariant | null)[]): Scenario['firstDay'] {
  return (market, day) => {
    const drafts = evenDrafts(market, day, { ...minute, items: turns.length > 2 ? 24 : 20 })
    drafts.forEach((draft, index) => {
      draft.variant = turns[index % turns.length] ?? null
    })
    return publications(drafts)
  }
}

function wrapping(market: MarketSeed, day: string): Happening[] {
  const drafts = evenDrafts(market, day, { ...minute, items: wrappingIds.length })
  drafts.forEach((draft, index) => {
    renumber(draft, day, wrappingIds[index] ?? draft.rnsId)
  })
  return publications(drafts)
}

function setFraction(draft: Draft, digits: number): void {
  const chance = seededChance(draft.seed)
  draft.fraction = Array.from({ length: digits }, () => chance.between(0, 9)).join('')
  draft.timeMs += Number(draft.fraction.padEnd(3, '0').slice(0, 3))
}
