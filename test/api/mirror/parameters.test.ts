import { describe, expect, test } from 'vitest'
import { readListQuery } from '../../../src/api/mirror/list-query.ts'
import { MirrorRefusal } from '../../../src/api/mirror/refusal.ts'
import type { PlanName } from '../../../src/core/plans.ts'
import { guids, item } from '../../sandbox/sandbox-client.ts'
import { NOW_MS, openMirror } from './mirror-server.ts'

const isin = (code: string, symbol?: string) => ({
  issuer: {
    name: `Issuer ${code}`,
    instrument: { isin: code, ...(symbol === undefined ? {} : { symbol: { mnemonic: symbol } }) },
  },
})
const tagged = (kind: string, code: string) => ({ category: [{ kind, code, name: code }] })

const items = [
  item('a', '2026-02-03T07:00:00Z', { ...isin('GB01', 'AAA'), ...tagged('FCA', 'FR') }),
  item('b', '2026-02-02T07:00:00Z', { ...isin('GB02', 'BBB'), ...tagged('Native', 'HO') }),
  item('c', '2026-02-01T07:00:00Z', {
    ...isin('GB03'),
    ...tagged('FCA', 'NAV'),
    headline: 'Net Asset Value',
  }),
  item('d', '2025-06-01T07:00:00Z', { ...isin('GB01', 'AAA') }),
]

const asPlan = (plan: PlanName) => ({ authenticate: () => ({ plan }) })

describe('both forms of a filter', () => {
  const forms = [
    { plural: 'isins=GB01,GB02', singular: 'isin=GB01&isin=GB02', found: ['a', 'b', 'd'] },
    { plural: 'symbols=AAA,BBB', singular: 'symbol=AAA&symbol=BBB', found: ['a', 'b', 'd'] },
    { plural: 'fcaCategories=FR,NAV', singular: 'fcaCategory=FR&fcaCategory=NAV', found: ['a', 'c'] },
    { plural: 'nativeCategories=HO,RE', singular: 'nativeCategory=HO&nativeCategory=RE', found: ['b'] },
  ]
  for (const { plural, singular, found } of forms) {
    test(`${plural} and ${singular} match the same items; with both the plural one applies, with a warning`, async () => {
      const { publish, list } = await openMirror()
      publish(items)
      const [fromPlural, fromSingular] = [await list(plural), await list(singular)]
      expect(guids(fromPlural)).toEqual(found)
      expect(guids(fromSingular)).toEqual(found)
      expect(fromPlural.body).not.toHaveProperty('warnings')
      const both = await list(`${plural}&${singular.split('=')[0]}=nothing`)
      expect(guids(both)).toEqual(found)
      expect(both.body.warnings).toEqual([expect.stringContaining(`${singular.split('=')[0]} was ignored`)])
    })
  }

  test('the native filter uses the parameter name of the live service', async () => {
    const { publish, list } = await openMirror({ nativeWord: 'house' })
    publish(items)
    expect(guids(await list('houseCategories=HO'))).toEqual(['b'])
    expect(guids(await list('houseCategory=HO'))).toEqual(['b'])
    expect(guids(await list('nativeCategories=HO'))).toEqual(['a', 'b', 'c'])
  })
})

