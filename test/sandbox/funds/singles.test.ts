import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DAY_MS } from '../../../src/core/durations.ts'
import { createIssuers, type Instrument, type Issuer } from '../../../src/sandbox/market/issuers.ts'
import { type FundReader, type FundRecord, isinOf, openFunds } from './fund-reader.ts'

const RESOURCES = ['nav', 'buybacks', 'dividends', 'events', 'performance']
const HISTORIES = ['nav', 'buybacks', 'dividends']

const { companies, funds: etfs, holders, operator } = createIssuers(1)
const issuers: readonly Issuer[] = [...companies, ...etfs, ...holders, operator]
const instruments: readonly Instrument[] = issuers.flatMap((issuer) => issuer.instruments)

interface Figure {
  period: string
  periodType: string
  basis: string
  return: { value: string; unit: string }
}

test('the three forms of an identifier return the same on every path', async () => {
  const funds = await openFunds()
  const named = instruments.filter(({ symbol }) => symbol !== null)
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...named), async ({ isin, symbol }) => {
      for (const path of [...RESOURCES, ...HISTORIES.map((resource) => `${resource}/:/history`)]) {
        const answerOf = async (identifier: string) => {
          const target = path.includes(':') ? path.replace(':', identifier) : `${path}/${identifier}`
          const { status, body } = await funds.get(`/${target}`)
          return { status, body }
        }
        const byIsin = await answerOf(isin)
        expect([200, 404]).toContain(byIsin.status)
        for (const form of [symbol ?? '', `XLON:${symbol}`, `XLON%3A${symbol}`]) {
          expect(await answerOf(form)).toEqual(byIsin)
        }
      }
    }),
    { numRuns: 6 },
  )
})

test('an unknown identifier returns 404 with a hint on every path', async () => {
  const { get, sandbox } = await openFunds()
  const listed = instruments.find(({ symbol }) => symbol !== null)?.symbol
  const unknown = ['US0378331005', 'NOBODY', 'XLON:NOBODY', `XPAR:${listed}`]
  const impossible = ['GB0000000000', 'XX0000000000', 'vod', 'XLON:vod', 'BT-A', 'XLON:', '%20', 'A%2FB']
  for (const identifier of [...unknown, ...impossible]) {
    for (const resource of [...RESOURCES, ...HISTORIES]) {
      const history = HISTORIES.includes(resource) ? '/history' : ''
      const { status, body } = await get(`/${resource}/${identifier}${history}`)
      expect({ status, hint: body.error?.hint }).toEqual({
        status: 404,
        hint: expect.stringContaining('XLON'),
      })
    }
  }
  expect(sandbox.usage().violations).toBe(0)
})

test('events belong to the company: each of its share classes returns the same', async () => {
  const { single } = await openFunds()
  const siblings = companies.filter((issuer) => issuer.instruments.length > 1).slice(0, 12)
  expect(siblings.length).toBe(12)
  const types = new Set<string>()
  for (const { name, instruments: classes } of siblings) {
    const answers = await Promise.all(classes.map(({ isin }) => single(`/events/${isin}`)))
    const [first] = answers as { issuer: { name: string }; instruments: unknown[]; events: CompanyEvent[] }[]
    for (const other of answers) expect(other).toEqual(first)
    expect(first?.issuer.name).toBe(name)
    expect(first?.instruments).toHaveLength(classes.length)
    const dates = first?.events.map(({ date }) => date) ?? []
    expect(dates).toEqual(dates.toSorted())
    for (const { type } of first?.events ?? []) types.add(type)
  }
  expect([...types].toSorted()).toEqual([
    ...['annualGeneralMeeting', 'dividendPayment', 'dividendRecord', 'exDividend', 'finalResults'],
    'halfYearResults',
  ])
})

interface CompanyEvent {
  type: string
  date: string
  status: string
  instrument?: { isin: string }
}

test('the dates of declared dividends are confirmed events, those of projected dividends are projected events', async () => {
  const funds = await openFunds()
  const payers = await someWith(funds, 'dividends', 5)
  for (const isin of payers) {
    const { events } = (await funds.single(`/events/${isin}`)) as { events: CompanyEvent[] }
    const own = events.filter(({ instrument }) => instrument?.isin === isin)
    const exDates = (status: string) =>
      own.filter((event) => event.type === 'exDividend' && event.status === status).map(({ date }) => date)
    const declared = (await funds.walk(`/dividends/${isin}/history`, 200)) as { exDate?: string }[]
    const recent = declared.map(({ exDate = '' }) => exDate).filter((exDate) => exDate >= '2025-02-03')
    expect(exDates('confirmed')).toEqual(recent.toReversed())
    const { projected } = (await funds.single(`/dividends/${isin}`)) as { projected: { exDate: string }[] }
    const soon = projected.map(({ exDate }) => exDate).filter((exDate) => exDate <= '2027-02-03')
    expect(exDates('projected')).toEqual(soon)
  }
})

