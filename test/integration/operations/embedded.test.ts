/** Asks a running product on the embedded log how it works, and compares the answers with what its other parts say. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Arrivals } from '../../../src/api/operations/arrivals-route.ts'
import type { PollsAnswer } from '../../../src/api/operations/polls-route.ts'
import type { QuotaAnswer } from '../../../src/api/operations/quota-route.ts'
import type { Status } from '../../../src/api/routes/status.ts'
import { planNames } from '../../../src/core/plans.ts'
import { eventually, getJson } from '../../support/http/api-client.ts'
import { type Product, startProduct } from '../../support/product/whole-product.ts'

let product: Product

beforeAll(async () => {
  product = await startProduct()
})
afterAll(() => product[Symbol.asyncDispose]())

const ask = <T>(path: string): Promise<T> => getJson<T>(`${product.url}${path}`)

test('the arrivals of a day are the items that its report counts', async () => {
  const { data } = await eventually(
    () =>
      ask<{ data: { date: string; polled: number; filled: number; swept: number; backfilled: number }[] }>(
        '/v1/report',
      ),
    (report) => report.data.some(({ polled }) => polled > 0),
  )
  for (const { date, polled, filled, swept, backfilled } of data) {
    const arrivals = await ask<Arrivals>(`/v1/arrivals?date=${date}`)
    const counted = arrivals.data.reduce((sum, { byTime }) => sum + (byTime ?? 0), 0)
    // The report is written once a minute.
    expect(counted).toBeGreaterThanOrEqual(polled + filled + swept + backfilled)
    expect(arrivals.keptSince).toBe(null)
  }
})

test('the quota is that of the status, and its units are those of the slots', async () => {
  const { quota } = await ask<Status>('/v1/status')
  const answer = await ask<QuotaAnswer>('/v1/quota')
  expect(answer.quota).toMatchObject({ limit: quota.limit })
  expect(answer.quota.used).toBeGreaterThanOrEqual(quota.used ?? Number.NaN)
  const ofWeek = Object.values(answer.weekUnits).reduce((sum, units) => sum + units, 0)
  expect(ofWeek).toBe(answer.quota.used)
  const ofDay = answer.data.flatMap(({ units }) => Object.values(units ?? {}))
  expect(ofDay.reduce((sum, units) => sum + units, 0)).toBe(ofWeek)
  expect(answer.plan).toMatchObject({ name: 'advanced', weeklyQuota: 1_000_000 })
  expect(answer.planned?.everySeconds).toBe(1)
})

test('plans are compared with the arrivals that the leader expects', async () => {
  const { comparison } = await ask<QuotaAnswer>('/v1/quota?compare=true')
  const rows = comparison?.plans ?? []
  expect(rows.map(({ plan }) => plan)).toEqual([...planNames])
  // The plan in use has a quota of its own here: a poll a second.
  expect(rows[2]).toMatchObject({ plan: 'advanced', polls: 604_800, meanDelayS: 0.5, funds: true })
  const delays = [rows[0], rows[1], rows[3], rows[4]].map((row) => row?.meanDelayS ?? 0)
  expect(delays).toEqual(delays.toSorted((one, other) => other - one))
  expect(await ask<QuotaAnswer>('/v1/quota?compare=true')).toMatchObject({ comparison })
})

test('the requests of a day are those that units were spent on', async () => {
  const before = await ask<QuotaAnswer>('/v1/quota')
  const { data, minutes, keptSince } = await eventually(
    () => ask<PollsAnswer>('/v1/polls'),
    (answer) => countOf(answer, 'poll') >= (before.weekUnits.poll ?? 0),
  )
  expect(Date.parse(keptSince ?? '')).toBeLessThan(Date.now())
  const after = await ask<QuotaAnswer>('/v1/quota')
  for (const purpose of ['poll', 'fill', 'sweep', 'backfill']) {
    const [least = 0, most = 0] = [before.weekUnits[purpose], after.weekUnits[purpose]]
    const count = countOf({ data, minutes }, purpose)
    // The node asks the leader once in five seconds.
    expect([purpose, count >= least, count <= most + 15]).toEqual([purpose, true, true])
  }
  const brought = [...data, ...minutes].reduce((sum, { newItems }) => sum + (newItems ?? 0), 0)
  expect(brought).toBeGreaterThan(20)
  const ends = data.map(({ upstreamAt }) => upstreamAt?.slice(0, 10))
  expect(ends.every((date) => date === '2026-02-03')).toBe(true)
})

/** Requests for that purpose. */
function countOf({ data, minutes }: Pick<PollsAnswer, 'data' | 'minutes'>, purpose: string): number {
  const sums = minutes.filter((minute) => minute.purpose === purpose)
  const single = data.filter((request) => request.purpose === purpose)
  return sums.reduce((sum, { requests }) => sum + requests, single.length)
}
