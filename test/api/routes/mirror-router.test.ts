import { expect, onTestFinished, test } from 'vitest'
import { fundRoutes } from '../../../src/api/mirror/fund-routes.ts'
import type { MirrorRoute } from '../../../src/api/mirror/route.ts'
import { bridgeMirror } from '../../../src/api/routes/mirror-router.ts'
import { BridgeError } from '../../../src/errors.ts'
import { createApp } from '../../../src/http/app.ts'
import type { Authenticate } from '../../../src/http/auth.ts'
import { SendBuffers } from '../../../src/http/bounds/send-buffers.ts'
import { MAX_URL_BYTES } from '../../../src/http/limits.ts'
import { listen } from '../../../src/http/listener.ts'
import { anyObject } from '../../../src/http/schemas/json-schema.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { raw } from '../../http/raw.ts'
import { knows } from '../../support/http/callers.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { openMount } from '../mirror/mirror-mount.ts'

/** The documentation of these routes. */
const facts = { summary: '', parameters: {}, schema: anyObject }
const routes: MirrorRoute[] = [
  {
    ...facts,
    path: '/things/:name',
    key: 'required',
    answer: ({ segment }, { plan }) => JSON.stringify({ data: segment('name'), plan }),
  },
  { ...facts, path: '/references/things', key: 'none', answer: () => '{"data":[]}' },
  {
    ...facts,
    path: '/away',
    key: 'none',
    answer() {
      throw new BridgeError('log_unavailable', 'secret detail')
    },
  },
  {
    ...facts,
    path: '/broken',
    key: 'none',
    answer() {
      throw new Error('secret detail')
    },
  },
]

const tokens = knows({ reading: {}, writing: { scopes: ['webhooks:write'] } })

test('an expired key is a wrong one, and keys are checked only once the tokens are loaded', async () => {
  const expired = await openBridge(() => 'expired')
  const wrong = await openBridge(() => 'unknown')
  const answers = [await expired.ask('/things/a'), await wrong.ask('/things/a')]
  expect(answers[0]?.status).toBe(401)
  expect(answers[0]?.body).toEqual(answers[1]?.body)
  const loading = await (await openBridge(() => 'loading')).ask('/things/a')
  expect([loading.status, loading.headers.get('retry-after')]).toEqual([503, '5'])
  expect(loading.body).toEqual({
    error: { message: expect.stringContaining('tokens'), hint: expect.any(String) },
  })
})

