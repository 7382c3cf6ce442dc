import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fundTarget, readFundTarget } from '../../src/upstream/fund-target.ts'

/** The one spelling of a target, or null. */
function spelt(target: string): string | null {
  const request = readFundTarget(target)
  return request === null ? null : fundTarget(request)
}

test('equivalent requests have one normal form: known parameters sorted by name, no needless escapes', () => {
  const same = [
    ['/nav?pageSize=5&isins=A,B', '/nav?isins=A%2CB&pageSize=5', '/nav?pageSize=5&channel=x&isins=A%2cB'],
    ['/nav', '/nav/', '/nav/?', '/nav?channel=x'],
    ['/nav/vod', '/nav/v%6Fd', '/nav/vod/?'],
    ['/nav/BT-A', '/nav/BT%2DA'],
    ['/nav/XLON%3AABC', '/nav/XLON:ABC?pageSize=3', '/nav/%58LON:ABC?', '/nav/XLON:ABC/'],
    [
      '/dividends/ABC/history?pageNumber=2&dateFrom=2024',
      '/dividends/ABC/history?dateFrom=2024&pageNumber=2',
      '/dividends/ABC/history/?dateFrom=2024&pageNumber=2',
    ],
  ]
  for (const spellings of same) {
    const [first] = spellings.map(spelt)
    expect(first).toEqual(expect.any(String))
    expect(spellings.map(spelt)).toEqual(spellings.map(() => first))
  }
  expect(spelt('/nav?isin=B&isin=A')).toBe('/nav?isin=B&isin=A')
})

test('only the nine paths are fund requests, however they are written', () => {
  const others = [
    '',
    '/',
    '/nav//',
    '/nav/A//',
    '/nav/%',
    '/nav/..',
    '/nav/%2e%2e',
    '/nav/A%2F..%2FB',
    '/nav/A%252FB',
    '/nav/..;',
    '/nav/A;b',
    '/nav/A%20B',
    '/nav/A%00',
    `/nav/${'A'.repeat(65)}`,
    '/events/A/history',
  ]
  const items = [
    '/disclosures/sources/rns/items',
    '/references/exchanges',
    '/nav/A/history/b',
    'nav',
    '//nav/A',
  ]
  for (const target of [...others, ...items]) expect([target, spelt(target)]).toEqual([target, null])
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), (segment, query) => {
      const target = spelt(`/nav/${segment}?${query}`)
      expect(target ?? '/nav').toMatch(/^\/nav(\/[A-Za-z0-9][^/%;\\#\s]*)?(\?|$)/)
    }),
  )
})

test('normalising a normalised request changes nothing', () => {
  const names = fc.constantFrom('isins', 'isin', 'pageSize', 'sinceCursor', 'other')
  fc.assert(
    fc.property(fc.array(fc.tuple(names, fc.string())), (parameters) => {
      const target = spelt(`/nav?${new URLSearchParams(parameters)}`)
      expect(spelt(target ?? '')).toBe(target)
    }),
  )
})

test('a request is read with its resource, identifier and parameters; a number that is none makes it unreadable', () => {
  expect(readFundTarget('/nav?isins=A,B&pageSize=7&sinceCursor=a%2Bb')).toEqual({
    ...{ resource: 'nav', identifier: null, history: false },
    ...{ isins: ['A', 'B'], pageSize: 7, sinceCursor: 'a+b' },
  })
  expect(readFundTarget('/dividends/XLON%3AABC/history?dateFrom=2024&dateTo=2024-03&pageNumber=2')).toEqual({
    ...{ resource: 'dividends', identifier: 'XLON:ABC', history: true },
    ...{ dateFrom: '2024', dateTo: '2024-03', pageNumber: 2 },
  })
  expect(readFundTarget('/events/ABC?pageSize=x')).toEqual({
    resource: 'events',
    identifier: 'ABC',
    history: false,
  })
  for (const target of ['/nav?pageSize=x', '/nav/A/history?pageNumber=1.5', '/nav?pageNumber=-1']) {
    expect([target, readFundTarget(target)]).toEqual([target, null])
  }
})
