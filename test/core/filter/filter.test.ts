import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GAP_FACTS } from '../../../src/core/filter/facts.ts'
import type { Filter } from '../../../src/core/filter/filter.ts'
import { matches, mismatches } from '../../../src/core/filter/filter.ts'
import { presetNames, presets } from '../../../src/core/filter/presets.ts'
import { factsOf, someFacts, someFilter } from './filter-samples.ts'

const vodafone = { isin: 'GB00BH4HKS39', symbol: 'VOD', lei: '213800TB53ELEUKM7Q61' }
const holder = { isin: 'US09247X1019', symbol: 'BLK', lei: '529900UBPRVKYP1UWH08' }

describe('one field', () => {
  test('the empty filter matches everything', () => {
    expect(matches({}, factsOf())).toBe(true)
    expect(matches({}, factsOf({ issuer: {}, fca: [], native: [], importance: [] }))).toBe(true)
  })

  test.each<[string, Filter, Filter]>([
    ['isins', { isins: ['GB00BH4HKS39', 'GB0007980591'] }, { isins: ['GB0007980591'] }],
    ['symbols', { symbols: ['BP.', 'VOD'] }, { symbols: ['BP.'] }],
    ['leis', { leis: ['213800TB53ELEUKM7Q61'] }, { leis: ['213800LH1BZH3DI6G760'] }],
    ['fcaCategories', { fcaCategories: ['IR', 'FR'] }, { fcaCategories: ['IR', 'RE'] }],
    ['nativeCategories', { nativeCategories: ['RE'] }, { nativeCategories: ['FR'] }],
    ['importance', { importance: ['high', 'ultra'] }, { importance: ['ultra'] }],
    ['q', { q: 'al res' }, { q: 'interim' }],
    ['hasSymbol', { hasSymbol: true }, { hasSymbol: false }],
    ['types', { types: ['published'] }, { types: ['amended', 'gap'] }],
    ['preset', { preset: 'results' }, { preset: 'takeovers' }],
  ])('%s matches when any of its values does, and else not', (_, hit, miss) => {
    expect(matches(hit, factsOf())).toBe(true)
    expect(matches(miss, factsOf())).toBe(false)
  })

  test('an item without the value that a field requires does not match', () => {
    const bare = factsOf({ issuer: {}, fca: [], native: [], importance: [], headline: '' })
    for (const filter of [
      { isins: ['GB00BH4HKS39'] },
      { symbols: ['VOD'] },
      { leis: ['213800TB53ELEUKM7Q61'] },
      { fcaCategories: ['FR'] },
      { importance: ['low', 'medium', 'high', 'ultra'] },
      { q: 're' },
      { hasSymbol: true },
    ] satisfies Filter[]) {
      expect(matches(filter, bare)).toBe(false)
    }
    expect(matches({ hasSymbol: false }, bare)).toBe(true)
  })
})

describe('match', () => {
  const holding = factsOf({ issuer: holder, related: [{}, vodafone] })

  test.each(['issuer', 'exact'] as const)('%s compares only the issuer', (match) => {
    expect(matches({ isins: [vodafone.isin], match }, holding)).toBe(false)
    expect(matches({ isins: [holder.isin], match }, holding)).toBe(true)
    expect(matches({ leis: [holder.lei], match }, holding)).toBe(true)
    expect(matches({ leis: [vodafone.lei], match }, holding)).toBe(false)
  })

  test('related compares the issuer and each related company', () => {
    for (const company of [holder, vodafone]) {
      expect(matches({ isins: [company.isin], match: 'related' }, holding)).toBe(true)
      expect(matches({ symbols: [company.symbol], match: 'related' }, holding)).toBe(true)
      expect(matches({ leis: [company.lei], match: 'related' }, holding)).toBe(true)
    }
    expect(matches({ symbols: ['BP.'], match: 'related' }, holding)).toBe(false)
  })

  test('issuer is the default of match', () => {
    expect(matches({ symbols: ['VOD'] }, holding)).toBe(false)
    expect(matches({ symbols: ['BLK'] }, holding)).toBe(true)
  })
})

