import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { webhookKinds } from '../../../src/core/filter/filter.ts'
import {
  CODE_LIMIT,
  IDENTIFIER_LIMIT,
  MEMBER_LIMIT,
  parseFilter,
} from '../../../src/core/filter/filter-parse.ts'
import { isBridgeError } from '../../../src/errors.ts'
import { someFilter } from './filter-samples.ts'

/** The fields and messages of a rejection, or null if the value is accepted. */
function refusals(value: unknown, at?: string): Record<string, string> | null {
  try {
    parseFilter(value, at)
    return null
  } catch (error) {
    if (!isBridgeError(error, 'filter_invalid')) throw error
    expect(error.hint).toContain('docs/use/filters.md')
    expect(error.message).toContain(error.errors[0]?.field)
    return Object.fromEntries(error.errors.map(({ field, message }) => [field, message]))
  }
}

/** `count` different ISINs. */
function manyIsins(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `GB${String(index).padStart(10, '0')}`)
}

describe('what is accepted', () => {
  test('the empty filter', () => {
    expect(parseFilter({})).toEqual({})
  })

  test('every field, normalised for the evaluator', () => {
    expect(
      parseFilter({
        isins: ['gb00bh4hks39', 'GB00BH4HKS39'],
        symbols: ['vod', 'BP.'],
        leis: ['213800tb53eleukm7q61'],
        match: 'related',
        fcaCategories: ['FR', 'ADM', 'x-1'],
        nativeCategories: ['RE'],
        importance: ['low', 'ultra'],
        q: 'Final RESULTS',
        hasSymbol: true,
        types: ['amended', 'gap'],
        preset: 'no-routine',
        exclude: { preset: 'results' },
        filters: [{ q: 'ab' }, { importance: 'medium+' }],
      }),
    ).toEqual({
      isins: ['GB00BH4HKS39'],
      symbols: ['VOD', 'BP.'],
      leis: ['213800TB53ELEUKM7Q61'],
      match: 'related',
      fcaCategories: ['FR', 'ADM', 'x-1'],
      nativeCategories: ['RE'],
      importance: ['low', 'ultra'],
      q: 'final results',
      hasSymbol: true,
      types: ['amended', 'gap'],
      preset: 'no-routine',
      exclude: { preset: 'results' },
      filters: [{ q: 'ab' }, { importance: ['medium', 'high', 'ultra'] }],
    })
  })

  test.each([
    ['low+', ['low', 'medium', 'high', 'ultra']],
    ['high+', ['high', 'ultra']],
    ['ultra+', ['ultra']],
  ])('importance %s is that level and above', (text, levels) => {
    expect(parseFilter({ importance: text })).toEqual({ importance: levels })
  })

  test('a parsed filter is accepted again and stays the same', () => {
    fc.assert(
      fc.property(someFilter, (filter) => {
        const refused = refusals(filter)
        if (refused === null) {
          const once = parseFilter(filter)
          expect(parseFilter(JSON.parse(JSON.stringify(once)))).toEqual(once)
        }
      }),
    )
  })

  test('hasSymbol false beside symbols of a related company', () => {
    expect(refusals({ hasSymbol: false, symbols: ['VOD'], match: 'related' })).toBeNull()
  })

  test('q of 2 to 200 characters, counted as code points', () => {
    for (const q of ['📈📉', '📈'.repeat(200), 'ab', 'a'.repeat(200)]) expect(refusals({ q })).toBeNull()
  })

  test('match without identifiers to compare', () => {
    expect(refusals({ match: 'related', q: 'offer' })).toBeNull()
    expect(refusals({ match: 'exact' })).toBeNull()
  })
})

test('an event type that only webhooks get is accepted only for webhooks, wherever types are allowed', () => {
  const wanted = { types: ['webhook.disabled'] }
  expect(parseFilter(wanted, 'filter', webhookKinds)).toEqual(wanted)
  expect(parseFilter({ filters: [wanted] }, 'filter', webhookKinds)).toEqual({ filters: [wanted] })
  expect(refusals(wanted)?.['types[0]']).toMatch(/not one of published, amended, gap$/)
  expect(refusals({ exclude: wanted })?.['exclude.types[0]']).toMatch(/not one of/)
})

test('an event type may be named as events have it, where one kind is exactly that', () => {
  const types = ['disclosure.amended.v1', 'amended', 'webhook.disabled.v1', 'webhook.recovered.v1']
  expect(parseFilter({ types }, 'filter', webhookKinds)).toEqual({
    types: ['amended', 'webhook.disabled', 'webhook.recovered'],
  })
  expect(refusals({ types: ['webhook.disabled.v1'] })?.['types[0]']).toMatch(
    /not one of published, amended, gap$/,
  )
  expect(refusals({ types: ['bridge.gap.opened.v1'] })?.['types[0]']).toMatch(/not one of/)
})

