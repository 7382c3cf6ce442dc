/** Tests the fund paths of a whole bridge against the real sandbox, on the embedded log: responses and costs. */
import { afterEach, expect, test } from 'vitest'
import { type App, startApp } from '../../src/app/app.ts'
import { systemChance, systemClock } from '../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { loadSettings } from '../../src/settings/settings.ts'
import { ADMIN_TOKEN, bridgeEnv, temporaryDirectory } from '../support/bridge-process.ts'
import { eventually } from '../support/http/api-client.ts'

const open: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

const noFile = (): never => {
  throw Object.assign(new Error('no file'), { code: 'ENOENT' })
}

/** A bridge on the embedded log that has polled once, and clients of it and of the sandbox. */
async function openBridge(env: Record<string, string>) {
  const sandbox = await startSandbox(
    { scenario: 'quiet', plan: 'advanced', weeklyQuota: 1_000_000 },
    { clock: systemClock },
  )
  open.push(() => sandbox.close())
  const directory = temporaryDirectory()
  const settings = bridgeEnv(sandbox, directory.path, { ...env, BRIDGE_LOG_LEVEL: 'silent' })
  const app = await startApp(loadSettings({ BRIDGE_UPSTREAM_PLAN: 'advanced', ...settings }, noFile), {
    clock: systemClock,
    chance: systemChance,
  })
  const stopping = new AbortController()
  const running = app.runUntil(stopping.signal)
  open.push(async () => {
    stopping.abort()
    await running
    directory[Symbol.dispose]()
  })
  await eventually(
    () => app.status().upstream.lastGoodPoll,
    (time) => time !== null,
  )
  return {
    app,
    sandbox,
    ours: asker(`${app.ready.http}/v2`, ADMIN_TOKEN),
    theirs: asker(sandbox.url, sandbox.key),
  }
}

function asker(base: string, key: string) {
  return async (path: string, headers: Record<string, string> = { 'x-api-key': key }) => {
    const response = await fetch(`${base}${path}`, { headers })
    return {
      status: response.status,
      text: await response.text(),
      retryAfter: response.headers.get('retry-after'),
    }
  }
}

/** The fund request units that the bridge has counted. */
async function gatewayRequests(app: App): Promise<number> {
  const text = await (await fetch(`${app.ready.ops}/metrics`)).text()
  const counts = text.matchAll(/^bridge_poll_requests_total\{purpose="gateway",result="\w+"\} (\d+)$/gm)
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
}

/** ISIN of a trust that has data on every path. */
async function richTrust(theirs: ReturnType<typeof asker>): Promise<string> {
  const { data } = JSON.parse((await theirs('/nav?pageSize=100')).text) as {
    data: { issuer: { instrument: { isin: string } }; navPerShare: object }[]
  }
  for (const { issuer } of data.filter(({ navPerShare }) => 'exIncome' in navPerShare)) {
    const { isin } = issuer.instrument
    const paths = ['buybacks', 'dividends', 'performance'].map((resource) => `/${resource}/${isin}`)
    const replies = await Promise.all(paths.map((path) => theirs(path)))
    if (replies.every(({ status }) => status === 200)) return isin
  }
  throw new Error('no trust of this seed has everything')
}

/** The bridge's count of the week less the sandbox's, without the requests sent to the sandbox directly. */
const drift = (app: App, sandbox: Sandbox, beside: number): number =>
  (app.status().quota.used ?? 0) - (sandbox.usage().units - beside)

test("each fund path returns the service's own response, at one unit a minute, counted alike on both sides", async () => {
  const { app, sandbox, ours, theirs } = await openBridge({ BRIDGE_GATEWAY_WEEKLY_UNITS: '100' })
  let beside = 0
  const direct = (path: string) => {
    beside += 1
    return theirs(path)
  }
  const before = sandbox.usage().units - (app.status().quota.used ?? 0)
  const isin = await richTrust(direct)
  const paths = [
    ...['/nav', '/nav?pageSize=3&pageNumber=2', `/nav?isins=${isin}&isin=${isin}`],
    ...['nav', 'buybacks', 'dividends', 'events', 'performance'].map((resource) => `/${resource}/${isin}`),
    ...['nav', 'buybacks'].map((resource) => `/${resource}/${isin}/history?dateFrom=2025-03&dateTo=2025-03`),
    ...[`/dividends/${isin}/history?pageSize=2&pageNumber=2`, '/performance/US0378331005'],
    ...['/events/GB0000000000', '/events/XX0000000000', '/events/vod', '/events/XLON:vod', '/events/BT-A'],
  ]
  for (const path of paths) {
    const { status, text } = await direct(path)
    const passed = await ours(path)
    expect([path, passed.status]).toEqual([path, status])
    if (status === 200) expect(passed.text).toBe(text)
    else expect(passed.text).toContain('error')
  }
  expect(await gatewayRequests(app)).toBe(paths.length)
  for (const path of paths) await ours(path)
  expect(await gatewayRequests(app)).toBe(paths.length)
  await eventually(
    () => drift(app, sandbox, beside + before),
    (units) => units === 0,
  )
  expect(sandbox.usage().throttled).toBe(0)
  expect((await ours('/nav', {})).status).toBe(401)
  expect((await ours('/nav/A%2FB')).status).toBe(404)
  expect(await gatewayRequests(app)).toBe(paths.length)
})

test('an exhausted quota share answers 429 with Retry-After, and polls continue', async () => {
  const { app, sandbox, ours } = await openBridge({ BRIDGE_GATEWAY_WEEKLY_UNITS: '3' })
  const replies = await Promise.all(
    Array.from({ length: 8 }, (_, index) => ours(`/nav?pageSize=${index + 1}`)),
  )
  expect(replies.map(({ status }) => status).sort()).toEqual([200, 200, 200, 429, 429, 429, 429, 429])
  const refused = replies.find(({ status }) => status === 429)
  expect(Number(refused?.retryAfter)).toBeGreaterThan(6 * 86_400)
  expect(JSON.parse(refused?.text ?? '').error.hint).toContain('BRIDGE_GATEWAY_WEEKLY_UNITS')
  expect(await gatewayRequests(app)).toBe(3)
  const polled = app.status().upstream.lastGoodPoll
  await eventually(
    () => app.status().upstream.lastGoodPoll,
    (time) => time !== polled,
  )
  expect(sandbox.usage().throttled).toBe(0)
})

test('without a quota share the fund paths are off, and say so', async () => {
  const { ours } = await openBridge({})
  expect(await ours('/nav')).toMatchObject({
    status: 503,
    text: expect.stringContaining('the gateway is off'),
  })
})
