import { expect, onTestFinished, test } from 'vitest'
import type { Purpose } from '../../src/log/log.ts'
import {
  createFundClient,
  type FundCall,
  type FundClient,
  type FundOutcome,
} from '../../src/upstream/fund-client.ts'
import { createTransport } from '../../src/upstream/transport.ts'
import { openSandbox, type TestSandbox } from '../sandbox/sandbox-client.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { answers, type Script, startScriptedUpstream } from '../support/scripted-upstream.ts'

const clock = createManualClock()
const ISIN = 'US0378331005'

function openCall(): FundCall & { order: string[]; spends: [Purpose, number][] } {
  const order: string[] = []
  const spends: [Purpose, number][] = []
  const gate: FundCall['gate'] = {
    async spend(purpose, atMs) {
      spends.push([purpose, atMs])
      await Promise.resolve()
      order.push('spent')
    },
    async throttle() {
      order.push('throttled')
    },
  }
  return { gate, signal: new AbortController().signal, order, spends }
}

/** Each of the nine methods once. */
function everyMethod(client: FundClient, identifier: string, call: FundCall): Promise<FundOutcome>[] {
  return [
    client.navs({}, call),
    client.nav(identifier, call),
    client.navHistory(identifier, {}, call),
    client.buybacks(identifier, call),
    client.buybackHistory(identifier, {}, call),
    client.dividends(identifier, call),
    client.dividendHistory(identifier, {}, call),
    client.events(identifier, call),
    client.performance(identifier, call),
  ]
}

function clientOf(url: string, key: string): FundClient {
  const transport = createTransport({ url, key, timeoutMs: 30_000, clock })
  onTestFinished(() => transport.close())
  return createFundClient(transport, clock.now)
}

async function clientAgainst(script: Script) {
  const server = await startScriptedUpstream(script)
  onTestFinished(() => server[Symbol.asyncDispose]())
  return { server, client: clientOf(server.url, 'k') }
}

function dataOf(outcome: FundOutcome): unknown {
  if (outcome.kind !== 'ok') throw new Error(JSON.stringify(outcome))
  return JSON.parse(outcome.value).data
}

/** ISIN of a trust of the sandbox that has an answer on every path. */
async function richTrust({ get }: TestSandbox): Promise<string> {
  const listed = await get('/nav?pageSize=200')
  const isins = (
    listed.body.data as unknown as { issuer: { instrument: { isin: string } }; navPerShare: object }[]
  )
    .filter(({ navPerShare }) => 'exIncome' in navPerShare)
    .map(({ issuer }) => issuer.instrument.isin)
  for (const isin of isins) {
    const paths = ['buybacks', 'dividends', 'performance'].map((resource) => `/${resource}/${isin}`)
    const replies = await Promise.all(paths.map((path) => get(path)))
    if (replies.every(({ status }) => status === 200)) return isin
  }
  throw new Error('no trust of this seed has everything')
}

test('all nine methods read the sandbox, and each costs one unit of purpose gateway', async () => {
  const opened = await openSandbox({ plan: 'ultimate', backlog: 0 })
  const isin = await richTrust(opened)
  const client = clientOf(opened.sandbox.url, opened.sandbox.key)
  const call = openCall()
  const before = opened.sandbox.usage()
  const outcomes = await Promise.all(everyMethod(client, isin, call))
  const after = opened.sandbox.usage()
  expect(after.units - before.units).toBe(9)
  expect(after.violations).toBe(0)
  expect(call.spends).toEqual(Array.from({ length: 9 }, () => ['gateway', clock.now()]))
  const [navs, nav, navHistory, , buybackHistory, dividends, dividendHistory] = outcomes.map(dataOf)
  expect(navs).toHaveLength(50)
  expect(navHistory).toHaveLength(50)
  expect((navHistory as unknown[])[0]).toEqual(nav)
  expect((buybackHistory as unknown[]).length).toBe(50)
  expect((dividendHistory as unknown[])[0]).toEqual((dividends as { latest: unknown }).latest)
  for (const outcome of outcomes) expect(dataOf(outcome)).toBeTypeOf('object')
})

test('parameters reach the sandbox as they are meant', async () => {
  const opened = await openSandbox({ plan: 'ultimate', backlog: 0 })
  const isin = await richTrust(opened)
  const client = clientOf(opened.sandbox.url, opened.sandbox.key)
  const call = openCall()
  expect(dataOf(await client.navs({ isins: [isin] }, call))).toEqual([dataOf(await client.nav(isin, call))])
  const bounds = { fromMs: Date.parse('2025-03-01'), toMs: Date.parse('2025-03-31') }
  const march = dataOf(await client.navHistory(isin, bounds, call)) as { asOf: string }[]
  expect(march.length).toBe(21)
  expect(march.every(({ asOf }) => asOf.startsWith('2025-03'))).toBe(true)
  const page = dataOf(await client.navHistory(isin, { ...bounds, pageSize: 5, pageNumber: 2 }, call))
  expect(page).toEqual(march.slice(5, 10))
  const first = await client.navs({ pageSize: 1 }, call)
  const { latestCursor } = JSON.parse(first.kind === 'ok' ? first.value : '{}').meta.paging
  expect(dataOf(await client.navs({ sinceCursor: latestCursor, pageSize: 10 }, call))).toEqual([])
  expect(opened.sandbox.usage().violations).toBe(0)
})