test('the latest dividend is the first of the history, and each dividend’s dates are in order', async () => {
  const funds = await openFunds()
  for (const isin of await someWith(funds, 'dividends', 5)) {
    type Dividend = FundRecord & { exDate: string; recordDate: string; paymentDate: string }
    const answer = (await funds.single(`/dividends/${isin}`)) as { latest: Dividend; projected: Dividend[] }
    const [head] = await funds.walk(`/dividends/${isin}/history?dateFrom=2025`, 200)
    expect(answer.latest).toEqual(head)
    expect(answer.projected).toHaveLength(2)
    for (const dividend of [answer.latest, ...answer.projected]) {
      const { declarationDate = '', exDate, recordDate, paymentDate } = dividend
      const days = [declarationDate, exDate, recordDate, paymentDate]
      expect(days).toEqual(days.toSorted())
      expect(new Date(exDate).getUTCDay()).toBe(4)
      expect(dividend.amount === undefined).toBe(dividend !== answer.latest)
    }
    expect(answer.projected.every(({ declarationDate = '' }) => declarationDate >= '2026-02-03')).toBe(true)
  }
})

test('a projected dividend is declared by its projected date', async () => {
  const funds = await openFunds()
  const [isin] = await someWith(funds, 'dividends', 1)
  type Projected = { projected: { declarationDate: string; period: { to: string } }[] }
  const [next] = ((await funds.single(`/dividends/${isin}`)) as Projected).projected
  const untilMs = Date.parse(`${next?.declarationDate}T12:00:00Z`) - funds.sandbox.marketNow()
  funds.sandbox.moveForward(untilMs)
  const { latest } = (await funds.single(`/dividends/${isin}`)) as { latest: FundRecord }
  expect(latest.period?.to).toBe(next?.period.to)
})

test('the buyback summary equals the sums over a year of buyback history and NAVs', async () => {
  const funds = await openFunds()
  for (const isin of await someWith(funds, 'buybacks', 3)) {
    const summary = (await funds.single(`/buybacks/${isin}`)) as {
      period: { from: string; to: string }
      repurchases: number
      volume: number
      averageDiscount: { value: string }
      accretionPerShare: { value: string }
    }
    const { from, to } = summary.period
    expect([from, to]).toEqual(['2025-02-04', '2026-02-03'])
    const bought = await funds.walk(`/buybacks/${isin}/history?dateFrom=${from}&dateTo=${to}`, 200)
    const navs = await funds.walk(`/nav/${isin}/history?dateFrom=${from}`, 200)
    const navOn = new Map(navs.map(({ asOf, navPerShare }) => [asOf, inPounds(navPerShare?.cumIncome)]))
    const sums = bought.reduce(
      (sum, { date, price, volume = 0 }) => {
        const nav = navOn.get(date) ?? Number.NaN
        const gained = sum.gained + volume * (nav - inPounds(price))
        return { volume: sum.volume + volume, gained, worth: sum.worth + volume * nav }
      },
      { volume: 0, gained: 0, worth: 0 },
    )
    expect(summary).toMatchObject({ repurchases: bought.length, volume: sums.volume })
    expect(Number(summary.averageDiscount.value)).toBeCloseTo((sums.gained / sums.worth) * 100, 1)
    expect(Number(summary.accretionPerShare.value)).toBeGreaterThan(0)
  }
})

test('data that an instrument lacks returns 404 as a single record and an empty list as a history', async () => {
  const funds = await openFunds()
  const without: Record<string, number> = { nav: 0, buybacks: 0, dividends: 0, performance: 0 }
  const sample = instruments.filter((_, index) => index % 25 === 0)
  for (const { isin } of sample) {
    for (const resource of Object.keys(without)) {
      const { status, body } = await funds.get(`/${resource}/${isin}`)
      if (status === 200) continue
      expect({ status, error: body.error }).toEqual({
        status: 404,
        error: { message: expect.any(String), hint: expect.any(String) },
      })
      without[resource] = (without[resource] ?? 0) + 1
      if (resource !== 'performance')
        expect(await funds.walk(`/${resource}/${isin}/history`, 200)).toEqual([])
    }
  }
  for (const count of Object.values(without)) {
    expect(count).toBeGreaterThan(sample.length * 0.2)
  }
})

