/**
 * Compares both API documents with the running product, over real sockets: paths, methods, access, responses and
 * messages, in both directions.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { documentedRoutes } from '../../docs/generate.ts'
import { type App, startApp } from '../../src/app/app.ts'
import { systemChance, systemClock } from '../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { loadSettings } from '../../src/settings/settings.ts'
import { subprotocols } from '../../src/streams/transport/ws-frames.ts'
import { ADMIN_TOKEN, bridgeEnv, temporaryDirectory } from '../support/bridge-process.ts'
import { type AsyncApi, productDocument } from '../support/house/asyncapi-document.ts'
import { messageJudge } from '../support/house/asyncapi-messages.ts'
import { misfits } from '../support/house/openapi-answers.ts'
import { openApiRules, operationsOf } from '../support/house/openapi-rules.ts'
import { type OpenApi, openApiShape } from '../support/house/openapi-shape.ts'
import { until } from '../support/http/api-server.ts'
import { openStream } from '../support/streams/ws-client.ts'
import { startReceiver, TRANSPORT_HEADERS } from '../support/webhooks/webhook-receiver.ts'

const directory = temporaryDirectory()
const stopping = new AbortController()
const bearer = { authorization: `Bearer ${ADMIN_TOKEN}` }
const METHODS = ['get', 'post', 'put', 'patch', 'delete']
let sandbox: Sandbox
let app: App
let running: Promise<void>
let document: OpenApi

beforeAll(async () => {
  sandbox = await startSandbox(
    { scenario: 'demo', plan: 'ultimate', weeklyQuota: 1_000_000 },
    { clock: systemClock },
  )
  const env = bridgeEnv(sandbox, directory.path, {
    BRIDGE_UPSTREAM_PLAN: 'ultimate',
    BRIDGE_BACKFILL: 'PT1H',
    BRIDGE_LOG_LEVEL: 'silent',
    BRIDGE_WEBHOOK_ALLOW_NETS: '127.0.0.0/8',
    BRIDGE_WEBHOOK_ALLOW_HTTP: 'true',
  })
  app = await startApp(loadSettings(env, noFile), { clock: systemClock, chance: systemChance })
  running = app.runUntil(stopping.signal)
  await until(() => app.reader.latest > 20)
  document = openApiShape.parse(await (await fetch(`${app.ready.http}/openapi.json`)).json())
})

afterAll(async () => {
  stopping.abort()
  await running
  await sandbox.close()
  directory[Symbol.dispose]()
})

/** An example URL of the path template. */
function addressOf(path: string): string {
  return app.ready.http + path.replace(/\{\w+\}/g, 'x')
}

/** Sends the request without a token, with a body if the method may have one. */
function ask(path: string, method: string): Promise<Response> {
  return fetch(addressOf(path), { method: method.toUpperCase() })
}

test('the document of the running product breaks no rule', () => {
  expect(openApiRules.flatMap((rule) => rule(document))).toEqual([])
})

test('the document and the docs name the same paths with the same methods', () => {
  const named = operationsOf(document).map(({ method, path }) => `${method.toUpperCase()} ${path}`)
  const ours = named.filter((name) => !name.startsWith('GET /v2/'))
  expect(ours.sort()).toEqual(
    documentedRoutes()
      .map(({ method, path }) => `${method} ${path}`)
      .sort(),
  )
  expect(named.length - ours.length).toBe(14)
})

test('the interface below /v2 describes itself with the version of the upstream API', async () => {
  const { info, paths } = (await (await fetch(`${app.ready.http}/v2/openapi.json`)).json()) as OpenApi & {
    info: { version: string }
  }
  expect(info.version).toBe('2.5.0')
  expect(JSON.stringify(document)).toContain('2.5.0')
  const mirrored = Object.keys(document.paths).filter((path) => path.startsWith('/v2/'))
  expect(Object.keys(paths).map((path) => `/v2${path}`)).toEqual(mirrored)
})

test('every operation is served, and without a token only where documented', async () => {
  for (const { method, path, operation } of operationsOf(document)) {
    const response = await ask(path, method)
    const text = await response.text()
    const isOpen = operation.security.length === 0
    const expected = isOpen ? expect.not.stringMatching(/^40[15]$/) : '401'
    expect([method, path, String(response.status)], text).toEqual([method, path, expected])
    expect(Object.keys(operation.responses), `${method} ${path}`).toContain(String(response.status))
  }
})

test('no other method of these paths is served, and 405 names the allowed ones', async () => {
  for (const [path, item] of Object.entries(document.paths)) {
    const own = METHODS.filter((method) => method in item)
    for (const method of METHODS.filter((other) => !own.includes(other))) {
      const response = await ask(path, method)
      await response.body?.cancel()
      expect([method, path, response.status]).toEqual([method, path, 405])
      const allowed = (response.headers.get('allow') ?? '').toLowerCase().split(', ')
      expect(allowed.filter((name) => METHODS.includes(name)).sort()).toEqual(own.sort())
    }
  }
})