test('what upstream does not have is an outcome of its own; what it refuses, limits or fails at is told apart', async () => {
  const opened = await openSandbox({ plan: 'advanced', backlog: 0 })
  const client = clientOf(opened.sandbox.url, opened.sandbox.key)
  const call = openCall()
  expect(await client.performance(ISIN, call)).toMatchObject({
    kind: 'not_found',
    sent: true,
    message: expect.stringContaining('no such instrument'),
  })
  expect(await client.nav('no instrument', call)).toMatchObject({ kind: 'refused', status: 400 })
  opened.sandbox.faults.add({ kind: 'throttle-429', retryAfter: '3' })
  expect(await client.navs({}, call)).toMatchObject({ kind: 'too_many', retryAfter: '3' })
  opened.sandbox.faults.add({ kind: 'status', status: 502 })
  expect(await client.navs({}, call)).toMatchObject({ kind: 'server_error', status: 502 })
  opened.sandbox.faults.add({ kind: 'truncate' })
  expect(await client.navs({}, call)).toMatchObject({ kind: 'invalid' })
  opened.sandbox.faults.add({ kind: 'html-200' })
  expect(await client.navs({}, call)).toMatchObject({ kind: 'invalid' })
  const stranger = clientOf(opened.sandbox.url, 'other')
  expect(await stranger.navs({}, call)).toMatchObject({ kind: 'unauthorised', status: 401 })
})

test('a plan without funds is refused on all nine, as unauthorised with status 403', async () => {
  const { sandbox } = await openSandbox({ plan: 'lite', backlog: 0 })
  for (const outcome of await Promise.all(
    everyMethod(clientOf(sandbox.url, sandbox.key), ISIN, openCall()),
  )) {
    expect(outcome).toMatchObject({ kind: 'unauthorised', status: 403 })
  }
  expect(sandbox.usage().refused.plan_required).toBe(9)
})

test('the limits of the plan hold on fund paths', async () => {
  const { sandbox } = await openSandbox({ backlog: 0, weeklyQuota: 6, ratePerSecond: 1, burst: 4 })
  const client = clientOf(sandbox.url, sandbox.key)
  const kinds = []
  for (let time = 0; time < 8; time++) kinds.push((await client.events(ISIN, openCall())).kind)
  expect(kinds).toEqual([...Array(4).fill('not_found'), ...Array(4).fill('too_many')])
  expect(sandbox.usage()).toMatchObject({ units: 6, throttled: 2, quotaRefused: 2 })
})

test('the unit is durable before the throttle is waited for, and a gate that refuses sends nothing', async () => {
  const { client, server } = await clientAgainst(answers(200, '{"data":{}}'))
  const call = openCall()
  await client.events('XLON:ABC', call)
  expect(call.order).toEqual(['spent', 'throttled'])
  const fenced = new Error('fenced')
  const shut = { ...call, gate: { ...call.gate, spend: () => Promise.reject(fenced) } }
  for (const outcome of everyMethod(client, ISIN, shut)) await expect(outcome).rejects.toBe(fenced)
  const jammed = { ...call, gate: { ...call.gate, throttle: () => Promise.reject(fenced) } }
  await expect(client.navs({}, jammed)).rejects.toBe(fenced)
  expect(server.requests.map(({ url }) => url)).toEqual(['/v2/events/XLON%3AABC'])
})

test('paths and parameters travel escaped, bounds widened to whole seconds, nothing that was not asked', async () => {
  const { client, server } = await clientAgainst(answers(200, '{"data":[]}'))
  const call = openCall()
  await client.navs({ isins: ['A', 'B'], sinceCursor: 'a+/=&b' }, call)
  await client.dividendHistory('a/../b?c', { fromMs: 1_999, toMs: 5_001, pageSize: 7, pageNumber: 2 }, call)
  await client.buybackHistory('X', {}, call)
  expect(server.requests.map(({ url }) => url)).toEqual([
    '/v2/nav?isins=A%2CB&sinceCursor=a%2B%2F%3D%26b',
    '/v2/dividends/a%2F..%2Fb%3Fc/history?dateFrom=1970-01-01T00%3A00%3A01Z&dateTo=1970-01-01T00%3A00%3A06Z&pageSize=7&pageNumber=2',
    '/v2/buybacks/X/history',
  ])
})

test('an answer stays the text it is, and one without data is invalid', async () => {
  const text = '{"data": {"value": 1.50},\n "unknown": null}'
  const { client } = await clientAgainst(answers(200, text))
  expect(await client.nav('X', openCall())).toMatchObject({ kind: 'ok', value: text })
  for (const body of ['', '[]', 'null', '{}', '{"data":null}', '{"data":1}', '{"data":[]', '"data"']) {
    const { client: other } = await clientAgainst(answers(200, body))
    const outcome = await other.nav('X', openCall())
    expect(outcome).toMatchObject({ kind: 'invalid', sent: true })
    expect(outcome).not.toHaveProperty('value')
  }
})
