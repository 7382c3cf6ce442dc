import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { isIsin, isLei } from '../../../src/core/check-digits.ts'
import { contentHash } from '../../../src/core/disclosure.ts'
import type { Market } from '../../../src/sandbox/market/market.ts'
import { findScenario, scenarios } from '../../../src/sandbox/scenario-list.ts'
import { type FullItem, listed, openMarket as open, second, toTheEnd } from './market-view.ts'

/** Seconds of the day with their counts of items that became visible then. */
function inserted(market: Market, from: string, to: string): number {
  return market.truth().items.filter((item) => {
    const at = second(item.insertedAt)
    return at >= from && at <= to
  }).length
}

describe('a usual day', () => {
  const { market, clock } = open('normal')
  toTheEnd(clock)
  market.advance()
  const day = listed(market).map((raw) => JSON.parse(raw) as FullItem)
  const share = (holds: (item: FullItem) => boolean): number => day.filter(holds).length / day.length
  const code = (item: FullItem): string => item.category[1]?.code ?? ''

  test('has 1,900 items with both bursts at exact seconds, and as many the day before', () => {
    const { items, backlog } = market.truth()
    const today = (time: string): boolean => time.startsWith('2026-02-03')
    expect([...items, ...backlog].filter((item) => today(item.timestamp)).length).toBeGreaterThan(1_885)
    expect(backlog.filter((item) => item.timestamp.startsWith('2026-02-02'))).toHaveLength(1_900)
    expect(inserted(market, '07:00:01', '07:00:09')).toBe(231)
    expect(inserted(market, '07:10:01', '07:10:10')).toBe(428)
    expect(inserted(market, '07:10:11', '07:10:59')).toBe(0)
  })

  test('of more items has larger bursts, and no identity twice', () => {
    const large = open('normal', { dayItems: 11_400 })
    toTheEnd(large.clock)
    large.clock.advance(5 * 3_600_000)
    const { items } = large.market.truth()
    expect(items.length).toBeGreaterThan(11_310)
    expect(new Set(items.map(({ guid }) => guid)).size).toBe(items.length)
    expect(inserted(large.market, '07:00:01', '07:00:09')).toBeGreaterThan(1_350)
    expect(inserted(large.market, '07:10:01', '07:10:10')).toBeGreaterThan(2_520)
  })

  test('has the category shares counted on the live service', () => {
    const among = (codes: string) => share((item) => codes.split(' ').includes(code(item)))
    expect(among('NAV')).toBeCloseTo(0.3, 1)
    expect(among('PFT RC IOD PDI PSP STA PFU')).toBeCloseTo(0.15, 1)
    expect(among('RET FEO FER DCC FEE')).toBeCloseTo(0.09, 1)
    expect(among('POS')).toBeCloseTo(0.09, 1)
    expect(among('HOL')).toBeCloseTo(0.07, 1)
  })

  test('has identifiers with valid check digits, as often as the live service', () => {
    const wrong = day.filter(({ issuer: { lei, instrument } }) => {
      return (lei !== undefined && !isLei(lei)) || (instrument !== undefined && !isIsin(instrument.isin))
    })
    expect(wrong).toEqual([])
    expect(share(({ issuer }) => issuer.lei !== undefined)).toBeCloseTo(0.85, 1)
    expect(share(({ issuer }) => issuer.instrument?.symbol === undefined)).toBeCloseTo(0.05, 1)
    expect(share(({ related }) => related !== undefined)).toBeCloseTo(0.1, 1)
  })

  test('has headlines of 50 characters at most, items of about 1.5 KB, and numbers that do not rise with time', () => {
    expect(Math.max(...day.map(({ headline }) => headline.length))).toBeLessThanOrEqual(50)
    const bytes = listed(market).reduce((sum, raw) => sum + Buffer.byteLength(raw), 0) / day.length
    expect(bytes).toBeGreaterThan(1_300)
    expect(bytes).toBeLessThan(1_700)
    const wrong = day.filter(({ guid, rnsId, timestamp }) => {
      const date = timestamp.slice(0, 10).replaceAll('-', '')
      return guid !== `urn:newsml:wire.sandbox.example:${date}:${rnsId}:1` || !/^\d{4}[A-Z]$/.test(rnsId)
    })
    expect(wrong).toEqual([])
    const ids = day.map(({ rnsId }) => rnsId)
    expect(ids).not.toEqual(ids.toSorted())
    expect(ids).not.toEqual(ids.toSorted().reverse())
  })

  test('has most of its items from popular issuers', () => {
    const counts = [...Map.groupBy(day, ({ issuer }) => issuer.name).values()].map((items) => items.length)
    const top = counts.sort((left, right) => right - left).slice(0, 50)
    expect(top.reduce((sum, count) => sum + count, 0) / day.length).toBeGreaterThan(0.2)
  })

  test('removes a replaced item from the listings, and the sandbox’s own record has the time', () => {
    const gone = [...market.truth().items, ...market.truth().backlog].filter(
      (item) => item.vanishedAt !== null,
    )
    expect(gone.length).toBeGreaterThan(3)
    for (const { guid } of gone) expect(day.some((item) => item.guid === guid)).toBe(false)
    for (const { guid } of gone) expect(day.some((item) => item.replaces?.guid === guid)).toBe(true)
  })

  test('is followed by the next business day', () => {
    clock.advance(24 * 3_600_000)
    expect(market.truth().items.some((item) => item.timestamp.startsWith('2026-02-04'))).toBe(true)
    expect(market.finished()).toBe(false)
  })
})