describe('what is rejected, and with which message', () => {
  test.each<[string, unknown, string, string]>([
    ['a singular name', { isin: ['GB00BH4HKS39'] }, 'isin', 'did you mean "isins"?'],
    ['another singular name', { fcaCategory: ['FR'] }, 'fcaCategory', 'did you mean "fcaCategories"?'],
    ['a field that is like no other', { colour: 'red' }, 'colour', 'is not a field of a filter'],
    [
      'an unknown field inside',
      { exclude: { symbol: ['VOD'] } },
      'exclude.symbol',
      'did you mean "symbols"?',
    ],
    ['an empty list', { symbols: [] }, 'symbols', 'is empty'],
    ['a text for a list', { symbols: 'VOD' }, 'symbols', 'must be a list'],
    ['a number in a list', { symbols: ['VOD', 7] }, 'symbols[1]', 'must be text'],
    ['null', { q: null }, 'q', 'must be text'],
    ['a short ISIN', { isins: ['GB00BH4HKS3'] }, 'isins[0]', 'is not an ISIN'],
    ['an ISIN that ends in a letter', { isins: ['GB00BH4HKS3X'] }, 'isins[0]', 'is not an ISIN'],
    ['a short LEI', { leis: ['213800TB53ELEUKM7Q6'] }, 'leis[0]', 'is not an LEI'],
    ['a blank in a symbol', { symbols: ['V OD'] }, 'symbols[0]', 'is not a listing symbol'],
    ['a malformed code', { fcaCategories: ['F R'] }, 'fcaCategories[0]', 'is not a code'],
    ['an empty code', { nativeCategories: [''] }, 'nativeCategories[0]', 'is not a code'],
    ['a known code in lower case', { fcaCategories: ['fr'] }, 'fcaCategories[0]', 'did you mean "FR"?'],
    [
      'a known native code in lower case',
      { nativeCategories: ['Re'] },
      'nativeCategories[0]',
      'did you mean "RE"?',
    ],
    ['an unknown importance', { importance: ['hihg'] }, 'importance[0]', 'did you mean "high"?'],
    ['an unknown level with plus', { importance: 'heigh+' }, 'importance', 'did you mean "high"?'],
    ['a single level as text', { importance: 'high' }, 'importance', '"high+"'],
    ['an unknown preset', { preset: 'result' }, 'preset', 'did you mean "results"?'],
    ['an unknown type', { types: ['publish'] }, 'types[0]', 'is not one of published, amended, gap'],
    ['an unknown match', { isins: ['GB00BH4HKS39'], match: 'exactly' }, 'match', 'did you mean "exact"?'],
    ['a text for hasSymbol', { hasSymbol: 'true' }, 'hasSymbol', 'true or false'],
    ['q of one character', { q: 'a' }, 'q', '2 to 200 characters'],
    ['q of 201 characters', { q: 'a'.repeat(201) }, 'q', '2 to 200 characters'],
    ['q of one emoji', { q: '📈' }, 'q', '2 to 200 characters'],
    ['q of 201 emoji', { q: '📈'.repeat(201) }, 'q', '2 to 200 characters'],
    ['q of blanks', { q: '   ' }, 'q', 'not all of them blank'],
    ['q with half a character', { q: 'ab\ud800' }, 'q', 'plain text'],
    ['q with NUL', { q: 'ab\0' }, 'q', 'plain text'],
    ['symbols beside no symbol', { hasSymbol: false, symbols: ['VOD'] }, 'filter', 'can never match'],
    ['the same, exact', { hasSymbol: false, symbols: ['VOD'], match: 'exact' }, 'filter', 'can never match'],
    [
      'the same over two levels',
      { hasSymbol: false, filters: [{ symbols: ['VOD'] }] },
      'filters[0]',
      'can never match',
    ],
    [
      'the same the other way round',
      { symbols: ['VOD'], filters: [{ q: 'offer' }, { hasSymbol: false }] },
      'filters[1]',
      'can never match',
    ],
    ['an empty exclude', { exclude: {} }, 'exclude', 'is empty'],
    ['an exclude that only says how to compare', { exclude: { match: 'exact' } }, 'exclude', 'is empty'],
    ['a list for exclude', { exclude: [{ q: 'ab' }] }, 'exclude', 'must be a JSON object'],
    ['exclude in exclude', { exclude: { exclude: { q: 'ab' } } }, 'exclude.exclude', 'only at the top'],
    [
      'filters in filters',
      { filters: [{ filters: [{ q: 'ab' }] }] },
      'filters[0].filters',
      'only at the top',
    ],
    ['exclude in filters', { filters: [{ exclude: { q: 'ab' } }] }, 'filters[0].exclude', 'only at the top'],
    ['no filters', { filters: [] }, 'filters', 'is empty'],
    ['an empty member', { filters: [{ q: 'ab' }, {}] }, 'filters[1]', 'is empty'],
    ['an object for filters', { filters: { q: 'ab' } }, 'filters', 'must be a list'],
    ['a text', 'FR', 'filter', 'must be a JSON object'],
    ['null for all', null, 'filter', 'must be a JSON object'],
    ['a list for all', [], 'filter', 'must be a JSON object'],
  ])('%s', (_, value, field, message) => {
    expect(refusals(value)?.[field]).toContain(message)
  })

  test('every wrong field is reported with its path', () => {
    expect(Object.keys(refusals({ isin: 1, q: '', exclude: { leis: ['x'] } }, 'filter') ?? {})).toEqual([
      'filter.isin',
      'filter.q',
      'filter.exclude.leis[0]',
    ])
  })

  test('names of the prototype are unknown fields', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(refusals(JSON.parse(`{"${name}":{"isins":["GB00BH4HKS39"]}}`))?.[name]).toContain('not a field')
      expect(refusals(JSON.parse(`{"exclude":{"${name}":1}}`))?.[`exclude.${name}`]).toContain('not a field')
      expect(refusals({ preset: name })?.preset).toContain('is not one of')
    }
  })
})