test('a fixed share of NAV issuers state returns, cumulative or annualised, each with its basis', async () => {
  const funds = await openFunds()
  const valued = (await funds.page('/nav?pageSize=100')).data.map(isinOf)
  const reports = await Promise.all(valued.map((isin) => funds.single(`/performance/${isin}`)))
  const stated = reports.filter((report) => report !== null) as { asOf: string; figures: Figure[] }[]
  expect(stated.length / reports.length).toBeGreaterThan(0.55)
  expect(stated.length / reports.length).toBeLessThan(0.85)
  const figures = stated.flatMap((report) => report.figures)
  const all = (of: (figure: Figure) => string) => [...new Set(figures.map(of))].toSorted()
  expect(all(({ periodType }) => periodType)).toEqual(['annualised', 'cumulative'])
  expect(all(({ basis }) => basis)).toEqual(['benchmark', 'navTotalReturn', 'sharePriceTotalReturn'])
  for (const figure of figures) {
    expect(figure.return).toEqual({ value: expect.stringMatching(/^-?\d+\.\d\d$/), unit: 'percent' })
    if (figure.periodType === 'annualised') expect(['3Y', '5Y']).toContain(figure.period)
  }
  expect(new Set(stated.map(({ asOf }) => asOf))).toEqual(new Set(['2025-12-31']))
  funds.sandbox.moveForward(14 * DAY_MS)
  const [isin] = valued.filter((_, index) => reports[index] !== null)
  expect(await funds.single(`/performance/${isin}`)).toMatchObject({ asOf: '2026-01-31' })
})

test('every response follows from the seed, whatever was requested before', async () => {
  const [one, other, reseeded] = [await openFunds(), await openFunds(), await openFunds({ seed: 2 })]
  const [isin] = await someWith(one, 'buybacks', 1)
  const paths = [...RESOURCES.map((resource) => `/${resource}/${isin}`), '/nav?pageSize=200']
  const answersOf = async ({ get }: FundReader, order: string[]) => {
    const answers: Record<string, string> = {}
    for (const path of order) answers[path] = JSON.stringify((await get(path)).body)
    return answers
  }
  expect(await answersOf(other, paths.toReversed())).toEqual(await answersOf(one, paths))
  expect((await reseeded.get(`/nav/${isin}`)).status).toBe(404)
})

/** The first ISINs of trusts with data at that resource. */
async function someWith({ walk, get }: FundReader, resource: string, count: number): Promise<string[]> {
  const found: string[] = []
  for (const record of await walk('/nav', 200)) {
    if (record.navPerShare?.exIncome === undefined) continue
    if ((await get(`/${resource}/${isinOf(record)}`)).status === 200) found.push(isinOf(record))
    if (found.length === count) return found
  }
  throw new Error(`fewer than ${count} trusts have ${resource}`)
}

function inPounds(amount: { value: string; unit: string } | undefined): number {
  return Number(amount?.value) / (amount?.unit === 'GBX' ? 100 : 1)
}

test('an instrument is found by the identifiers of the day, under the name of the day, and no longer by retired ones', async () => {
  const funds = await openFunds({ scenario: 'corporate-actions', backlog: 60 })
  funds.clock.advance(240_000)
  const { body } = await funds.list('pageSize=200&dateFrom=2026-02-02')
  const tagged = body.data
    .map(({ timestamp, issuer }) => ({ timestamp, ...(issuer as FundRecord['issuer']) }))
    .filter(({ instrument }) => instrument !== undefined)
  /** After the last change of the scenario. */
  const newest = tagged.filter(({ timestamp }) => timestamp > '2026-02-03T10:02:00Z')
  const retired: string[] = []
  for (const { name, lei, instrument } of newest) {
    const byIsin = (await funds.single(`/events/${instrument.isin}`)) as { instruments: { isin: string }[] }
    expect(byIsin).toMatchObject({ issuer: { name }, instruments: expect.arrayContaining([instrument]) })
    if (instrument.symbol !== undefined) {
      expect(await funds.single(`/events/XLON:${instrument.symbol.mnemonic}`)).toEqual(byIsin)
    }
    for (const record of await funds.walk(`/dividends/${instrument.isin}/history`, 200)) {
      expect(record.issuer).toMatchObject({ name, instrument })
    }
    const present = byIsin.instruments.map(({ isin }) => isin)
    const own = tagged.filter((other) => lei !== undefined && other.lei === lei)
    retired.push(...own.map(({ instrument: { isin } }) => isin).filter((isin) => !present.includes(isin)))
  }
  expect(new Set(retired).size).toBeGreaterThan(1)
  const listed = new Set((await funds.walk('/nav', 200)).map(isinOf))
  for (const isin of new Set(retired)) {
    expect(await funds.single(`/events/${isin}`)).toBeNull()
    expect(listed.has(isin)).toBe(false)
  }
})
