import { describe, expect, test } from 'vitest'
import { seededChance } from '../../../src/core/chance.ts'
import { isIsin } from '../../../src/core/check-digits.ts'
import { freshNames, reissued, renamed, usualHistory } from '../../../src/sandbox/market/issuer-history.ts'
import { appearanceAt, createIssuers } from '../../../src/sandbox/market/issuers.ts'
import { openSandbox, type TestSandbox, walk } from '../sandbox-client.ts'
import type { FullItem } from './market-view.ts'

const DAY = '2026-02-03'
const dayMs = Date.parse(DAY)

describe('changes of an issuer', () => {
  const issuers = createIssuers(1)
  const [company] = issuers.companies
  if (company === undefined) throw new Error('there is no company')
  const fresh = freshNames(seededChance(9), issuers)

  test('a new name changes the symbol but not ISIN or LEI; a new ISIN changes neither name nor symbol', () => {
    const twice = reissued(renamed(company, dayMs, fresh), dayMs + 1000, fresh)
    const [before, between, after] = [dayMs - 1, dayMs, dayMs + 1000].map((timeMs) =>
      appearanceAt(twice, timeMs),
    )
    expect(before).toMatchObject({ name: company.name, instruments: company.instruments })
    expect(between?.name).not.toBe(company.name)
    expect(between?.instruments[0]?.isin).toBe(company.instruments[0]?.isin)
    expect(between?.instruments[0]?.symbol).not.toBe(company.instruments[0]?.symbol)
    expect(after?.name).toBe(between?.name)
    expect(after?.instruments[0]?.symbol).toBe(between?.instruments[0]?.symbol)
    expect(after?.instruments[0]?.isin).not.toBe(between?.instruments[0]?.isin)
    expect(isIsin(after?.instruments[0]?.isin ?? '')).toBe(true)
    expect(twice.lei).toBe(company.lei)
  })

  test('about a tenth of companies change within a year, none before the market starts, to unused names', () => {
    const { companies } = usualHistory(issuers, { seed: 1, day: DAY })
    expect(usualHistory(issuers, { seed: 1, day: DAY }).companies).toEqual(companies)
    const changes = companies.flatMap((each) => each.changes)
    expect(changes.length).toBeGreaterThan(40)
    expect(changes.length).toBeLessThan(110)
    for (const { fromMs } of changes) {
      expect(fromMs).toBeGreaterThan(dayMs)
      expect(fromMs).toBeLessThanOrEqual(dayMs + 365 * 86_400_000)
    }
    const names = companies.flatMap((each) => [each.name, ...each.changes.map(({ name }) => name)])
    expect(new Set(names).size).toBe(companies.length + companies.filter(isRenamed).length)
  })
})

function isRenamed(company: { name: string; changes: readonly { name: string }[] }): boolean {
  return company.changes.some(({ name }) => name !== company.name)
}