describe('limits', () => {
  test('identifiers are counted over the whole filter', () => {
    const half = manyIsins(IDENTIFIER_LIMIT / 2)
    expect(refusals({ isins: half, exclude: { isins: half } })).toBeNull()
    expect(
      refusals({ isins: half, exclude: { isins: half }, filters: [{ symbols: ['VOD'] }] })?.filter,
    ).toContain('10001 identifiers; the most is 10000')
  })

  test('codes are counted over the whole filter', () => {
    const half = Array.from({ length: CODE_LIMIT / 2 }, (_, index) => `C${index}`)
    expect(refusals({ fcaCategories: half, nativeCategories: half, preset: 'no-routine' })).toBeNull()
    expect(
      refusals({ fcaCategories: half, exclude: { nativeCategories: [...half, 'RE'] } })?.filter,
    ).toContain('201 category codes; the most is 200')
  })

  test('filters has at most 32 members', () => {
    const members = Array.from({ length: MEMBER_LIMIT }, () => ({ q: 'offer' }))
    expect(refusals({ filters: members })).toBeNull()
    expect(refusals({ filters: [...members, { q: 'offer' }] })?.filters).toContain('the most is 32')
  })

  test('many wrong values are reported as at most twenty errors', () => {
    const flood = { isins: manyIsins(100_000).map((isin) => `${isin}!`), leis: Array(1000).fill(1) }
    expect(Object.keys(refusals(flood) ?? {})).toHaveLength(20)
    const names = Object.fromEntries(manyIsins(100_000).map((name) => [name, 1]))
    expect(Object.keys(refusals(names) ?? {})).toHaveLength(20)
  })

  test('huge and deep values are rejected without being traversed', () => {
    const deep = JSON.parse(`${'['.repeat(10_000)}${']'.repeat(10_000)}`)
    const deepObject = JSON.parse(`${'{"exclude":'.repeat(10_000)}{}${'}'.repeat(10_000)}`)
    expect(refusals({ isins: deep })?.['isins[0]']).toContain('must be text')
    expect(refusals(deepObject)?.['exclude.exclude']).toContain('only at the top')
    const message = refusals({ preset: 'x'.repeat(1_000_000), ['y'.repeat(1_000_000)]: 1 })
    expect(JSON.stringify(message).length).toBeLessThan(1000)
  })

  test('any JSON value gives a filter or a rejection', () => {
    const names = fc.constantFrom(
      'isins',
      'q',
      'match',
      'types',
      'importance',
      'exclude',
      'filters',
      'preset',
      '__proto__',
    )
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.dictionary(names, fc.jsonValue({ maxDepth: 2 })),
      fc.dictionary(names, fc.dictionary(names, fc.jsonValue({ maxDepth: 2 }))),
    )
    fc.assert(
      fc.property(value, (input) => {
        refusals(input)
      }),
    )
  })
})
