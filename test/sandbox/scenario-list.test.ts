import { describe, expect, test } from 'vitest'
import { contentHash, readDisclosure } from '../../src/core/disclosure.ts'
import type { TruthItem } from '../../src/sandbox/market/market.ts'
import { scenarios } from '../../src/sandbox/scenario-list.ts'
import { namesInTable } from '../support/house/page-rules.ts'
import { textFiles } from '../support/house/repository.ts'
import { type FullItem, listed, openMarket, second, toTheEnd } from './market/market-view.ts'

const names = Object.keys(scenarios)
/** Longest stretch of its own clock, skips apart, that a scenario may need. */
const LONGEST_MS = 15 * 60_000

/** All items of a scenario after its start, in the order in which they became visible. */
function shown(name: string, seed = 1): { item: FullItem; truth: TruthItem }[] {
  const { market, clock } = openMarket(name, { seed })
  toTheEnd(clock)
  const { items } = market.truth()
  const byGuid = new Map(
    listed(market)
      .map((raw) => JSON.parse(raw) as FullItem)
      .map((item) => [item.guid, item]),
  )
  return items.flatMap((truth) => {
    const item = byGuid.get(truth.guid)
    return item === undefined ? [] : [{ item, truth }]
  })
}

describe('every scenario', () => {
  test.each(names)('%s: ends in time, and the listings match the sandbox’s own record', (name) => {
    const { market, clock } = openMarket(name, { seed: 2, backlog: 20 })
    expect(market.finished()).toBe(false)
    clock.advance(LONGEST_MS)
    expect(market.finished()).toBe(!scenarios[name]?.goesOn)
    const { items, backlog, malformed } = market.truth()
    expect(items.length).toBeGreaterThan(0)
    const latest = new Map([...backlog, ...items].map((item) => [item.guid, item]))
    const expected = [...latest.values()]
      .filter(({ vanishedAt }) => vanishedAt === null)
      .map((item) => `${item.guid} ${item.contentHash}`)
    const values: unknown[] = listed(market).map((raw) => JSON.parse(raw))
    const readable = values.flatMap((value) => {
      const read = readDisclosure(value)
      return read.ok ? [`${read.disclosure.guid} ${contentHash(value)}`] : []
    })
    expect(readable.toSorted()).toEqual(expected.toSorted())
    expect(values.length - readable.length).toBe(malformed.length)
    const tooEarly = items.filter(
      ({ timestamp, insertedAt }) => Date.parse(insertedAt) < Date.parse(timestamp),
    )
    expect(tooEarly).toEqual([])
  })

  test('is in the docs, and the docs list no others', () => {
    const page = textFiles().find(({ path }) => path === 'docs/use/sandbox.md')?.text ?? ''
    expect(namesInTable(page, 'Scenarios')).toEqual(names)
  })
})

describe('burst scenarios do what their names say', () => {
  test('slipped-burst: starts up to five seconds late and pauses until :12, :22 and :26', () => {
    const starts = [1, 2, 3, 4, 5, 6].map((seed) => {
      const seconds = [...new Set(shown('slipped-burst', seed).map(({ truth }) => second(truth.insertedAt)))]
      const inBurst = seconds.filter((at) => at <= '07:00:09')
      expect(seconds.filter((at) => at > '07:00:09')).toEqual(
        ['12', '13', '22', '23', '26', '27', '28'].map((at) => `07:00:${at}`),
      )
      return inBurst[0] ?? ''
    })
    for (const start of starts) expect(start >= '07:00:02' && start <= '07:00:06').toBe(true)
    expect(new Set(starts).size).toBeGreaterThan(1)
  })

  test('out-of-order-burst: 38 items become visible after an item with a later timestamp', () => {
    const items = shown('out-of-order-burst').map(({ truth }) => truth)
    const overtaking = items.findIndex(({ timestamp }) => timestamp === '2026-02-03T07:00:22Z')
    const overtaken = items.slice(overtaking).filter(({ timestamp }) => timestamp < '2026-02-03T07:00:07Z')
    expect([items.length, overtaken.length]).toEqual([129, 38])
  })

  test('panel-rush: only Takeover Panel forms, most of them about another company', () => {
    const items = shown('panel-rush').map(({ item }) => item)
    expect(items).toHaveLength(180)
    expect(new Set(items.map(({ category }) => category[1]?.code))).toEqual(
      new Set(['RET', 'FER', 'FEO', 'DCC', 'FEE']),
    )
    expect(items.filter(({ related }) => related !== undefined).length).toBeGreaterThan(140)
  })

  test('tvr-flood: 300 Total Voting Rights on the last business day of February', () => {
    const items = shown('tvr-flood').map(({ item }) => item)
    expect(items.map(({ category }) => category[1]?.code)).toEqual(Array(300).fill('TVR'))
    expect(new Set(items.map(({ timestamp }) => timestamp.slice(0, 10)))).toEqual(new Set(['2026-02-27']))
  })
})