describe('the seed', () => {
  test.each(Object.keys(scenarios))('determines everything in %s', (name) => {
    const run = (seed: number): string => {
      const { market, clock } = open(name, { seed, backlog: 30 })
      clock.advance(120_000)
      market.advance()
      return createHash('sha256')
        .update(listed(market).join())
        .update(JSON.stringify(market.truth()))
        .digest('hex')
    }
    const once = run(5)
    expect(run(5)).toBe(once)
    expect(run(6)).not.toBe(once)
  })

  test('determines the same items however often the market is read', () => {
    const seldom = open('morning', { backlog: 10 })
    const often = open('morning', { backlog: 10 })
    seldom.clock.advance(30_000)
    for (let step = 0; step < 300; step++) {
      often.clock.advance(100)
      often.market.advance()
    }
    expect(JSON.stringify(often.market.truth())).toBe(JSON.stringify(seldom.market.truth()))
  })
})

describe('the scenarios do what their names say', () => {
  test('morning: 265 and 495 items at their seconds, ten minutes apart', () => {
    const { market, clock } = open('morning')
    expect(market.truth()).toMatchObject({ startedAt: '2026-02-03T06:59:55.000Z', items: [] })
    clock.advance(20_000)
    expect(market.truth().items).toHaveLength(265)
    toTheEnd(clock)
    const { items } = market.truth()
    const stamped = (from: string, to: string) =>
      items.filter(({ timestamp }) => second(timestamp) >= from && second(timestamp) <= to).length
    expect([stamped('07:00:01', '07:00:09'), stamped('07:10:01', '07:10:10'), items.length]).toEqual([
      265, 495, 760,
    ])
    expect(market.finished()).toBe(true)
  })

  test('morning-short: the second burst begins 20 s after the first', () => {
    const { market, clock } = open('morning-short')
    clock.advance(6_000 + 19_900)
    expect(market.truth().items).toHaveLength(265)
    clock.advance(200)
    expect(market.truth().items.length).toBeGreaterThan(265)
    expect(new Date(market.nowMs()).toISOString()).toBe('2026-02-03T07:10:01.100Z')
    clock.advance(10_000)
    expect(market.truth().items).toHaveLength(760)
  })

  test('the mornings: one item becomes visible after newer ones, all others in listing order', () => {
    for (const seed of [1, 2]) {
      const { market, clock } = open('morning-short', { seed })
      clock.advance(60_000)
      const { items } = market.truth()
      const key = ({ timestamp, guid }: (typeof items)[number]): string => `${timestamp} ${guid}`
      let newest = ''
      const late = items.filter((item) => {
        const isLate = key(item) < newest
        newest = isLate ? newest : key(item)
        return isLate
      })
      expect(late.map((item) => [second(item.timestamp), second(item.insertedAt)])).toEqual([
        ['07:00:04', '07:00:11'],
      ])
    }
  })

  test('flood: 1,500 items in 60 s', () => {
    const { market, clock } = open('flood')
    clock.advance(3_999)
    const before = market.truth().items.length
    clock.advance(60_001)
    expect(before).toBeLessThan(30)
    expect(market.truth().items).toHaveLength(1_500)
  })

  test('quiet: only a few items', () => {
    const { market, clock } = open('quiet')
    toTheEnd(clock)
    expect(market.truth().items).toHaveLength(6)
  })

  test.each([
    ['amended', true],
    ['amended-in-place', false],
  ] as const)('%s: every guid is published twice with different content', (name, restamped) => {
    const { market, clock } = open(name)
    toTheEnd(clock)
    const byGuid = Map.groupBy(market.truth().items, ({ guid }) => guid)
    expect(byGuid.size).toBe(30)
    for (const revisions of byGuid.values()) {
      expect(revisions.map(({ revision }) => revision)).toEqual([1, 2])
      expect(revisions[0]?.contentHash).not.toBe(revisions[1]?.contentHash)
      expect(revisions[0]?.timestamp !== revisions[1]?.timestamp).toBe(restamped)
    }
    expect(listed(market)).toHaveLength(30 + 20)
  })

  test('late: six items become visible 5 to 55 s after their timestamp', () => {
    const { market, clock } = open('late')
    toTheEnd(clock)
    const delays = market
      .truth()
      .items.map(({ timestamp, insertedAt }) => Date.parse(insertedAt) - Date.parse(timestamp))
      .filter((delayMs) => delayMs > 1_000)
    expect(delays.toSorted((left, right) => left - right)).toEqual([
      5_000, 15_000, 25_000, 35_000, 45_000, 55_000,
    ])
  })

  test('malformed: ten unreadable items among 40, each listed, none in the record of valid items', () => {
    const { market, clock } = open('malformed')
    toTheEnd(clock)
    const { items, malformed } = market.truth()
    expect([items.length, malformed.length]).toEqual([40, 10])
    expect(new Set(malformed.map(({ reason }) => reason))).toEqual(
      new Set(['no guid', 'no timestamp', 'unreadable timestamp', 'not an object']),
    )
    const raws = listed(market)
    for (const { raw } of malformed) expect(raws).toContain(raw)
  })

  test('vanish: ten replaced items are removed from the listings', () => {
    const { market, clock } = open('vanish')
    toTheEnd(clock)
    expect(market.truth().items.filter(({ vanishedAt }) => vanishedAt !== null)).toHaveLength(10)
    expect(listed(market)).toHaveLength(30 + 20)
  })

  test('demo: both bursts within 35 s, then a steady flow', () => {
    const { market, clock } = open('demo')
    clock.advance(35_000)
    const afterBursts = market.truth().items.length
    clock.advance(60_000)
    expect(afterBursts).toBeGreaterThanOrEqual(760)
    expect(market.truth().items.length - afterBursts).toBe(12)
  })
})

