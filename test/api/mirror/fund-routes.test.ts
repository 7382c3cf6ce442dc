import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { expect, onTestFinished, test } from 'vitest'
import { type FundQuery, fundRoutes } from '../../../src/api/mirror/fund-routes.ts'
import type { Violation } from '../../../src/api/mirror/refusal.ts'
import { mirrorRouter } from '../../../src/api/mirror/router.ts'
import type { PlanName } from '../../../src/core/plans.ts'

const ISIN = 'US0378331005'
const byIsin = { kind: 'isin', isin: ISIN }
const PATHS = [
  '/nav',
  ...['nav', 'buybacks', 'dividends', 'events', 'performance'].map((resource) => `/${resource}/${ISIN}`),
  ...['nav', 'buybacks', 'dividends'].map((resource) => `/${resource}/${ISIN}/history`),
]

interface ErrorBody {
  error: { message: string; hint?: string }
}

/** The nine paths over a source that records its requests. */
async function openRoutes(plan: PlanName | null = 'advanced') {
  const asked: { query: FundQuery; target: string }[] = []
  const refused: Violation[] = []
  const source = {
    answer(query: FundQuery, target: string) {
      asked.push({ query, target })
      return '{"data":[]}'
    },
  }
  const app = express()
  app.use(
    '/v2',
    mirrorRouter({
      routes: fundRoutes(source),
      authenticate: () => (plan === null ? null : { plan }),
      onRefused: (violation) => refused.push(violation),
    }),
  )
  const server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v2${path}`)
    return { status: response.status, body: (await response.json()) as ErrorBody }
  }
  /** The source query for a path. */
  const queryOf = async (path: string): Promise<FundQuery | undefined> => {
    const { status, body } = await get(path)
    if (status !== 200) throw new Error(`${path}: ${JSON.stringify(body)}`)
    return asked.at(-1)?.query
  }
  return { get, queryOf, asked, refused }
}

test('each of the nine paths reaches the source as its own query, with the target unchanged', async () => {
  const { get, asked } = await openRoutes()
  for (const path of PATHS) expect((await get(path)).status, path).toBe(200)
  expect(asked.map(({ target }) => target)).toEqual(PATHS)
  expect(
    asked.map(({ query }) => (query.kind === 'navs' ? 'navs' : `${query.kind} ${query.resource}`)),
  ).toEqual([
    'navs',
    ...['nav', 'buybacks', 'dividends', 'events', 'performance'].map((resource) => `single ${resource}`),
    ...['nav', 'buybacks', 'dividends'].map((resource) => `history ${resource}`),
  ])
})

test.each(['free', 'lite'] as const)(
  'the plan "%s" is refused on all nine paths with 403 and the plan that has them',
  async (plan) => {
    const { get, asked, refused } = await openRoutes(plan)
    for (const path of [...PATHS, '/nav?pageSize=wrong']) {
      const { status, body } = await get(path)
      expect({ path, status }).toEqual({ path, status: 403 })
      expect(body.error.message).toContain(plan)
      expect(body.error.hint).toContain('advanced')
    }
    expect(asked).toEqual([])
    expect(new Set(refused)).toEqual(new Set(['plan_required']))
  },
)

test.each(['advanced', 'ultimate', 'enterprise'] as const)(
  'the plan "%s" has all nine paths',
  async (plan) => {
    const { get } = await openRoutes(plan)
    for (const path of PATHS) expect((await get(path)).status, path).toBe(200)
  },
)

test('without a key each path answers 401', async () => {
  const { get, refused } = await openRoutes(null)
  for (const path of PATHS) expect((await get(path)).status, path).toBe(401)
  expect(refused).toEqual(PATHS.map(() => 'unauthorised'))
})

test('an identifier is an ISIN, a symbol, or a symbol with its market, its colon raw or percent-encoded', async () => {
  const { queryOf } = await openRoutes()
  const instrument = async (identifier: string) => {
    const query = await queryOf(`/nav/${identifier}`)
    return query?.kind === 'single' ? query.instrument : undefined
  }
  expect(await instrument(ISIN)).toEqual(byIsin)
  expect(await instrument('BP.')).toEqual({ kind: 'symbol', mic: null, symbol: 'BP.' })
  expect(await instrument('XLON:VOD')).toEqual({ kind: 'symbol', mic: 'XLON', symbol: 'VOD' })
  expect(await instrument('XLON%3AVOD')).toEqual({ kind: 'symbol', mic: 'XLON', symbol: 'VOD' })
  expect(await instrument('XLON:SYMBOL7')).toEqual({ kind: 'symbol', mic: 'XLON', symbol: 'SYMBOL7' })
})

test('an identifier is judged by its form alone: one that nothing can have is for the source to find out', async () => {
  const { queryOf } = await openRoutes()
  const instrument = async (identifier: string) => {
    const query = await queryOf(`/events/${identifier}`)
    return query?.kind === 'single' ? query.instrument : undefined
  }
  for (const isin of ['US0378331006', 'GB0000000000', 'XX0000000000']) {
    expect(await instrument(isin)).toEqual({ kind: 'isin', isin })
  }
  for (const symbol of ['us0378331005', 'ABCDEFGHIJKL', 'vod', 'BT-A', 'A'.repeat(64)]) {
    expect(await instrument(symbol)).toEqual({ kind: 'symbol', mic: null, symbol })
  }
  expect(await instrument('XLON:vod')).toEqual({ kind: 'symbol', mic: 'XLON', symbol: 'vod' })
  expect(await instrument('XL:VOD')).toEqual({ kind: 'symbol', mic: 'XL', symbol: 'VOD' })
  expect(await instrument('XLON:')).toEqual({ kind: 'symbol', mic: 'XLON', symbol: '' })
})

test('an identifier that is unsafe in a path answers 404 with a hint, and never reaches the source', async () => {
  const { get, asked, refused } = await openRoutes()
  const unsafe = [
    ...['A%2FB', 'A%5CB', 'A%00', 'A%0D%0AB', 'A%252F..%252FB', 'A%3Fb', 'A%23b', 'A;b=1', 'A%20B'],
    ...['..%3B', '.A', ':VOD', '%C3%84', 'A'.repeat(65)],
  ]
  for (const identifier of unsafe) {
    for (const path of [`/nav/${identifier}`, `/events/${identifier}`, `/dividends/${identifier}/history`]) {
      const { status, body } = await get(path)
      expect({ path, status, hint: body.error.hint }).toEqual({
        path,
        status: 404,
        hint: expect.stringMatching(/ISIN/),
      })
      expect(body.error.message.length).toBeLessThan(100)
    }
  }
  expect(asked).toEqual([])
  expect(new Set(refused)).toEqual(new Set(['not_found']))
})

test('a history accepts partial dates, a page size within the plan, and a page number', async () => {
  const { queryOf } = await openRoutes()
  expect(await queryOf(`/dividends/${ISIN}/history`)).toEqual({
    kind: 'history',
    resource: 'dividends',
    instrument: byIsin,
    fromMs: null,
    toMs: null,
    pageSize: 50,
    pageNumber: 1,
  })
  const query = await queryOf(
    `/nav/${ISIN}/history?dateFrom=2024&dateTo=2024-02&pageSize=100&pageNumber=3&other=1`,
  )
  expect(query).toMatchObject({
    fromMs: Date.parse('2024-01-01T00:00:00Z'),
    toMs: Date.parse('2024-02-29T23:59:59.999Z'),
    pageSize: 100,
    pageNumber: 3,
  })
})

test('the list of NAVs accepts isins in both forms, and is paged by number or polled', async () => {
  const { queryOf } = await openRoutes()
  const other = 'GB0002634946'
  const plain = { kind: 'navs', isins: null, pageSize: 50, warnings: [] }
  expect(await queryOf('/nav')).toEqual({ ...plain, paging: { mode: 'number', pageNumber: 1 } })
  expect(await queryOf(`/nav?isins=${ISIN},${other}`)).toMatchObject({ isins: [ISIN, other] })
  expect(await queryOf('/nav?isins=US0378331006')).toMatchObject({ isins: ['US0378331006'] })
  expect(await queryOf(`/nav?isin=${ISIN}&isin=${other}`)).toMatchObject({ isins: [ISIN, other] })
  expect(await queryOf(`/nav?isin=${ISIN}&isins=${other}`)).toMatchObject({
    isins: [other],
    warnings: [expect.stringContaining('isin was ignored')],
  })
  expect(await queryOf('/nav?sinceCursor=abc&pageSize=7')).toEqual({
    ...plain,
    pageSize: 7,
    paging: { mode: 'since', sinceCursor: 'abc' },
  })
})

test('an invalid parameter answers 400 and says why', async () => {
  const { get, asked, refused } = await openRoutes()
  const history = `/nav/${ISIN}/history`
  const wrong: [path: string, violation: Violation, says: RegExp][] = [
    ['/nav?pageNumber=1&sinceCursor=a', 'two_paging_modes', /exclude each other/],
    ['/nav?pageSize=101', 'page_size_above_plan', /which is 100/],
    ['/nav?pageSize=0', 'parameter_invalid', /pageSize/],
    ['/nav?pageCursor=a', 'parameter_invalid', /pageCursor/],
    ['/nav?isins=', 'parameter_invalid', /isins/],
    ['/nav?isins=VOD', 'parameter_invalid', /VOD/],
    ['/nav?isins=us0378331005', 'parameter_invalid', /us0378331005/],
    [`${history}?dateFrom=2024-13`, 'parameter_invalid', /dateFrom/],
    [`${history}?dateTo=soon`, 'parameter_invalid', /dateTo/],
    [`${history}?pageNumber=0`, 'parameter_invalid', /pageNumber/],
    [`${history}?pageNumber=1&pageNumber=2`, 'parameter_invalid', /2 times/],
    [`${history}?pageSize=200`, 'page_size_above_plan', /which is 100/],
    [`${history}?sinceCursor=a`, 'parameter_invalid', /sinceCursor/],
    [`${history}?pageCursor=a`, 'parameter_invalid', /pageCursor/],
  ]
  for (const [path, violation, says] of wrong) {
    const { status, body } = await get(path)
    expect({ path, status, message: body.error.message, violation: refused.at(-1) }).toEqual({
      path,
      status: 400,
      message: expect.stringMatching(says),
      violation,
    })
  }
  expect(asked).toEqual([])
})
