import { describe, expect, test } from 'vitest'
import { parseFilter } from '../../../src/core/filter/filter-parse.ts'
import { FILTER_PARAMETERS, parseFilterQuery } from '../../../src/core/filter/filter-query.ts'
import { isBridgeError } from '../../../src/errors.ts'

function parsed(query: string): unknown {
  return parseFilterQuery(new URLSearchParams(query))
}

function refusals(query: string): Record<string, string> | null {
  try {
    parsed(query)
    return null
  } catch (error) {
    if (!isBridgeError(error, 'filter_invalid')) throw error
    return Object.fromEntries(error.errors.map(({ field, message }) => [field, message]))
  }
}

describe('the query-string form', () => {
  test('is null where no parameter belongs to a filter', () => {
    expect(parsed('')).toBeNull()
    expect(parsed('after=x&limit=10&wait=5')).toBeNull()
  })

  test('means the same as the JSON form, other parameters left alone', () => {
    expect(
      parsed(
        'isins=gb00bh4hks39,IE00B8KQN827&symbols=VOD&symbols=BP.&leis=213800TB53ELEUKM7Q61&match=related' +
          '&fcaCategories=FR&fcaCategories=IR,ACS&nativeCategories=RE&importance=low,ultra&q=offer%2C+final' +
          '&hasSymbol=true&types=published,gap&preset=no-routine&limit=5',
      ),
    ).toEqual(
      parseFilter({
        isins: ['GB00BH4HKS39', 'IE00B8KQN827'],
        symbols: ['VOD', 'BP.'],
        leis: ['213800TB53ELEUKM7Q61'],
        match: 'related',
        fcaCategories: ['FR', 'IR', 'ACS'],
        nativeCategories: ['RE'],
        importance: ['low', 'ultra'],
        q: 'offer, final',
        hasSymbol: true,
        types: ['published', 'gap'],
        preset: 'no-routine',
      }),
    )
  })

  test.each(['importance=high+', 'importance=high%2B', 'importance=high%20'])(
    '%s selects that level and above, however the plus is encoded',
    (query) => {
      expect(parsed(query)).toEqual({ importance: ['high', 'ultra'] })
    },
  )

  test('one level without plus is a list of one', () => {
    expect(parsed('importance=high')).toEqual({ importance: ['high'] })
  })

  test('hasSymbol accepts true and false', () => {
    expect(parsed('hasSymbol=false')).toEqual({ hasSymbol: false })
  })

  test('filter=<JSON> accepts the whole grammar', () => {
    const filter = { exclude: { fcaCategories: ['TVR'] }, filters: [{ symbols: ['VOD'] }, { q: 'offer' }] }
    expect(parsed(`filter=${encodeURIComponent(JSON.stringify(filter))}&limit=5`)).toEqual(filter)
    expect(parsed('filter={}')).toEqual({})
  })

  test('every listed parameter is parsed as a filter', () => {
    for (const name of FILTER_PARAMETERS) expect(refusals(`${name}=`)).not.toBeNull()
  })
})

describe('what the query-string form rejects', () => {
  test.each([
    ['isins=', 'isins', 'is empty'],
    ['isins=GB00BH4HKS39,,IE00B8KQN827', 'isins[1]', 'is not an ISIN'],
    ['fcaCategories=fr', 'fcaCategories[0]', 'did you mean "FR"?'],
    ['importance=high+,low', 'importance[0]', '"high "'],
    ['importance=heigh+', 'importance', 'did you mean "high"?'],
    ['q=a', 'q', '2 to 200'],
    ['hasSymbol=yes', 'hasSymbol', 'true or false'],
    ['hasSymbol=__proto__', 'hasSymbol', 'true or false'],
    ['hasSymbol=false&symbols=VOD', 'filter', 'can never match'],
    ['preset=results&preset=takeovers', 'preset', 'more than once'],
    ['q=offer&q=final', 'q', 'more than once'],
    ['exclude=x', 'exclude', 'only inside filter=<JSON>'],
    ['filters=x&q=offer', 'filters', 'only inside filter=<JSON>'],
    ['filter={}&symbols=VOD', 'symbols', 'does not go together with filter=<JSON>'],
    ['filter={}&filter={}', 'filter', 'more than once'],
    ['filter=', 'filter', 'is not JSON'],
    ['filter={"q":', 'filter', 'is not JSON'],
    ['filter={"q":"offer","q":"final"}', 'filter', 'has "q" twice in one object'],
    ['filter={"exclude":{"q":"ab","\\u0071":"cd"}}', 'filter', 'has "q" twice'],
    ['filter=[]', 'filter', 'must be a JSON object'],
    ['filter={"isin":["x"]}', 'filter.isin', 'did you mean "isins"?'],
    ['filter={"__proto__":{"q":"ab"}}', 'filter.__proto__', 'not a field'],
  ])('%s', (query, field, message) => {
    expect(refusals(query)?.[field]).toContain(message)
  })

  test('JSON nested 10,000 deep', () => {
    const deep = '{"exclude":'.repeat(10_000)
    expect(refusals(`filter=${deep}{}${'}'.repeat(10_000)}`)?.filter).toContain('nested deeper')
    expect(refusals(`filter=${deep}`)?.filter).toContain('is not JSON')
  })
})