async function openBridge(authenticate: Authenticate = tokens) {
  const { logger, lines } = keepingLogger()
  const handler = bridgeMirror({ routes, authenticate, sendBuffers: new SendBuffers(), logger })
  const app = createApp({
    routes: [],
    mounts: [{ prefix: '/v2', handler }],
    authenticate,
    corsOrigins: ['https://desk.example'],
    logger,
  })
  const listener = await listen(app, { host: '127.0.0.1', port: 0, setting: 'X', clock: systemClock, logger })
  onTestFinished(() => listener.close(0))
  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${listener.url}/v2${path}`, {
      headers: { 'x-api-key': 'reading' },
      ...init,
    })
    return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) }
  }
  return { url: listener.url, ask, lines }
}

const upstreamError = { error: { message: expect.any(String), hint: expect.any(String) } }

test('a bridge token is the key, with the entitlements of the largest plan', async () => {
  const { ask } = await openBridge()
  const { status, headers, body } = await ask('/things/one')
  expect({ status, body }).toEqual({ status: 200, body: { data: 'one', plan: 'enterprise' } })
  expect(headers.get('cache-control')).toBe('no-store')
  expect((await ask('/references/things', { headers: {} })).status).toBe(200)
})

test('a missing or wrong key answers 401, one without the scope 403', async () => {
  const { ask } = await openBridge()
  for (const [headers, status] of [
    [{}, 401],
    [{ 'x-api-key': 'wrong' }, 401],
    [{ authorization: 'Bearer reading' }, 401],
    [{ 'x-api-key': 'writing' }, 403],
  ] as const) {
    const reply = await ask('/things/one', { headers })
    expect({ status: reply.status, body: reply.body }).toEqual({ status, body: upstreamError })
  }
})

test('hints name no member of another error format', async () => {
  const { url, ask } = await openBridge()
  const head = 'GET /v2/things/one HTTP/1.1\r\nHost: x\r\nx-api-key: reading\r\n'
  const large = await raw(Number(new URL(url).port), `${head}Content-Length: 2000000\r\n\r\n`)
  const forbidden = await ask('/things/one', { headers: { 'x-api-key': 'writing' } })
  const away = await ask('/away')
  expect([large.status, forbidden.status, away.status]).toEqual([413, 403, 503])
  for (const { error } of [JSON.parse(large.body), forbidden.body, away.body]) {
    expect(error.hint).not.toMatch(/`(detail|errors|code|title|oldest)`/)
  }
  expect(forbidden.body.error.hint).toContain('x-api-key')
})

test('every error has the body format of upstream and names the remedy', async () => {
  const { ask } = await openBridge()
  for (const [path, init, status] of [
    ['/things/%E0%A4%A', {}, 400],
    ['/nothing', {}, 404],
    ['', {}, 404],
    [`/things/${'x'.repeat(MAX_URL_BYTES)}`, {}, 414],
    ['/things/one', { method: 'DELETE' }, 405],
    ['/things/one', { method: 'POST', body: '{}' }, 405],
    ['/away', {}, 503],
  ] as const) {
    const reply = await ask(path, { headers: { 'x-api-key': 'reading' }, ...init })
    expect({ path, status: reply.status, body: reply.body }).toEqual({ path, status, body: upstreamError })
    expect(reply.headers.get('content-type')).toContain('application/json')
    if (status === 405) expect(reply.headers.get('allow')).toBe('GET, HEAD')
    if (status === 503) expect(reply.headers.get('retry-after')).toMatch(/^\d+$/)
  }
})

test('an address of 16 KB is taken, one above is refused, and one above 32 KB is never read whole', async () => {
  const { url, ask } = await openBridge()
  const query = `?q=${'x'.repeat(MAX_URL_BYTES - '/v2/things/one?q='.length)}`
  expect((await ask(`/things/one${query}`)).status).toBe(200)
  expect((await ask(`/things/one${query}x`)).status).toBe(414)
  const { port } = new URL(url)
  const long = `GET /v2/things/one${query}${query}${query} HTTP/1.1\r\nHost: x\r\n\r\n`
  expect((await raw(Number(port), long)).status).toBe(431)
})

test('an unexpected body is refused; a parameter with broken encoding is accepted as it is', async () => {
  const { url, ask } = await openBridge()
  const head = 'GET /v2/things/one HTTP/1.1\r\nHost: x\r\nx-api-key: reading\r\n'
  const refused = await raw(Number(new URL(url).port), `${head}Content-Length: 2\r\n\r\n[]`)
  expect({ status: refused.status, body: JSON.parse(refused.body) }).toEqual({
    status: 400,
    body: upstreamError,
  })
  expect((await ask('/things/one?q=%zz')).status).toBe(200)
})

test('an unknown parameter adds a warning on every path, also to a response that another server wrote', async () => {
  const source = { answer: () => '{"data": {"nav": 1.50} }' }
  const base = await openMount([...routes, ...fundRoutes(source)], tokens)
  const get = async (path: string) => {
    const response = await fetch(`${base}${path}`, { headers: { 'x-api-key': 'reading' } })
    return response.text()
  }
  const warnings = (name: string) => `"warnings":["${name} was ignored: there is no such parameter"]}`
  expect(await get('/things/one?channel=app')).toBe(
    `{"data":"one","plan":"enterprise",${warnings('channel')}`,
  )
  expect(await get('/references/things?x=1')).toBe(`{"data":[],${warnings('x')}`)
  expect(await get('/nav/ABC?verbose=1')).toBe(`{"data": {"nav": 1.50},${warnings('verbose')}`)
  expect(await get('/nav?pageSize=5')).toBe('{"data": {"nav": 1.50} }')
  expect(JSON.parse(await get('/nav?pagesize=5')).warnings).toEqual([expect.stringContaining('"pageSize"')])
  expect(JSON.parse(await get('/nav/%2F?verbose=1'))).toEqual({ error: expect.any(Object) })
})

test('an internal error answers 500 without its text, which goes to the log', async () => {
  const { ask, lines } = await openBridge()
  const reply = await ask('/broken')
  expect({ status: reply.status, body: reply.body }).toEqual({
    status: 500,
    body: { error: { message: 'the server failed' } },
  })
  expect(JSON.stringify(lines)).toContain('/v2/broken')
})

test('a page of an allowed origin may send the key', async () => {
  const { url } = await openBridge()
  const reply = await fetch(`${url}/v2/things/one`, {
    method: 'OPTIONS',
    headers: { origin: 'https://desk.example', 'access-control-request-method': 'GET' },
  })
  expect(reply.status).toBe(204)
  expect(reply.headers.get('access-control-allow-headers')).toContain('X-Api-Key')
})