describe('plan entitlements', () => {
  const filters = [
    { query: 'isins=GB02', name: 'isins', since: 'lite', all: ['a', 'b', 'c'] },
    { query: 'isin=GB02', name: 'isin', since: 'lite', all: ['a', 'b', 'c'] },
    { query: 'symbol=BBB', name: 'symbol', since: 'lite', all: ['a', 'b', 'c'] },
    { query: 'nativeCategories=HO', name: 'nativeCategories', since: 'advanced', all: ['a', 'b', 'c'] },
    { query: 'fcaCategory=NAV', name: 'fcaCategory', since: 'advanced', all: ['a', 'b', 'c'] },
    { query: 'q=asset', name: 'q', since: 'advanced', all: ['a', 'b', 'c'] },
  ] as const
  const order = ['free', 'lite', 'advanced', 'ultimate', 'enterprise'] as const
  for (const { query, name, since, all } of filters) {
    test(`${query} works from ${since} on; below it is ignored with a warning`, async () => {
      for (const plan of order) {
        const { publish, list } = await openMirror(asPlan(plan))
        publish(items)
        const reply = await list(query)
        expect(reply.status).toBe(200)
        if (order.indexOf(plan) >= order.indexOf(since)) {
          expect(guids(reply)).toHaveLength(1)
          expect(reply.body.warnings).toBeUndefined()
        } else {
          expect(guids(reply)).toEqual(all)
          expect(reply.body.warnings).toEqual([`${name} was ignored: it needs the plan "${since}" or above.`])
        }
      }
    })
  }

  test('an empty filter is ignored with a warning where the plan lacks it, and answers 400 where it has it', async () => {
    const { list } = await openMirror(asPlan('free'))
    for (const query of ['fcaCategories=', 'nativeCategory=', 'isins=,', 'symbol=', 'q=']) {
      const reply = await list(query)
      expect({ query, status: reply.status, warnings: reply.body.warnings }).toEqual({
        query,
        status: 200,
        warnings: [expect.stringMatching(/^\w+ was ignored: it needs the plan/)],
      })
      const { list: whole } = await openMirror()
      expect((await whole(query)).status).toBe(400)
    }
  })

  test('channel works only on enterprise, and only with a known channel', async () => {
    const ultimate = await openMirror(asPlan('ultimate'))
    expect((await ultimate.list('channel=bot')).body.warnings).toEqual([
      'channel was ignored: it needs the plan "enterprise" or above.',
    ])
    const enterprise = await openMirror()
    enterprise.publish(
      Array.from({ length: 40 }, (_, index) => item(`many-${index}`, '2026-02-03T07:00:00Z')),
    )
    const found = guids(await enterprise.list('channel=bot'))
    expect(found.length).toBeGreaterThan(0)
    expect(found.length).toBeLessThan(40)
    const wrong = await enterprise.list('channel=widgets')
    expect(wrong.status).toBe(400)
    expect(wrong.body.error?.message).toContain('did you mean "widget"?')
    const without = await openMirror({ channel: 'ignore' })
    expect((await without.list('channel=bot')).body.warnings).toEqual([
      'channel was ignored: no item here carries a distribution channel.',
    ])
  })

  for (const [plan, ceiling] of [
    ['free', 50],
    ['lite', 50],
    ['advanced', 100],
    ['ultimate', 200],
    ['enterprise', 200],
  ] as const) {
    test(`a page on ${plan} holds at most ${ceiling}; more is refused with a hint`, async () => {
      const refused: string[] = []
      const { list } = await openMirror({
        ...asPlan(plan),
        onRefused: (violation) => refused.push(violation),
      })
      expect((await list(`pageSize=${ceiling}`)).body.meta.paging.pageSize).toBe(ceiling)
      const above = await list(`pageSize=${ceiling + 1}`)
      expect(above.status).toBe(400)
      expect(above.body.error?.message).toContain('pageSize')
      expect(refused).toEqual([ceiling === 200 ? 'parameter_invalid' : 'page_size_above_plan'])
      if (ceiling < 200) expect(above.body.error?.hint).toContain(`pageSize=${ceiling} or less`)
    })
  }
})

describe('the default range', () => {
  test('covers the 30 days before now, or before dateTo', async () => {
    const { publish, list } = await openMirror()
    publish([
      item('inside', new Date(NOW_MS - 30 * 86_400_000).toISOString()),
      item('outside', new Date(NOW_MS - 30 * 86_400_000 - 1000).toISOString()),
      item('old', '2025-05-10T00:00:00Z'),
      item('older', '2025-04-30T00:00:00Z'),
    ])
    expect(guids(await list())).toEqual(['inside'])
    expect(guids(await list('dateTo=2025-05-31'))).toEqual(['old'])
    expect(guids(await list('dateFrom=2025&dateTo=2025'))).toEqual(['old', 'older'])
  })

  test('moves with the clock, and a page scan keeps the range of its first page', async () => {
    let nowMs = NOW_MS
    const { publish, list } = await openMirror({ now: () => nowMs })
    publish(items)
    const first = await list('pageSize=1')
    nowMs += 60_000
    expect(guids(await list(`pageSize=1&pageCursor=${first.body.meta.paging.nextCursor}`))).toEqual(['b'])
  })

  test('and explicit bounds are inclusive', async () => {
    const { publish, list } = await openMirror()
    publish(items)
    expect(guids(await list('dateFrom=2026-02-02T07:00:00Z&dateTo=2026-02-03T07:00:00Z'))).toEqual(['a', 'b'])
    expect(guids(await list('dateFrom=2026-02-02T07:00:01Z&dateTo=2026-02-03T06:59:59Z'))).toEqual([])
    expect(guids(await list('dateFrom=2026-02-02T07:00&dateTo=2026-02-02T07:00'))).toEqual(['b'])
    expect(guids(await list('dateFrom=2026-02-03&dateTo=2026-02-01'))).toEqual([])
  })

  test('is not applied with an instrument or listing filter that the plan has', async () => {
    const { publish, list } = await openMirror()
    publish(items)
    expect(guids(await list('isins=GB01'))).toEqual(['a', 'd'])
    expect(guids(await list('symbol=AAA'))).toEqual(['a', 'd'])
    expect(guids(await list('isins=GB01&dateFrom=2026'))).toEqual(['a'])
    const free = await openMirror(asPlan('free'))
    free.publish(items)
    expect(guids(await free.list('isins=GB01'))).toEqual(['a', 'b', 'c'])
  })
})