test('responses have the members of their schemas and no others', async () => {
  const { token } = await made()
  const kept = await post('/v1/webhooks', { url: 'https://example.com/hook', filter: { types: ['gap'] } })
  expect(misfits(document, answerOf('/v1/webhooks', 'post', 201), await kept.json())).toEqual([])
  const lists = [
    'disclosures',
    'categories',
    'issuers',
    'status',
    'report',
    'arrivals',
    'quota',
    'polls',
    'tokens',
    'webhooks',
  ]
  for (const path of lists.map((list) => `/v1/${list}`)) {
    const response = await fetch(app.ready.http + path, { headers: bearer })
    expect([path, misfits(document, answerOf(path, 'get', 200), await response.json())]).toEqual([path, []])
  }
  const tried = await post('/v1/filters/test', {
    filter: { types: ['published'], importance: 'low+' },
    last: 50,
  })
  expect(misfits(document, answerOf('/v1/filters/test', 'post', 200), await tried.json())).toEqual([])
  for (const [path, query] of [
    ['/v2/disclosures/sources/rns/items', '?dateFrom=2020'],
    ['/v2/disclosures/sources/rns/items', '?dateFrom=2020&pageNumber=1&channel=app'],
    ['/v2/references/exchanges', ''],
  ] as const) {
    const response = await fetch(app.ready.http + path + query, { headers: { 'x-api-key': token } })
    if (response.status !== 503) {
      expect([path, misfits(document, answerOf(path, 'get', 200), await response.json())]).toEqual([path, []])
    }
  }
  const hook = await post('/v1/webhooks', { url: 'https://hooks.example/', filter: { types: ['gap'] } })
  expect(misfits(document, answerOf('/v1/webhooks', 'post', 201), await hook.json())).toEqual([])
  const hooks = await fetch(`${app.ready.http}/v1/webhooks`, { headers: bearer })
  const page = (await hooks.json()) as { data: { id: string }[] }
  expect(misfits(document, answerOf('/v1/webhooks', 'get', 200), page)).toEqual([])
  const said = await fetch(`${app.ready.http}/v1/disclosures/1/deliveries`, { headers: bearer })
  const ofEvent = answerOf('/v1/disclosures/{id}/deliveries', 'get', 200)
  expect(misfits(document, ofEvent, await said.json())).toEqual([])
  const replays = await fetch(`${app.ready.http}/v1/webhooks/${page.data[0]?.id}/replays`, {
    headers: bearer,
  })
  const replayList = answerOf('/v1/webhooks/{id}/replays', 'get', 200)
  expect(misfits(document, replayList, await replays.json())).toEqual([])
  for (const action of ['rotate', 'disable', 'enable']) {
    const changed = await post(`/v1/webhooks/${page.data[0]?.id}/${action}`)
    const schema = answerOf(`/v1/webhooks/{id}/${action}`, 'post', 200)
    expect([action, misfits(document, schema, await changed.json())]).toEqual([action, []])
  }
  const rewrapped = await post('/v1/webhooks/rewrap')
  const schema = answerOf('/v1/webhooks/rewrap', 'post', 200)
  expect(misfits(document, schema, await rewrapped.json())).toEqual([])
  const wrong = await fetch(`${app.ready.http}/v1/disclosures?limt=1`, { headers: bearer })
  const { Problem } = document.components.schemas
  expect(misfits(document, Problem, await wrong.json())).toEqual([])
  expect(misfits(document, Problem, { code: 'nothing', more: 1 })).not.toEqual([])
})

test('messages of streams and webhooks match the AsyncAPI document', async () => {
  const served = (await (await fetch(`${app.ready.http}/asyncapi.json`)).json()) as AsyncApi
  expect(served).toEqual(productDocument(null))
  const misfit = messageJudge(served)
  for (const subprotocol of subprotocols) {
    const client = await openStream({ url: app.ready.http, auth: bearer }, { protocols: [subprotocol] })
    client.send({ action: 'subscribe', from: { tail: 10 } })
    const isPlain = subprotocol === 'bridge.v1.json'
    await client.next(isPlain ? 'live' : 'bridge.live.v1')
    client.webSocket.close()
    const events = client.messages.filter(({ type }) => type.startsWith('disclosure'))
    expect(events.length).toBeGreaterThan(9)
    for (const payload of events)
      expect(misfit(`websocket.${subprotocol}`, 'disclosure', { payload })).toEqual([])
  }
  await using receiver = await startReceiver()
  await post('/v1/webhooks', { url: receiver.url, since: '2020' })
  await until(() => receiver.received.length > 9)
  for (const { body, headers } of receiver.received) {
    const own = Object.entries(headers).filter(([name]) => !TRANSPORT_HEADERS.includes(name))
    const given = { payload: JSON.parse(body), headers: Object.fromEntries(own) }
    expect(misfit('webhooks', 'disclosure', given)).toEqual([])
  }
})

/** A token with the scope to read. */
async function made(): Promise<{ token: string }> {
  const response = await post('/v1/tokens', { tenant: 'desk', scopes: ['events:read'], name: 'x' })
  const body = (await response.json()) as { token: string }
  expect(misfits(document, answerOf('/v1/tokens', 'post', 201), body)).toEqual([])
  return body
}

function post(path: string, body?: object): Promise<Response> {
  if (body === undefined) return fetch(app.ready.http + path, { method: 'POST', headers: bearer })
  const headers = { ...bearer, 'content-type': 'application/json' }
  return fetch(app.ready.http + path, { method: 'POST', headers, body: JSON.stringify(body) })
}

/** The schema of that response. */
function answerOf(path: string, method: 'get' | 'post', status: number): unknown {
  const answer = document.paths[path]?.[method]?.responses[String(status)]
  if (answer === undefined || '$ref' in answer) throw new Error(`${method} ${path} has no answer ${status}`)
  return answer.content?.['application/json']?.schema
}

function noFile(path: string): never {
  throw Object.assign(new Error(`${path} is not read by this test`), { code: 'ENOENT' })
}