describe('corporate-actions', () => {
  /** Everything listed at the end, and the filter as a client sees it. */
  async function open(seed: number) {
    const opened = await openSandbox({ scenario: 'corporate-actions', seed })
    opened.clock.advance(240_000)
    const guids = await walk(opened.list, { pageSize: 100 })
    const items = (await everyPage(opened)) as unknown as FullItem[]
    expect(items.map(({ guid }) => guid)).toEqual(guids)
    const ask = (query: Record<string, string>) => walk(opened.list, { pageSize: 100, ...query })
    return { items, ask, cast: castOf(items) }
  }

  test.each([1, 2])(
    'seed %i: every kind of change occurs, as do items without an instrument',
    async (seed) => {
      const { items, cast } = await open(seed)
      const count = (holds: (company: FullItem[]) => boolean) => cast.filter(holds).length
      expect(count((own) => keysOf(own, 'name').size > 1)).toBeGreaterThanOrEqual(2)
      expect(count((own) => keysOf(own, 'isin').size > 1)).toBeGreaterThanOrEqual(3)
      expect(count((own) => keysOf(own, 'symbol').size > 1)).toBeGreaterThanOrEqual(2)
      expect(count((own) => own.some(({ issuer }) => issuer.instrument === undefined))).toBeGreaterThan(2)
      expect(items.some(({ issuer }) => issuer.lei === undefined)).toBe(true)
    },
  )

  test('any past or present identifier finds all items of an issuer with an LEI, exact all tagged ones of the listing', async () => {
    const { items, ask } = await open(1)
    let crossed = 0
    for (const own of castOf(items).filter(([first]) => first?.issuer.lei !== undefined)) {
      const expected = own.map(({ guid }) => guid)
      for (const symbol of keysOf(own, 'symbol')) {
        expect(await ask({ symbols: symbol })).toEqual(expected)
        const tagged = own.filter(({ issuer }) => issuer.instrument?.symbol?.mnemonic === symbol)
        const exact = await ask({ symbols: symbol, match: 'exact' })
        expect(exact).toEqual(listingOf(own, tagged))
        if (tagged.length < exact.length && exact.length < own.length) crossed += 1
      }
      for (const isin of keysOf(own, 'isin')) {
        expect(await ask({ isins: isin })).toEqual(expected)
        const tagged = own.filter(({ issuer }) => issuer.instrument?.isin === isin)
        const exact = await ask({ isins: isin, match: 'exact' })
        expect(exact).toEqual(listingOf(own, tagged))
        if (tagged.length < exact.length && exact.length < own.length) crossed += 1
      }
    }
    expect(crossed).toBeGreaterThan(5)
  })

  test('a new name without an LEI is another issuer, but a shared ISIN still finds both', async () => {
    const { items, ask } = await open(1)
    const nameless = items.filter(({ issuer }) => issuer.lei === undefined && issuer.instrument !== undefined)
    const byIsin = Map.groupBy(nameless, ({ issuer }) => issuer.instrument?.isin ?? '')
    const renamedOnes = [...byIsin.values()].filter((own) => keysOf(own, 'name').size > 1)
    expect(renamedOnes.length).toBeGreaterThan(0)
    for (const own of renamedOnes) {
      const newest = own[0]?.issuer
      const found = await ask({ symbols: newest?.instrument?.symbol?.mnemonic ?? '' })
      expect(found).toEqual(
        items.filter(({ issuer }) => issuer.name === newest?.name).map(({ guid }) => guid),
      )
      const joined = await ask({ isins: newest?.instrument?.isin ?? '' })
      expect(joined.length).toBeGreaterThan(found.length)
    }
  })
})

/** Items of each company with more than one, by LEI or else name; newest first. */
function castOf(items: FullItem[]): FullItem[][] {
  const own = Map.groupBy(items, ({ issuer }) => issuer.lei ?? issuer.name ?? '')
  return [...own.values()].filter((all) => all.length > 1)
}

/** guids of these items, and of those that share an ISIN or a symbol with one of them, and so on; in the order of `own`. */
function listingOf(own: FullItem[], tagged: FullItem[]): string[] {
  const tagsOf = ({ issuer: { instrument } }: FullItem) =>
    [instrument?.isin, instrument?.symbol?.mnemonic].filter((tag) => tag !== undefined)
  const found = new Set(tagged)
  for (const one of found) {
    for (const other of own) if (tagsOf(other).some((tag) => tagsOf(one).includes(tag))) found.add(other)
  }
  return own.filter((one) => found.has(one)).map(({ guid }) => guid)
}

/** Every value of that member among the issuers of the items. */
function keysOf(items: FullItem[], member: 'name' | 'isin' | 'symbol'): Set<string> {
  const read = ({ issuer: { name, instrument } }: FullItem): string | undefined =>
    ({ name, isin: instrument?.isin, symbol: instrument?.symbol?.mnemonic })[member]
  return new Set(items.flatMap((item) => read(item) ?? []))
}

async function everyPage({ list }: TestSandbox): Promise<unknown[]> {
  const items: unknown[] = []
  for (let pageNumber = 1; ; pageNumber++) {
    const { body } = await list({ pageSize: 100, pageNumber })
    items.push(...body.data)
    if (pageNumber >= Number(body.meta.paging.pageTotal)) return items
  }
}