describe('refused parameters', () => {
  const wrong = [
    ['pageSize=0', 'pageSize must be a whole number from 1 to 200, got "0"'],
    ['pageSize=201', 'pageSize must be a whole number from 1 to 200, got "201"'],
    ['pageSize=ten', 'pageSize must be a whole number'],
    ['pageSize=', 'pageSize must be a whole number'],
    ['pageSize=1e1', 'pageSize must be a whole number'],
    ['pageSize=5&pageSize=6', 'pageSize is given 2 times'],
    ['pageNumber=0', 'pageNumber must be a whole number'],
    ['pageNumber=99999999999999', 'pageNumber must be a whole number'],
    ['dateFrom=yesterday', 'dateFrom: "yesterday" is not a date'],
    ['dateTo=2026-02-30', 'dateTo: "2026-02-30" is not a date'],
    ['dateTo=', 'dateTo: "" is not a date'],
    ['match=exakt', 'match cannot be "exakt" – did you mean "exact"?'],
    ['hasSymbol=yes', 'hasSymbol cannot be "yes"'],
    ['isins=', 'isins is empty'],
    ['symbol=', 'symbol is empty'],
    ['q=', 'q is empty'],
    ['pageCursor=x&pageNumber=1', 'pageCursor and pageNumber exclude each other'],
    ['pageCursor=x&sinceCursor=x', 'pageCursor and sinceCursor exclude each other'],
    ['sinceCursor=x&pageNumber=1', 'pageNumber and sinceCursor exclude each other'],
    ['sinceCursor=nonsense', 'sinceCursor is not a cursor of this service'],
    ['sinceCursor=', 'sinceCursor is not a cursor of this service'],
    ['pageCursor=nonsense', 'pageCursor is not a cursor of this service'],
  ] as const
  test('answer 400 and say what is wrong', async () => {
    const { list } = await openMirror()
    for (const [query, message] of wrong) {
      const { status, body } = await list(query)
      expect({ query, status, message: body.error?.message }).toEqual({
        query,
        status: 400,
        message: expect.stringContaining(message),
      })
    }
  })

  test('a page cursor is valid only for its own filters, whatever the order of a list', async () => {
    const refused: string[] = []
    const { publish, list } = await openMirror({ onRefused: (violation) => refused.push(violation) })
    publish(items)
    const first = await list('isins=GB01,GB02&pageSize=1')
    const pageCursor = first.body.meta.paging.nextCursor
    expect(guids(await list(`isin=GB02&isin=GB01&pageSize=2&pageCursor=${pageCursor}`))).toEqual(['b', 'd'])
    for (const other of ['isins=GB01', 'isins=GB01,GB02&dateFrom=2025', '']) {
      const reply = await list(`${other}&pageCursor=${pageCursor}`)
      expect(reply.status).toBe(400)
      expect(reply.body.error?.hint).toContain('filters of the first request')
    }
    expect(refused).toEqual(Array.from({ length: 3 }, () => 'page_cursor_of_other_query'))
    expect((await list(`sinceCursor=${pageCursor}`)).status).toBe(400)
  })

  test('an unknown parameter is ignored, silently or with a warning that names the closest match', async () => {
    const silent = await openMirror()
    expect((await silent.list('cursor=x&page=2')).body).not.toHaveProperty('warnings')
    const warning = await openMirror({ unknownParameters: 'warn' })
    expect((await warning.list('pageCursr=x&pageSize=1')).body.warnings).toEqual([
      'pageCursr was ignored: there is no such parameter – did you mean "pageCursor"?',
    ])
  })
})

test('reading a query returns a query or a refusal, whatever is sent', () => {
  const context = {
    plan: 'enterprise',
    nowMs: NOW_MS,
    nativeWord: 'native',
    channel: 'serve',
    pollRange: 'default',
  } as const
  for (const text of [
    '%',
    '%00=%ff',
    '__proto__=1',
    'constructor=x&pageSize=%E0',
    'q=%00',
    `q=${'x'.repeat(50_000)}`,
  ]) {
    const read = () => {
      try {
        return readListQuery(new URLSearchParams(text), context)
      } catch (error) {
        return error instanceof MirrorRefusal ? error : null
      }
    }
    expect(read()).not.toBeNull()
  }
})
