import { expect, onTestFinished, test } from 'vitest'
import type { Purpose } from '../../src/core/purpose.ts'
import {
  createFundClient,
  type FundCall,
  type FundClient,
  type FundOutcome,
} from '../../src/upstream/fund-client.ts'
import { type FundRequest, readFundTarget } from '../../src/upstream/fund-target.ts'
import { createTransport } from '../../src/upstream/transport.ts'
import { openSandbox, type TestSandbox } from '../sandbox/sandbox-client.ts'
import { createManualClock } from '../support/time/manual-clock.ts'
import { answers, type Script, startScriptedUpstream } from '../support/worlds/scripted-upstream.ts'

const clock = createManualClock()
const ISIN = 'US0378331005'

/** The request of a target. */
function at(target: string): FundRequest {
  const request = readFundTarget(target)
  if (request === null) throw new Error(`${target} is no fund request`)
  return request
}

function openCall(): FundCall & { order: string[]; spends: [Purpose, number][] } {
  const order: string[] = []
  const spends: [Purpose, number][] = []
  const permit: FundCall['permit'] = {
    async spend(purpose, atMs) {
      spends.push([purpose, atMs])
      await Promise.resolve()
      order.push('spent')
    },
    async throttle() {
      order.push('throttled')
    },
  }
  return { permit, signal: new AbortController().signal, order, spends }
}

/** Each of the nine paths once. */
function everyPath(client: FundClient, identifier: string, call: FundCall): Promise<FundOutcome>[] {
  const singles = ['nav', 'buybacks', 'dividends', 'events', 'performance']
  const histories = ['nav', 'buybacks', 'dividends']
  return [
    client.get(at('/nav'), call),
    ...singles.map((resource) => client.get(at(`/${resource}/${identifier}`), call)),
    ...histories.map((resource) => client.get(at(`/${resource}/${identifier}/history`), call)),
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

/** ISIN of a trust of the sandbox that has data on every path. */
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

test('the client reads all nine fund paths of the sandbox, each for one unit of purpose gateway', async () => {
  const opened = await openSandbox({ plan: 'ultimate', backlog: 0 })
  const isin = await richTrust(opened)
  const client = clientOf(opened.sandbox.url, opened.sandbox.key)
  const call = openCall()
  const before = opened.sandbox.usage()
  const outcomes = await Promise.all(everyPath(client, isin, call))
  const after = opened.sandbox.usage()
  expect(after.units - before.units).toBe(9)
  expect(after.violations).toBe(0)
  expect(call.spends).toEqual(Array.from({ length: 9 }, () => ['gateway', clock.now()]))
  const [navs, nav, , dividends, , , navHistory, buybackHistory, dividendHistory] = outcomes.map(dataOf)
  expect(navs).toHaveLength(50)
  expect(navHistory).toHaveLength(50)
  expect((navHistory as unknown[])[0]).toEqual(nav)
  expect((buybackHistory as unknown[]).length).toBe(50)
  expect((dividendHistory as unknown[])[0]).toEqual((dividends as { latest: unknown }).latest)
  for (const outcome of outcomes) expect(dataOf(outcome)).toBeTypeOf('object')
})

test('a 404, a rejection, a throttle and a server error each have their own outcome', async () => {
  const opened = await openSandbox({ plan: 'advanced', backlog: 0 })
  const client = clientOf(opened.sandbox.url, opened.sandbox.key)
  const call = openCall()
  expect(await client.get(at(`/performance/${ISIN}`), call)).toMatchObject({
    kind: 'not_found',
    sent: true,
    message: expect.stringMatching(/no such instrument[^–]*$/),
    hint: expect.any(String),
  })
  expect(await client.get(at('/nav?isins=VOD'), call)).toMatchObject({ kind: 'refused', status: 400 })
  opened.sandbox.faults.add({ kind: 'throttle-429', retryAfter: '3' })
  expect(await client.get(at('/nav'), call)).toMatchObject({ kind: 'too_many', retryAfter: '3' })
  opened.sandbox.faults.add({ kind: 'status', status: 502 })
  expect(await client.get(at('/nav'), call)).toMatchObject({ kind: 'server_error', status: 502 })
  opened.sandbox.faults.add({ kind: 'truncate' })
  expect(await client.get(at('/nav'), call)).toMatchObject({ kind: 'invalid' })
  opened.sandbox.faults.add({ kind: 'html-200' })
  expect(await client.get(at('/nav'), call)).toMatchObject({ kind: 'invalid' })
  const stranger = clientOf(opened.sandbox.url, 'other')
  expect(await stranger.get(at('/nav'), call)).toMatchObject({ kind: 'unauthorised', status: 401 })
})

test('a plan without funds is rejected on all nine paths, as unauthorised with status 403', async () => {
  const { sandbox } = await openSandbox({ plan: 'lite', backlog: 0 })
  for (const outcome of await Promise.all(everyPath(clientOf(sandbox.url, sandbox.key), ISIN, openCall()))) {
    expect(outcome).toMatchObject({ kind: 'unauthorised', status: 403 })
  }
  expect(sandbox.usage().refused.plan_required).toBe(9)
})

test('the limits of the plan apply to fund paths', async () => {
  const { sandbox } = await openSandbox({ backlog: 0, weeklyQuota: 6, ratePerSecond: 1, burst: 4 })
  const client = clientOf(sandbox.url, sandbox.key)
  const kinds = []
  for (let time = 0; time < 8; time++) kinds.push((await client.get(at(`/events/${ISIN}`), openCall())).kind)
  expect(kinds).toEqual([...Array(4).fill('not_found'), ...Array(4).fill('too_many')])
  expect(sandbox.usage()).toMatchObject({ units: 6, throttled: 2, quotaRefused: 2 })
})

test('the unit is durable before the request waits for the throttle, and a rejecting permit sends nothing', async () => {
  const { client, server } = await clientAgainst(answers(200, '{"data":{}}'))
  const call = openCall()
  await client.get(at('/events/XLON:ABC'), call)
  expect(call.order).toEqual(['spent', 'throttled'])
  const fenced = new Error('fenced')
  const shut = { ...call, permit: { ...call.permit, spend: () => Promise.reject(fenced) } }
  for (const outcome of everyPath(client, ISIN, shut)) await expect(outcome).rejects.toBe(fenced)
  const jammed = { ...call, permit: { ...call.permit, throttle: () => Promise.reject(fenced) } }
  await expect(client.get(at('/nav'), jammed)).rejects.toBe(fenced)
  expect(server.requests.map(({ url }) => url)).toEqual(['/v2/events/XLON:ABC'])
})

test('a response is returned as its exact text, and one without data is invalid', async () => {
  const text = '{"data": {"value": 1.50},\n "unknown": null}'
  const { client } = await clientAgainst(answers(200, text))
  expect(await client.get(at('/nav/X'), openCall())).toMatchObject({ kind: 'ok', value: text })
  for (const body of ['', '[]', 'null', '{}', '{"data":null}', '{"data":1}', '{"data":[]', '"data"']) {
    const { client: other } = await clientAgainst(answers(200, body))
    const outcome = await other.get(at('/nav/X'), openCall())
    expect(outcome).toMatchObject({ kind: 'invalid', sent: true })
    expect(outcome).not.toHaveProperty('value')
  }
})
