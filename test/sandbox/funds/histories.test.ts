import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DAY_MS } from '../../../src/core/durations.ts'
import { type FundReader, type FundRecord, isinOf, openFunds } from './fund-reader.ts'

/** A trust that buys its shares back and pays dividends. */
async function activeTrust({ page, get }: FundReader): Promise<string> {
  for (let pageNumber = 1; ; pageNumber++) {
    const { data } = await page(`/nav?pageSize=200&pageNumber=${pageNumber}`)
    for (const record of data.filter(({ navPerShare }) => navPerShare?.exIncome !== undefined)) {
      const isin = isinOf(record)
      const statuses = await Promise.all(
        ['buybacks', 'dividends', 'performance'].map(
          async (resource) => (await get(`/${resource}/${isin}`)).status,
        ),
      )
      if (statuses.every((status) => status === 200)) return isin
    }
  }
}

const histories = [
  { resource: 'nav', dateOf: ({ asOf }: FundRecord) => asOf ?? '' },
  { resource: 'buybacks', dateOf: ({ date }: FundRecord) => date ?? '' },
  { resource: 'dividends', dateOf: ({ declarationDate }: FundRecord) => declarationDate ?? '' },
] as const

test('a history read by page number returns every record within the dates once, newest first', async () => {
  const funds = await openFunds()
  const isin = await activeTrust(funds)
  for (const { resource, dateOf } of histories) {
    const path = `/${resource}/${isin}/history`
    const all = await funds.walk(path, 200)
    expect(all.length).toBeGreaterThan(resource === 'dividends' ? 3 : 100)
    expect(new Set(all.map(dateOf)).size).toBe(all.length)
    expect(all.map(dateOf)).toEqual(all.map(dateOf).toSorted().reverse())
    const startMs = Date.parse('2023-12-01')
    const day = fc
      .integer({ min: 0, max: 850 })
      .map((days) => new Date(startMs + days * DAY_MS).toISOString().slice(0, 10))
    const bound = fc.option(
      fc.tuple(day, fc.constantFrom(4, 7, 10)).map(([text, length]) => text.slice(0, length)),
    )
    await fc.assert(
      fc.asyncProperty(bound, bound, fc.integer({ min: 1, max: 200 }), async (dateFrom, dateTo, pageSize) => {
        const query = new URLSearchParams({
          ...(dateFrom === null ? {} : { dateFrom }),
          ...(dateTo === null ? {} : { dateTo }),
        })
        const expected = all.filter((record) => {
          const date = dateOf(record)
          return date >= (dateFrom ?? '') && date.slice(0, dateTo?.length ?? 0) <= (dateTo ?? '')
        })
        const size = Math.max(pageSize, Math.ceil(expected.length / 5))
        expect(await funds.walk(`${path}?${query}`, size)).toEqual(expected)
        const { meta } = await funds.page(`${path}?${query}&pageSize=${size}`)
        expect(meta.paging).toEqual({
          pageSize: size,
          pageNumber: 1,
          pageTotal: Math.ceil(expected.length / size),
          itemTotal: expected.length,
        })
      }),
      { numRuns: 8 },
    )
  }
})

test('dividends are filtered by declaration date, not by their period', async () => {
  const funds = await openFunds()
  const path = `/dividends/${await activeTrust(funds)}/history`
  for (const dividend of await funds.walk(path, 200)) {
    const { declarationDate = '', period } = dividend
    expect(period?.to && period.to < declarationDate).toBe(true)
    expect(await funds.walk(`${path}?dateFrom=${declarationDate}&dateTo=${declarationDate}`, 50)).toEqual([
      dividend,
    ])
    const within = await funds.walk(`${path}?dateFrom=${period?.from}&dateTo=${period?.to}`, 50)
    expect(within).not.toContainEqual(dividend)
  }
})

test('a history grows with the market clock, and its earlier records never change', async () => {
  const funds = await openFunds()
  const isin = await activeTrust(funds)
  for (const { resource } of histories) {
    const path = `/${resource}/${isin}/history`
    const before = await funds.walk(path, 200)
    funds.sandbox.moveForward(100 * DAY_MS)
    const after = await funds.walk(path, 200)
    expect(after.length).toBeGreaterThan(before.length)
    expect(after.slice(-before.length)).toEqual(before)
  }
})

test('a page beyond the last one is empty and states the number of pages', async () => {
  const funds = await openFunds()
  const { data, meta } = await funds.page(
    `/nav/${await activeTrust(funds)}/history?pageSize=200&pageNumber=99`,
  )
  expect(data).toEqual([])
  expect(meta.paging).toMatchObject({ pageNumber: 99, pageTotal: 3 })
})
