/** Filters are kept in the browser under names, and what lies in its storage besides does no harm. */
import { expect, test } from 'vitest'
import {
  LONGEST_NAME,
  MOST_NAMED,
  readNamed,
  withNamed,
  withoutNamed,
} from '../../../src/console/page/parts/filter/named-filters.ts'

test('filters are kept by name, replaced under the same name, and forgotten', () => {
  const one = withNamed('', { name: 'results', text: '{"preset":"results"}' })
  const two = withNamed(one, { name: 'all', text: '' })
  expect(readNamed(two)).toEqual([
    { name: 'all', text: '' },
    { name: 'results', text: '{"preset":"results"}' },
  ])
  const replaced = withNamed(two, { name: 'results', text: '{"q":"results"}' })
  expect(readNamed(replaced)).toContainEqual({ name: 'results', text: '{"q":"results"}' })
  expect(readNamed(withoutNamed(replaced, 'all'))).toHaveLength(1)
  expect(readNamed(withNamed('', { name: '__proto__', text: '{"q":"bid"}' }))).toHaveLength(1)
})

test('what is no named filter is left out', () => {
  const many = Object.fromEntries(Array.from({ length: MOST_NAMED + 5 }, (_, n) => [`f${n}`, { q: 'bid' }]))
  expect(readNamed(JSON.stringify(many))).toHaveLength(MOST_NAMED)
  for (const stored of ['', '{', '[]', 'null', '5', '{"a":5}', '{"a":{"symbols":"VOD"}}', '{"":{}}'])
    expect(readNamed(stored), stored).toEqual([])
  expect(readNamed(JSON.stringify({ ['x'.repeat(LONGEST_NAME + 1)]: {} }))).toEqual([])
})

test('what another version keeps stays when this one keeps or forgets a filter', () => {
  const theirs = JSON.stringify({ later: { symbols: 'VOD' }, results: { q: 'bid' } })
  const kept = withNamed(theirs, { name: 'all', text: '' })
  expect(JSON.parse(kept)).toEqual({ later: { symbols: 'VOD' }, results: { q: 'bid' }, all: {} })
  expect(JSON.parse(withoutNamed(kept, 'results'))).toEqual({ later: { symbols: 'VOD' }, all: {} })
})