test('speed scales the market, and its clock can be moved forward', () => {
  const { market, clock } = open('morning', { speed: 60 })
  const began = market.nowMs()
  clock.advance(1_000)
  expect(market.nowMs() - began).toBe(60_000)
  market.moveForward(600_000)
  expect(market.nowMs() - began).toBe(660_000)
  expect(market.truth().items).toHaveLength(760)
})

test('posted items are published at once, and their revisions are counted by content', () => {
  const { market } = open('quiet', { backlog: 0 })
  const first = { guid: 'g', timestamp: '2026-02-03T09:00:00Z', headline: 'One', n: 1 }
  const reordered = { n: 1, headline: 'One', timestamp: '2026-02-03T09:00:00Z', guid: 'g' }
  expect(market.publish([first, reordered])).toEqual({ published: 1, amended: 0, unchanged: 1, malformed: 0 })
  const second = { ...first, headline: 'Two' }
  expect(market.publish([second, null, {}])).toEqual({ published: 0, amended: 1, unchanged: 0, malformed: 2 })
  const { items, malformed } = market.truth()
  expect(items.map(({ guid, revision, contentHash: hash }) => [guid, revision, hash])).toEqual([
    ['g', 1, contentHash(first)],
    ['g', 2, contentHash(second)],
  ])
  expect(malformed.map(({ raw, reason }) => [raw, reason])).toEqual([
    ['null', 'not an object'],
    ['{}', 'no guid'],
  ])
})

test('an unknown scenario is rejected with the nearest match', () => {
  expect(() => findScenario('mornin')).toThrow('did you mean "morning"?')
  expect(() => findScenario('constructor')).toThrow('there is no scenario')
})
