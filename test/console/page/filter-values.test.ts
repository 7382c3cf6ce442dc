/** The filter form writes filters that the bridge takes, each in one form, and as commands that a shell takes. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  commandsOf,
  filterText,
  filterWords,
  identifierField,
  importanceOf,
  levelsOf,
  notThis,
  onlyThis,
  readFilterText,
  tidyFilter,
} from '../../../src/console/page/parts/filter/filter-values.ts'
import { importances } from '../../../src/core/filter/filter.ts'
import { parseFilter } from '../../../src/core/filter/filter-parse.ts'

test('empty fields are left out and the others come in one order', () => {
  expect(
    filterText({
      preset: 'results',
      symbols: ['VOD'],
      isins: [],
      q: '',
      exclude: {},
      filters: [{}, { match: 'exact' }],
    }),
  ).toBe('{"symbols":["VOD"],"preset":"results"}')
  expect(filterText({ filters: [{ q: 'bid' }], exclude: { preset: 'results' } })).toBe(
    '{"exclude":{"preset":"results"},"filters":[{"q":"bid"}]}',
  )
  expect(filterText({})).toBe('')
})

test('what the form writes the bridge reads, to the same filter', () => {
  const level = fc.constantFrom(...importances)
  const plain = fc.record(
    {
      symbols: fc.uniqueArray(fc.constantFrom('VOD', 'BP.', 'TSCO'), { maxLength: 3 }),
      isins: fc.uniqueArray(fc.constantFrom('GB00BH4HKS39'), { maxLength: 1 }),
      match: fc.constantFrom('issuer' as const, 'related' as const),
      fcaCategories: fc.uniqueArray(fc.constantFrom('FR', 'IR'), { maxLength: 2 }),
      importance: fc.uniqueArray(level, { minLength: 1 }).map((levels) => importanceOf(levels) ?? []),
      q: fc.constantFrom('', 'possible offer'),
      types: fc.uniqueArray(fc.constantFrom('published' as const, 'amended' as const), { maxLength: 2 }),
      preset: fc.constantFrom('results', 'takeovers'),
    },
    { requiredKeys: [] },
  )
  const filter = fc
    .tuple(plain, fc.option(plain), fc.array(plain, { maxLength: 3 }))
    .map(([top, exclude, filters]) => ({ ...top, ...(exclude && { exclude }), filters }))
  fc.assert(
    fc.property(filter, (draft) => {
      const text = filterText(draft)
      const read = readFilterText(text)
      expect(read).not.toBeNull()
      expect(filterText(read ?? {})).toBe(text)
      expect(() => parseFilter(JSON.parse(text === '' ? '{}' : text))).not.toThrow()
    }),
  )
})

test('importance is written as short as the grammar allows, and expanded as the bridge does', () => {
  expect(importanceOf(['ultra', 'high'])).toBe('high+')
  expect(importanceOf(['ultra'])).toEqual(['ultra'])
  expect(importanceOf(['low', 'high'])).toEqual(['low', 'high'])
  expect(importanceOf([])).toBeUndefined()
  for (const level of importances)
    expect(levelsOf(`${level}+`)).toEqual(parseFilter({ importance: `${level}+` }).importance)
})

test('text that the form cannot show is not taken for a filter', () => {
  for (const text of [
    '[]',
    '5',
    'null',
    '"x"',
    '{',
    '{"symbols":"VOD"}',
    '{"filters":{}}',
    '{"filters":[5]}',
    '{"exclude":[]}',
    '{"q":5}',
    '{"symbols":[{"toString":1}]}',
  ])
    expect(readFilterText(text), text).toBeNull()
  // The form leaves empty fields out: taken, these would ask for more than their texts say.
  for (const text of [
    '{"symbols":[]}',
    '{"exclude":{"fcaCategories":[]}}',
    '{"q":""}',
    '{"filters":[{"isins":null}]}',
  ])
    expect(readFilterText(text), text).toBeNull()
  expect(readFilterText('{"unheardOf":1}')).toEqual({ unheardOf: 1 })
  expect(filterText({ unheardOf: 1 } as object)).toBe('{"unheardOf":1}')
})

test('a misspelt field stays where it is, so that the bridge refuses it instead of taking a wider filter', () => {
  for (const text of [
    '{"exclude":{"symbolz":["VOD"]}}',
    '{"q":"bid","filters":[{"preset":"results"},{"fcaCategorys":["FR"]}]}',
  ]) {
    expect(filterText(readFilterText(text) ?? {})).toBe(text)
    expect(() => parseFilter(JSON.parse(text))).toThrow()
  }
  expect(filterWords(readFilterText('{"exclude":{"symbolz":["VOD"]}}') ?? {})).toEqual([
    'without “symbolz”, which is no field of a filter',
  ])
})

test('a value of a row narrows the filter, and a second kind of exclusion is not offered', () => {
  expect(onlyThis({ symbols: ['VOD'] }, 'symbols', 'BP.')).toEqual({ symbols: ['VOD', 'BP.'] })
  const without = notThis({ preset: 'results' }, 'fcaCategories', 'NAV')
  expect(without).toEqual({ preset: 'results', exclude: { fcaCategories: ['NAV'] } })
  expect(notThis(without ?? {}, 'fcaCategories', 'POS')).toMatchObject({
    exclude: { fcaCategories: ['NAV', 'POS'] },
  })
  // It would leave out only what is both.
  expect(notThis(without ?? {}, 'symbols', 'VOD')).toBeNull()
})

test('an identifier is told by its shape', () => {
  expect(['GB00BH4HKS39', '213800TB53ELEUKM7Q61', 'BP.'].map(identifierField)).toEqual([
    'isins',
    'leis',
    'symbols',
  ])
})

test('the commands quote the filter for a shell', () => {
  const { tail, curl } = commandsOf({ q: "it's" }, 'http://127.0.0.1:8080', 'npx --no-install bridge')
  expect(tail).toBe(`npx --no-install bridge tail --filter '{"q":"it'\\''s"}'`)
  expect(curl).toContain(`--data-urlencode 'filter={"q":"it'\\''s"}' http://127.0.0.1:8080/v1/events`)
  expect(commandsOf({}, 'http://127.0.0.1:8080', 'bridge').tail).toBe('bridge tail')
})

test('a filter in words names each part once', () => {
  expect(filterWords({})).toEqual([])
  expect(
    filterWords(
      tidyFilter({ importance: 'high+', symbols: ['A', 'B', 'C', 'D', 'E'], exclude: { preset: 'results' } }),
    ),
  ).toEqual(['symbol A, B, C and 2 more', 'importance high and above', 'without preset results'])
})
