/**
 * Generates random filters and facts from a small set of values, so that they often match. Tests compare every faster
 * path (index, SQL) with the plain evaluator on them.
 */
import fc from 'fast-check'
import type { Facts, Identifiers } from '../../../src/core/filter/facts.ts'
import type { Filter, PlainFilter } from '../../../src/core/filter/filter.ts'
import { importances, matchModes } from '../../../src/core/filter/filter.ts'
import { presetNames } from '../../../src/core/filter/presets.ts'

const isins = ['GB00BH4HKS39', 'GB0007980591', 'IE00B8KQN827', 'JE00B4T3BW64']
const symbols = ['VOD', 'BP.', 'ETN', 'GLEN']
const leis = ['213800TB53ELEUKM7Q61', '213800LH1BZH3DI6G760', '2138002658CPO9NBH955']
const fcaCodes = ['FR', 'IR', 'TVR', 'POS', 'OFB', 'SUS', 'NAV', 'MSC']
const nativeCodes = ['RE', 'DD', 'HO', 'AA']
const words = ['final results', 'net asset value', 'holding in company', 'offer', 'ésultats']

/** A company of the small world; each identifier is often missing. */
const identifiers: fc.Arbitrary<Identifiers> = fc.record(
  { isin: fc.constantFrom(...isins), symbol: fc.constantFrom(...symbols), lei: fc.constantFrom(...leis) },
  { requiredKeys: [] },
)

/** Facts of disclosures and now and then of a gap. */
export const someFacts: fc.Arbitrary<Facts> = fc.record({
  kind: fc.constantFrom('published', 'published', 'published', 'amended', 'gap'),
  issuer: identifiers,
  related: fc.array(identifiers, { maxLength: 3 }),
  fca: fc.array(fc.constantFrom(...fcaCodes), { maxLength: 3 }),
  native: fc.array(fc.constantFrom(...nativeCodes), { maxLength: 2 }),
  importance: fc.array(fc.constantFrom<string>(...importances, 'colossal'), { maxLength: 2 }),
  headline: fc.array(fc.constantFrom(...words), { maxLength: 2 }).map((parts) => parts.join(' – ')),
})

function listOf<const T>(members: readonly T[]): fc.Arbitrary<T[]> {
  return fc.uniqueArray(fc.constantFrom(...members), { minLength: 1, maxLength: 3 })
}

const fields = {
  isins: listOf(isins),
  symbols: listOf(symbols),
  leis: listOf(leis),
  fcaCategories: listOf(fcaCodes),
  nativeCategories: listOf(nativeCodes),
  importance: listOf(importances),
  q: fc.constantFrom('re', 'offer', 'net asset', '– holding', 'és'),
  hasSymbol: fc.boolean(),
  types: listOf(['published', 'amended', 'gap'] as const),
  preset: fc.constantFrom(...presetNames),
}

/** One to three fields, so that a random filter still matches something; never one that the parser rejects. */
const plainFilter: fc.Arbitrary<PlainFilter> = fc
  .tuple(fc.record(fields), fc.subarray(Object.keys(fields), { minLength: 1, maxLength: 3 }))
  .map(
    ([all, names]): PlainFilter =>
      Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name))),
  )
  .chain((filter) =>
    fc.constantFrom(...matchModes, undefined).map((match) => (match ? { ...filter, match } : filter)),
  )
  .filter((filter) => !forbids(filter, filter))

/** True when the parser rejects a filter: the first requires no symbol, the second requires one of the issuer. */
function forbids({ hasSymbol }: PlainFilter, { symbols: wanted, match }: PlainFilter): boolean {
  return hasSymbol === false && wanted !== undefined && match !== 'related'
}

/** Filters of every shape: plain ones, with `exclude`, with `filters`, and the empty one. */
export const someFilter: fc.Arbitrary<Filter> = fc.oneof(
  fc.constant({}),
  plainFilter,
  plainFilter,
  fc
    .tuple(
      plainFilter,
      fc.record(
        { exclude: plainFilter, filters: fc.array(plainFilter, { minLength: 1, maxLength: 3 }) },
        { requiredKeys: [] },
      ),
    )
    .map(([plain, nesting]): Filter => ({ ...plain, ...nesting }))
    .filter(
      (filter) =>
        !(filter.filters ?? []).some((member) => forbids(filter, member) || forbids(member, filter)),
    ),
)

/** Facts of one published item; `changes` replace members. */
export function factsOf(changes: Partial<Facts> = {}): Facts {
  return {
    kind: 'published',
    issuer: { isin: 'GB00BH4HKS39', symbol: 'VOD', lei: '213800TB53ELEUKM7Q61' },
    related: [],
    fca: ['FR'],
    native: ['RE'],
    importance: ['high'],
    headline: 'final results',
    ...changes,
  }
}
