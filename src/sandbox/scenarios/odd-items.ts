/**
 * Defines scenarios of items that break the upstream's published schema or common expectations, as items of the live
 * service do. Some only have what most items have not, such as several categories of a kind.
 */
import { seededChance } from '../../core/chance.ts'
import { type MarketCategory, marketCategories } from '../data/categories.ts'
import { type ItemTemplate, renumber } from '../market/item-template.ts'
import type { ItemVariant } from '../market/item-variants.ts'
import { withUnreadables } from '../market/market-events.ts'
import { minute, plain, type Scenario } from '../market/scenario.ts'

/** Two codes that live data uses although the official list lacks them, and one that does not exist. */
const unknownCodes = ['ADM', 'PRE', 'Z/9 x']
/** A day about half a year earlier, after which rnsIds repeat. */
const HALF_A_YEAR_BEFORE = '2025-07-18'
/** The last ten rnsIds of the last letter, then the first ten of the first letter. */
const wrappingIds = Array.from({ length: 20 }, (_, index) =>
  index < 10 ? `999${index}Z` : `000${index - 10}A`,
)

const wrapping = minute(wrappingIds.length, (templates, _market, day) => {
  templates.forEach((template, index) => {
    renumber(template, day, wrappingIds[index] ?? template.rnsId)
  })
})

/** Odd items, by name. */
export const oddItemScenarios = {
  malformed: {
    ...plain,
    meaning: '40 items in a minute; after every fourth one that has no guid or no time, or is no object',
    firstDay: (market, day) => withUnreadables(minute(40)(market, day), 4),
  },
  'id-wrap': {
    ...plain,
    meaning: '20 items numbered 9990Z to 9999Z, 0000A to 0009A, as 20 others were half a year before',
    earlier: (market) => wrapping(market, HALF_A_YEAR_BEFORE),
    firstDay: wrapping,
  },
  'null-version': {
    ...plain,
    meaning: '20 items in a minute, every second with `version: null`',
    firstDay: minute(20, inTurn(['null-version', null])),
  },
  'rns-kind': {
    ...plain,
    meaning: '20 items in a minute, every second with a third category, of the kind `RNS`',
    firstDay: minute(20, inTurn(['rns-kind', null])),
  },
  'many-categories': {
    ...plain,
    meaning: '24 items in a minute; by turns with two FCA codes, with three, and with one',
    firstDay: minute(24, (templates) => {
      templates.forEach((template, index) => {
        template.moreCategories = otherCategories(template).slice(0, [1, 2, 0][index % 3])
      })
    }),
  },
  'no-derivatives': {
    ...plain,
    meaning: '20 items in a minute, every second without `derivatives`',
    firstDay: minute(20, inTurn(['no-derivatives', null])),
  },
  'unknown-codes': {
    ...plain,
    meaning: '24 items in a minute with codes outside the list (ADM, PRE, "Z/9 x") or an unknown importance',
    firstDay: minute(24, (templates) => {
      templates.forEach((template, index) => {
        const code = unknownCodes[index % 4]
        if (code === undefined) template.variant = 'unknown-importance'
        else template.category = { ...template.category, code, name: `Category ${code}`, importance: null }
      })
    }),
  },
  'missing-fields': {
    ...plain,
    meaning: '24 items in a minute; by turns without symbol, LEI, instrument, or company name',
    firstDay: minute(24, inTurn(['no-symbol', 'no-lei', 'no-instrument', 'no-name'])),
  },
  'blank-headlines': {
    ...plain,
    meaning: '20 items in a minute with headlines that end in blanks',
    firstDay: minute(20, inTurn(['blank-ended-headline'])),
  },
  'fractional-seconds': {
    ...plain,
    meaning: '20 items in a minute whose timestamps have 0 to 9 decimals',
    firstDay: minute(20, (templates) => {
      templates.forEach((template, index) => {
        setFraction(template, index % 10)
      })
    }),
  },
} as const satisfies Record<string, Scenario>

/** Two categories beside that of the template: one of another native group, and one of either group. */
function otherCategories({ category, seed }: ItemTemplate): MarketCategory[] {
  const chance = seededChance(seed)
  const others = marketCategories.filter(({ code }) => code !== category.code)
  const inGroup = (native: string) => others.filter((other) => other.native === native)
  const elsewhere = chance.pick(
    others.filter(({ native }) => native !== category.native && inGroup(native).length > 1),
  )
  const either = [...inGroup(category.native), ...inGroup(elsewhere.native)]
  return [elsewhere, chance.pick(either.filter(({ code }) => code !== elsewhere.code))]
}

/** Gives the items the variants in turn. */
function inTurn(variants: readonly (ItemVariant | null)[]): (templates: ItemTemplate[]) => void {
  return (templates) => {
    templates.forEach((template, index) => {
      template.variant = variants[index % variants.length] ?? null
    })
  }
}

function setFraction(template: ItemTemplate, digits: number): void {
  const chance = seededChance(template.seed)
  template.fraction = Array.from({ length: digits }, () => chance.between(0, 9)).join('')
  template.timeMs += Number(template.fraction.padEnd(3, '0').slice(0, 3))
}