describe('together', () => {
  test('fields are ANDed', () => {
    expect(matches({ symbols: ['VOD'], fcaCategories: ['FR'] }, factsOf())).toBe(true)
    expect(matches({ symbols: ['VOD'], fcaCategories: ['IR'] }, factsOf())).toBe(false)
  })

  test('exclude drops items that match all of its fields', () => {
    expect(matches({ exclude: { symbols: ['VOD'] } }, factsOf())).toBe(false)
    expect(matches({ exclude: { symbols: ['VOD'], fcaCategories: ['IR'] } }, factsOf())).toBe(true)
    expect(matches({ exclude: { preset: 'results' } }, factsOf())).toBe(false)
  })

  test('filters matches any of its members, ANDed with the other fields', () => {
    const any = { filters: [{ symbols: ['BP.'] }, { fcaCategories: ['FR'] }] }
    expect(matches(any, factsOf())).toBe(true)
    expect(matches(any, factsOf({ fca: ['IR'] }))).toBe(false)
    expect(matches({ ...any, importance: ['ultra'] }, factsOf())).toBe(false)
  })

  test('a gap event reaches every reader whatever the filter says', () => {
    for (const filter of [
      {},
      { symbols: ['VOD'] },
      { types: ['published'] },
      { exclude: { types: ['gap'] } },
      { filters: [{ q: 'never' }] },
    ] satisfies Filter[]) {
      expect(matches(filter, GAP_FACTS)).toBe(true)
    }
  })
})

describe('presets', () => {
  test.each([
    [
      'no-routine',
      ['TVR', 'POS', 'HOL', 'DSH', 'RET', 'FEO', 'FER', 'DCC', 'FEE', 'BLR', 'PME', 'APM'],
      ['FR', 'MSC'],
    ],
    ['results', ['IOE', 'NAV', 'TST'], ['FR', 'IR', 'ACS', 'QRF', 'QRT']],
    ['takeovers', ['RET', 'FR', 'TEN'], ['OFD', 'OFB', 'OFF', 'SOA', 'OLA']],
    ['trading-halts', ['NOT', 'LIS'], ['SUS', 'SRS', 'REN', 'EXC']],
  ] as const)('%s drops %j and keeps %j', (preset, out, kept) => {
    for (const code of out) expect(matches({ preset }, factsOf({ fca: [code] }))).toBe(false)
    for (const code of kept) expect(matches({ preset }, factsOf({ fca: [code] }))).toBe(true)
  })

  test('only no-routine keeps an item without FCA category', () => {
    const kept = presetNames.filter((preset) => matches({ preset }, factsOf({ fca: [] })))
    expect(kept).toEqual(['no-routine'])
  })

  test('each has one sentence of meaning and codes without repetition', () => {
    for (const name of presetNames) {
      const { meaning, fcaCategories } = presets[name]
      expect(meaning).toMatch(/^[A-Z][^.]+\.$/)
      expect(new Set(fcaCategories).size).toBe(fcaCategories.length)
    }
  })
})

describe('mismatches', () => {
  /** The filter with its plain members, `exclude` and `filters` as far as these names say. */
  const only = (filter: Filter, keeps: (name: string) => boolean): Filter =>
    Object.fromEntries(Object.entries(filter).filter(([name]) => name === 'match' || keeps(name)))
  const topLevel = (name: string): string => name.replace(/\[.*/, '')

  test('name nothing exactly where the filter matches; each name leaves the event out alone, and without them it matches', () => {
    const property = fc.property(someFilter, someFacts, (filter, facts) => {
      const names = mismatches(filter, facts)
      expect(names.length === 0).toBe(matches(filter, facts))
      const failing = new Set(names.map(topLevel))
      for (const name of failing)
        expect(
          matches(
            only(filter, (one) => one === name),
            facts,
          ),
        ).toBe(false)
      expect(
        matches(
          only(filter, (one) => !failing.has(one)),
          facts,
        ),
      ).toBe(true)
    })
    fc.assert(property, { numRuns: 2000 })
  })

  test.each<[Filter, string[]]>([
    [{ symbols: ['BP.'], fcaCategories: ['FR'], importance: ['ultra'] }, ['symbols', 'importance']],
    [{ symbols: ['VOD'], exclude: { preset: 'results' } }, ['exclude']],
    [
      { filters: [{ symbols: ['BP.'], q: 'interim' }, { isins: [holder.isin] }] },
      ['filters[0].symbols', 'filters[0].q', 'filters[1].isins'],
    ],
    [{ filters: [{ symbols: ['BP.'] }, { symbols: ['VOD'] }] }, []],
  ])('%j names %j', (filter, names) => {
    expect(mismatches(filter, factsOf())).toEqual(names)
  })

  test('a related company counts where match says so', () => {
    const facts = factsOf({ related: [holder] })
    expect(mismatches({ symbols: ['BLK'] }, facts)).toEqual(['symbols'])
    expect(mismatches({ symbols: ['BLK'], match: 'related' }, facts)).toEqual([])
  })
})