describe('special-day scenarios do what their names say', () => {
  test('summer-morning: the bursts are at 06:00Z and 06:10Z', () => {
    const times = shown('summer-morning').map(({ item }) => item.timestamp.slice(0, 16))
    expect([...Map.groupBy(times, (time) => time)].map(([time, all]) => [time, all.length])).toEqual([
      ['2026-07-07T06:00', 80],
      ['2026-07-07T06:10', 120],
    ])
  })

  test.each([
    ['half-day', '2026-12-24T13:30:00Z', 76],
    ['end-of-day', '2026-02-03T18:30:00Z', 11],
  ] as const)('%s: its last item is the end-of-day marker', (name, at, count) => {
    const items = shown(name).map(({ item }) => item)
    expect(items).toHaveLength(count)
    expect(items.at(-1)).toMatchObject({ timestamp: at, category: [{}, { kind: 'FCA', code: 'EOD' }] })
    expect(items.filter(({ category }) => category[1]?.code === 'EOD')).toHaveLength(1)
  })

  test('bank-holiday: nothing on Monday, a burst on Tuesday', () => {
    const { market, clock } = openMarket('bank-holiday')
    clock.advance(20_000)
    expect(market.truth().items).toEqual([])
    expect(new Date(market.nowMs()).toISOString()).toBe('2026-05-05T05:59:55.000Z')
    clock.advance(15_000)
    expect(market.truth().items).toHaveLength(40)
    expect(market.truth().backlog.every(({ timestamp }) => timestamp.startsWith('2026-05-01'))).toBe(true)
  })
})

test('corrections: ten items replace listed ones, three replace items that were never listed', () => {
  const items = shown('corrections').map(({ item }) => item)
  const guids = new Set(items.map(({ guid }) => guid))
  const replaced = items.flatMap(({ replaces }) => replaces?.guid ?? [])
  expect([items.length, replaced.length]).toEqual([40, 13])
  expect(replaced.filter((guid) => !guids.has(guid))).toHaveLength(3)
})

test('later-versions: ten announcements in three versions each, every later one replaces the one before', () => {
  const items = shown('later-versions').map(({ item }) => item)
  const byNumber = [...Map.groupBy(items, ({ rnsId }) => rnsId).values()]
  expect(byNumber.map((all) => all.map(({ version }) => version))).toEqual(Array(10).fill([1, 2, 3]))
  for (const [first, second, third] of byNumber) {
    expect(first?.replaces).toBeUndefined()
    expect(second?.replaces).toEqual({ guid: first?.guid, version: 1 })
    expect(third?.replaces).toEqual({ guid: second?.guid, version: 2 })
    expect([first, second, third].map((item) => item?.guid.split(':').at(-1))).toEqual(['1', '2', '3'])
    expect(new Set([first, second, third].map((item) => item?.issuer.name)).size).toBe(1)
  }
})

