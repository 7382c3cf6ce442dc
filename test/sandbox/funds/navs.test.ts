import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DAY_MS, MINUTE_MS } from '../../../src/core/durations.ts'
import { type FundReader, isinOf, openFunds } from './fund-reader.ts'

/** From the scenario's start, 12:00, into the burst of the next morning. */
const TO_THE_BURST_MS = 19 * 60 * MINUTE_MS + 10 * MINUTE_MS + 3_500

test('isins returns the union of what each ISIN returns alone', async () => {
  const funds = await openFunds()
  const universe = await funds.walk('/nav', 200)
  expect(universe.length).toBeGreaterThan(450)
  const known = fc.subarray(universe.map(isinOf), { minLength: 1, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(known, fc.boolean(), async (isins, withUnknown) => {
      const asked = withUnknown ? [...isins, 'US0378331005'] : isins
      const union = (await funds.page(`/nav?isins=${asked.join(',')}`)).data
      const singles = await Promise.all(isins.map((isin) => funds.single(`/nav/${isin}`)))
      expect(union).toHaveLength(isins.length)
      expect(union).toEqual(expect.arrayContaining(singles))
      expect(union).toEqual(universe.filter((record) => isins.includes(isinOf(record))))
      expect((await funds.page(`/nav?${asked.map((isin) => `isin=${isin}`).join('&')}`)).data).toEqual(union)
    }),
    { numRuns: 8 },
  )
})

test('the latest NAV of an instrument equals the first of its history and its entry in the list', async () => {
  const funds = await openFunds()
  for (const record of (await funds.page('/nav?pageSize=5')).data) {
    const isin = isinOf(record)
    expect(await funds.single(`/nav/${isin}`)).toEqual(record)
    expect((await funds.page(`/nav/${isin}/history?pageSize=1`)).data).toEqual([record])
  }
})

test('the previous day’s NAVs are published each business day at 07:10 within ten seconds, and at no other time', async () => {
  const funds = await openFunds({ scenario: 'normal' })
  const asOf = async () => (await funds.walk('/nav', 200)).map((record) => record.asOf)
  const seen = [...new Set(await asOf())]
  expect(seen).toEqual(['2026-01-30'])
  funds.clock.advance(11 * MINUTE_MS)
  expect(new Set(await asOf())).toEqual(new Set(['2026-01-30']))
  funds.clock.advance(5_000)
  expect(new Set(await asOf())).toEqual(new Set(['2026-02-02', '2026-01-30']))
  funds.clock.advance(6_000)
  expect(new Set(await asOf())).toEqual(new Set(['2026-02-02']))
  const [newest] = (await funds.page('/nav?pageSize=1')).data
  expect(newest?.announcement.timestamp).toBe('2026-02-03T07:10:10Z')
})

/** Polls once; if the page overflowed, reads what it left out to the end. */
async function poll({ page }: FundReader, query: string, cursor: string) {
  const { data, meta } = await page(`/nav?${query}sinceCursor=${cursor}`)
  expect(meta.paging.count).toBe(data.length)
  return { data, cursor: meta.paging.latestCursor, hasMore: meta.paging.hasMore }
}

test('polling loses and repeats no NAV while the clock runs, as long as no page overflows', async () => {
  const step = fc.oneof(
    fc.constant(TO_THE_BURST_MS),
    fc.integer({ min: 0, max: 3_000 }),
    fc.integer({ min: 0, max: 30 * MINUTE_MS }),
    fc.integer({ min: 0, max: 4 * DAY_MS }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 15 }), fc.nat(), async (steps, pick) => {
      const funds = await openFunds({ seed: 1 + (pick % 3) })
      const universe = (await funds.page('/nav?pageSize=200')).data
      const isins = universe.filter((_, index) => index % 50 === pick % 50).map(isinOf)
      const query = `pageSize=200&isins=${isins.join(',')}&`
      const first = await funds.page(`/nav?isins=${isins.join(',')}`)
      let cursor = first.meta.paging.latestCursor
      const polled: string[] = []
      for (const stepMs of steps) {
        funds.sandbox.moveForward(stepMs)
        const answer = await poll(funds, query, cursor)
        expect(answer.hasMore).toBe(false)
        if (answer.data.length === 0) expect(answer.cursor).toBe(cursor)
        polled.unshift(...answer.data.map(({ announcement }) => announcement.guid))
        cursor = answer.cursor
      }
      const start = first.data[0]?.asOf ?? ''
      const histories = await Promise.all(isins.map((isin) => funds.walk(`/nav/${isin}/history`, 200)))
      const announced = histories
        .flat()
        .filter(({ asOf = '' }) => asOf > start)
        .map(({ announcement }) => announcement.guid)
      expect(new Set(polled).size).toBe(polled.length)
      expect(polled.toSorted()).toEqual(announced.toSorted())
    }),
    { numRuns: 5 },
  )
})

test('an overflowing poll returns the newest NAVs with hasMore, and never returns the older ones', async () => {
  const funds = await openFunds({ scenario: 'normal' })
  const cursor = (await funds.page('/nav?pageSize=1')).meta.paging.latestCursor
  funds.clock.advance(30 * MINUTE_MS)
  const all = await funds.walk('/nav', 200)
  const answer = await poll(funds, 'pageSize=200&', cursor)
  expect(answer.hasMore).toBe(true)
  expect(answer.data).toEqual(all.slice(0, 200))
  expect(await poll(funds, 'pageSize=200&', answer.cursor)).toEqual({
    data: [],
    cursor: answer.cursor,
    hasMore: false,
  })
})

test('a cursor that is not from the NAV list is rejected with 400', async () => {
  const funds = await openFunds({ backlog: 5 })
  const ofItems = String((await funds.list()).body.meta.paging.latestCursor)
  for (const cursor of ['abc', '', ofItems]) {
    const { status, body } = await funds.get(`/nav?sinceCursor=${encodeURIComponent(cursor)}`)
    expect({ status, message: body.error?.message }).toEqual({
      status: 400,
      message: expect.stringContaining('sinceCursor'),
    })
  }
  expect(funds.sandbox.usage().refused.cursor_refused).toBe(3)
})

test('amounts are decimal strings in the unit of the announcement, both pence and pounds', async () => {
  const funds = await openFunds()
  const units = new Set<string>()
  for (const { navPerShare } of await funds.walk('/nav', 200)) {
    for (const { value, unit } of [navPerShare?.cumIncome, navPerShare?.exIncome].flatMap(
      (one) => one ?? [],
    )) {
      units.add(unit)
      expect(value).toMatch(unit === 'GBX' ? /^\d+\.\d{2}$/ : /^\d+\.\d{4}$/)
    }
  }
  expect([...units].toSorted()).toEqual(['EUR', 'GBP', 'GBX', 'USD'])
  const [trust] = (await funds.walk('/nav', 200)).filter(
    ({ navPerShare }) => navPerShare?.exIncome !== undefined,
  )
  const history = await funds.walk(`/nav/${trust?.issuer.instrument.isin}/history`, 200)
  expect(new Set(history.map(({ navPerShare }) => navPerShare?.cumIncome.unit))).toEqual(
    new Set(['GBX', 'GBP']),
  )
})
