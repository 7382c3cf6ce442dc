import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fundTarget, pageSizeOf } from '../../src/upstream/fund-target.ts'

test('equivalent requests have one normal form: known parameters sorted by name, no needless escapes', () => {
  const same = [
    ['/nav?pageSize=5&isins=A,B', '/nav?isins=A%2CB&pageSize=5', '/nav?pageSize=5&channel=x&isins=A%2cB'],
    ['/nav/XLON%3AABC', '/nav/XLON:ABC?pageSize=3', '/nav/%58LON:ABC?'],
    [
      '/dividends/ABC/history?pageNumber=2&dateFrom=2024',
      '/dividends/ABC/history?dateFrom=2024&pageNumber=2',
    ],
  ]
  for (const spellings of same) {
    const [first] = spellings.map(fundTarget)
    expect(first).toEqual(expect.any(String))
    expect(spellings.map(fundTarget)).toEqual(spellings.map(() => first))
  }
  expect(fundTarget('/nav?isin=B&isin=A')).toBe('/nav?isin=B&isin=A')
  expect(pageSizeOf('/nav?isins=A&pageSize=7')).toBe(7)
  expect(pageSizeOf('/nav')).toBe(null)
})

test('only the nine paths are fund requests, however they are written', () => {
  const others = [
    '',
    '/',
    '/nav/',
    '/nav/%',
    '/nav/..',
    '/nav/%2e%2e',
    '/nav/A%2F..%2FB',
    '/events/A/history',
  ]
  const items = [
    '/disclosures/sources/rns/items',
    '/references/exchanges',
    '/nav/A/history/b',
    'nav',
    '//nav/A',
  ]
  for (const target of [...others, ...items]) expect([target, fundTarget(target)]).toEqual([target, null])
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), (segment, query) => {
      const target = fundTarget(`/nav/${segment}?${query}`)
      expect(target === null || /^\/nav\/[A-Z0-9][A-Z0-9.:]*$/.test(target)).toBe(true)
    }),
  )
})

test('normalising a normalised request changes nothing', () => {
  const names = fc.constantFrom('isins', 'isin', 'pageSize', 'sinceCursor', 'other')
  fc.assert(
    fc.property(fc.array(fc.tuple(names, fc.string())), (parameters) => {
      const target = fundTarget(`/nav?${new URLSearchParams(parameters)}`)
      expect(fundTarget(target ?? '')).toBe(target)
    }),
  )
})