describe('odd-item scenarios do what their names say', () => {
  test('many-categories: a third of the items has two FCA codes, a third three, and most of both two native codes', () => {
    const items = shown('many-categories').map(({ item }) => item)
    const codesOf = (wanted: string) =>
      items.map(({ category }) => category.filter(({ kind }) => kind === wanted).map(({ code }) => code))
    const fca = codesOf('FCA')
    const native = codesOf('Native')
    for (const codes of [...fca, ...native]) expect(new Set(codes).size).toBe(codes.length)
    expect(fca.map(({ length }) => length)).toEqual(Array(8).fill([2, 3, 1]).flat())
    expect(native.map(({ length }) => length)).toEqual(Array(8).fill([2, 2, 1]).flat())
  })

  test('no-derivatives: every second item has no derivatives', () => {
    const has = shown('no-derivatives').map(({ item }) => 'derivatives' in item)
    expect(has).toEqual(Array(10).fill([false, true]).flat())
  })

  test('id-wrap: numbers wrap around, and those of half a year ago are reused under other guids', () => {
    const { market, clock } = openMarket('id-wrap', { backlog: 0 })
    toTheEnd(clock)
    const items = listed(market).map((raw) => JSON.parse(raw) as FullItem)
    const now = items.filter(({ timestamp }) => timestamp.startsWith('2026'))
    const then = items.filter(({ timestamp }) => timestamp.startsWith('2025'))
    const ids = now.map(({ rnsId }) => rnsId).reverse()
    expect(ids.slice(8, 12)).toEqual(['9998Z', '9999Z', '0000A', '0001A'])
    expect(then.map(({ rnsId }) => rnsId).reverse()).toEqual(ids)
    expect(new Set(items.map(({ guid }) => guid)).size).toBe(40)
  })

  test('null-version: every second item has version null', () => {
    const versions = shown('null-version').map(({ item }) => item.version)
    expect(versions.filter((version) => version === null)).toHaveLength(10)
  })

  test('rns-kind: every second item has a category of a third kind', () => {
    const items = shown('rns-kind').map(({ item }) => item)
    expect(items.filter(({ category }) => category.some(({ kind }) => kind === 'RNS'))).toHaveLength(10)
  })

  test('unknown-codes: three codes outside the list, and an unknown importance', () => {
    const tags = shown('unknown-codes').map(({ item }) => item.category[1])
    const codes = tags.map((tag) => tag?.code)
    for (const code of ['ADM', 'PRE', 'Z/9 x']) expect(codes.filter((each) => each === code)).toHaveLength(6)
    expect(tags.filter((tag) => tag?.importance === 'critical')).toHaveLength(6)
  })

  test('missing-fields: each of four members is missing in every fourth item', () => {
    const issuers = shown('missing-fields').map(({ item }) => item.issuer)
    const turn = (index: number) => issuers.filter((_, place) => place % 4 === index)
    expect(turn(0).filter((issuer) => issuer.instrument?.symbol !== undefined)).toEqual([])
    expect(turn(1).filter((issuer) => issuer.lei !== undefined)).toEqual([])
    expect(turn(2).filter((issuer) => issuer.instrument !== undefined)).toEqual([])
    expect(turn(3).filter((issuer) => issuer.name !== undefined)).toEqual([])
    expect(turn(3).every((issuer) => issuer.instrument !== undefined)).toBe(true)
  })

  test('blank-headlines: every headline ends in spaces and none is too long', () => {
    for (const { item } of shown('blank-headlines')) expect(item.headline).toMatch(/^.{1,48} {2}$/)
  })

  test('fractional-seconds: 0 to 9 decimals, each visible at its own millisecond', () => {
    const all = shown('fractional-seconds')
    expect(all.map(({ item }) => /\.(\d+)Z$/.exec(item.timestamp)?.[1]?.length ?? 0)).toEqual(
      Array.from({ length: 20 }, (_, index) => index % 10),
    )
    for (const { item, truth } of all)
      expect(Date.parse(truth.insertedAt)).toBe(Date.parse(item.timestamp.replace(/(\.\d{3})\d+/, '$1')))
  })
})
