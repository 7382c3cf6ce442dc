/**
 * Generates random filters over the synthetic market, like those that each kind of user would choose. A filter may
 * match nothing.
 */
import type { SeededChance } from '../../../src/core/chance.ts'
import { knownFcaCodes, knownNativeCodes } from '../../../src/core/filter/categories.ts'
import type { Filter, PlainFilter } from '../../../src/core/filter/filter.ts'
import { importances, matchModes } from '../../../src/core/filter/filter.ts'
import { presetNames } from '../../../src/core/filter/presets.ts'
import type { Issuer, Issuers } from '../../../src/sandbox/market/issuers.ts'

/** Identifiers in one list, at most. */
const MOST_IDENTIFIERS = 40
const MOST_CODES = 4
/** Parts of headlines that the market writes. */
const HEADLINE_PARTS = [
  'results',
  'asset',
  'holding',
  'voting',
  'transaction',
  'director',
  'plc',
  'form 8',
  'of',
]

/** The filter of one reader. */
export function drawFilter(issuers: Issuers, chance: SeededChance): Filter {
  const shape = chance.between(0, 9)
  if (shape === 0) return {}
  const plain = (): PlainFilter => plainFilter(issuers, chance)
  if (shape === 1) return { ...plain(), exclude: plain() }
  if (shape === 2) return { filters: [plain(), plain()] }
  return plain()
}

function plainFilter({ companies, funds }: Issuers, chance: SeededChance): PlainFilter {
  const drawn = <T>(members: readonly T[], most: number): T[] => [
    ...new Set(Array.from({ length: chance.between(1, most) }, () => chance.pick(members))),
  ]
  const those = (of: (issuer: Issuer) => readonly (string | null)[]): string[] =>
    drawn(
      [...companies, ...funds].flatMap(of).flatMap((value) => value ?? []),
      MOST_IDENTIFIERS,
    )
  switch (chance.between(0, 7)) {
    case 0:
      return {
        isins: those(({ instruments }) => instruments.map(({ isin }) => isin)),
        match: chance.pick(matchModes),
      }
    case 1:
      return {
        symbols: those(({ instruments }) => instruments.map(({ symbol }) => symbol)),
        match: chance.pick(matchModes),
      }
    case 2:
      return { leis: those(({ lei }) => [lei]) }
    case 3:
      return { fcaCategories: drawn(knownFcaCodes, 20 * MOST_CODES) }
    case 4:
      return { nativeCategories: drawn(knownNativeCodes, MOST_CODES) }
    case 5:
      return { importance: drawn(importances, 2) }
    case 6:
      return { q: chance.pick(HEADLINE_PARTS) }
    default:
      return chance.yes(0.5) ? { preset: chance.pick(presetNames) } : { hasSymbol: chance.yes(0.5) }
  }
}
