import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { deflateRawSync, gzipSync } from 'node:zlib'
import { afterEach, expect, test, vi } from 'vitest'
import { createTransport, type Transport } from '../../src/upstream/transport.ts'
import { createTestAuthority } from '../support/test-certificates.ts'
import { createManualClock } from '../support/time/manual-clock.ts'
import {
  answers,
  raw,
  type Script,
  type ScriptedUpstream,
  startScriptedUpstream,
} from '../support/worlds/scripted-upstream.ts'

const TIMEOUT_MS = 30_000
const KEY = 'key-of-the-test'
const GOOD = '{"data":[],"meta":{}}'
const never = new AbortController().signal

const clock = createManualClock()
const open: AsyncDisposable[] = []

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one[Symbol.asyncDispose]()
  expect(clock.nextTimerMs(), 'a timer was left behind').toBeNull()
})

function transportTo(url: string): Transport {
  const transport = createTransport({ url, key: KEY, timeoutMs: TIMEOUT_MS, clock })
  open.push({ [Symbol.asyncDispose]: () => transport.close() })
  return transport
}

async function against(script: Script): Promise<{ server: ScriptedUpstream; transport: Transport }> {
  const server = await startScriptedUpstream(script)
  open.push(server)
  return { server, transport: transportTo(server.url) }
}

/** The outcome of one request under that script. */
async function outcomeOf(script: Script) {
  const { transport } = await against(script)
  return transport.get('/x', never)
}

/** Resolves when the client has received the headers of its next response. */
async function headersSeen(): Promise<void> {
  const channel = 'undici:request:headers'
  await new Promise<void>((resolve) => {
    const seen = (): void => {
      unsubscribe(channel, seen)
      resolve()
    }
    subscribe(channel, seen)
  })
  await nextTurn()
}

test('the outcome contains the quota from the headers, whatever the status', async () => {
  const headers = { 'x-ratelimit-limit': '3500', 'x-ratelimit-remaining': '17' }
  for (const status of [200, 429, 500]) {
    const { reported } = await outcomeOf(answers(status, GOOD, headers))
    expect(reported).toEqual([{ limit: 3500, remaining: 17 }])
  }
  expect(await outcomeOf(answers(200, GOOD))).not.toHaveProperty('reported')
})

test('a good response is returned as text with its times; the request has the key header and the path under the base', async () => {
  const { server, transport } = await against(answers(200, GOOD, { date: 'Mon, 01 Jun 2026 06:00:07 GMT' }))
  const startedMs = clock.now()
  expect(await transport.get('/disclosures?pageSize=5', never)).toEqual({
    kind: 'ok',
    value: GOOD,
    sent: true,
    startedMs,
    endedMs: startedMs,
    serverMs: Date.UTC(2026, 5, 1, 6, 0, 7),
  })
  const [request] = server.requests
  expect(request?.url).toBe('/v2/disclosures?pageSize=5')
  expect(request?.headers['x-api-key']).toBe(KEY)
})

test('an invalid Date header counts as absent', async () => {
  expect(await outcomeOf(answers(200, GOOD, { date: 'yesterday' }))).toMatchObject({
    kind: 'ok',
    serverMs: null,
  })
})

test('a byte order mark and compression do not change the text', async () => {
  expect(await outcomeOf(answers(200, `\ufeff${GOOD}`))).toMatchObject({ kind: 'ok', value: GOOD })
  const packed = answers(200, gzipSync(GOOD), { 'content-encoding': 'gzip' })
  expect(await outcomeOf(packed)).toMatchObject({ kind: 'ok', value: GOOD })
})

test('a response that is not JSON is returned unchanged, for the page reader to judge', async () => {
  expect(await outcomeOf(answers(200, '<html>'))).toMatchObject({ kind: 'ok', value: '<html>' })
  expect(await outcomeOf(answers(200, ''))).toMatchObject({ kind: 'ok', value: '' })
})

test('a rejected key, a rejected request and a server error have different outcomes', async () => {
  const body = '{"error":{"message":"no such cursor"}}'
  expect(await outcomeOf(answers(401, body))).toMatchObject({ kind: 'unauthorised', status: 401, sent: true })
  expect(await outcomeOf(answers(403, body))).toMatchObject({ kind: 'unauthorised', status: 403 })
  expect(await outcomeOf(answers(400, body))).toMatchObject({
    kind: 'refused',
    status: 400,
    message: 'no such cursor',
  })
  expect(await outcomeOf(answers(404, '<html>'))).toMatchObject({ kind: 'refused', status: 404, message: '' })
  expect(await outcomeOf(answers(500, '{}'))).toMatchObject({ kind: 'server_error', status: 500 })
  expect(await outcomeOf(answers(503, ''))).toMatchObject({ kind: 'server_error', status: 503 })
  expect(await outcomeOf(answers(204, ''))).toMatchObject({ kind: 'invalid', reason: 'status 204' })
})

test('a 429 returns Retry-After as received, in every form and absent', async () => {
  const forms = ['7', 'Mon, 01 Jun 2026 07:00:00 GMT', '-1', '99999999999999999999', 'soon']
  for (const form of forms) {
    expect(await outcomeOf(answers(429, '{}', { 'retry-after': form }))).toMatchObject({
      kind: 'too_many',
      retryAfter: form,
      sent: true,
    })
  }
  expect(await outcomeOf(answers(429, '{}'))).toMatchObject({ kind: 'too_many', retryAfter: null })
})

test('a redirect is not followed, so the key is not sent elsewhere', async () => {
  const elsewhere = await against(answers(200, GOOD))
  for (const status of [301, 302, 303, 307, 308]) {
    const outcome = await outcomeOf(answers(status, '', { location: `${elsewhere.server.url}/x` }))
    expect(outcome).toMatchObject({ kind: 'invalid', reason: `status ${status}` })
  }
  expect(elsewhere.server.requests).toHaveLength(0)
})

test('a response that never starts is aborted after the time limit', async () => {
  const { server, transport } = await against(() => {})
  const pending = transport.get('/x', never)
  await server.received(1)
  clock.advance(TIMEOUT_MS - 1)
  expect(clock.nextTimerMs()).toBe(1)
  clock.advance(1)
  expect(await pending).toMatchObject({ kind: 'timeout', phase: 'headers', sent: true })
})

test('a response that stops inside its body is aborted after the time limit', async () => {
  const { transport } = await against((response) => {
    response.writeHead(200)
    response.write('{"data":[')
  })
  const seen = headersSeen()
  const pending = transport.get('/x', never)
  await seen
  clock.advance(TIMEOUT_MS)
  expect(await pending).toMatchObject({ kind: 'timeout', phase: 'body', sent: true })
})

test('a body that drips slowly does not extend the time limit', async () => {
  let drip = (): void => {}
  const { transport } = await against((response) => {
    response.writeHead(200)
    drip = () => response.write(' ')
    drip()
  })
  const seen = headersSeen()
  const pending = transport.get('/x', never)
  await seen
  for (let second = 0; second < TIMEOUT_MS / 1000; second++) {
    drip()
    await nextTurn()
    clock.advance(1000)
  }
  expect(await pending).toMatchObject({ kind: 'timeout', phase: 'body' })
  expect(clock.nextTimerMs()).toBeNull()
})

test('an error status keeps its outcome when its body hangs, breaks or never ends', async () => {
  const { transport } = await against((response) => {
    response.writeHead(429, { 'retry-after': '5' })
    response.write('{')
  })
  const seen = headersSeen()
  const pending = transport.get('/x', never)
  await seen
  clock.advance(TIMEOUT_MS)
  expect(await pending).toMatchObject({ kind: 'too_many', retryAfter: '5' })
  const broken = raw('HTTP/1.1 401 No\r\ncontent-length: 50\r\n\r\n{"error"', 'reset')
  expect(await outcomeOf(broken)).toMatchObject({ kind: 'unauthorised', status: 401 })
  const endless: Script = (response) => {
    response.writeHead(500)
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(16_384)));
    }
    response.on('drain', more)
    more()
  }
  expect(await outcomeOf(endless)).toMatchObject({ kind: 'server_error', status: 500 })
})

test('a connection reset before or inside the response is a network failure whose unit stays spent', async () => {
  for (const bytes of ['', 'HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{"data":']) {
    expect(await outcomeOf(raw(bytes, 'reset'))).toMatchObject({ kind: 'network', sent: true })
    expect(await outcomeOf(raw(bytes, 'end'))).toMatchObject({ kind: 'network', sent: true })
  }
})

test('a response that is not HTTP is a network failure whose unit stays spent', async () => {
  expect(await outcomeOf(raw('SSH-2.0-x\r\n'))).toMatchObject({ kind: 'network', sent: true })
})

test('a body that does not match its content encoding is invalid', async () => {
  const claims = (body: Buffer): Script => answers(200, body, { 'content-encoding': 'gzip' })
  expect(await outcomeOf(claims(Buffer.from(GOOD)))).toMatchObject({ kind: 'invalid', sent: true })
  expect(await outcomeOf(claims(deflateRawSync(GOOD)))).toMatchObject({ kind: 'invalid', sent: true })
})

test('a body above the limit is rejected, however small it was on the wire', async () => {
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024 + 1), { level: 1 })
  expect(bomb.byteLength).toBeLessThan(1024 * 1024)
  const outcome = await outcomeOf(answers(200, bomb, { 'content-encoding': 'gzip' }))
  expect(outcome).toMatchObject({ kind: 'invalid', reason: expect.stringContaining('larger than') })
})

test('a connection that could not be established refunds its unit', async () => {
  const server = await startScriptedUpstream(answers(200, GOOD))
  await server[Symbol.asyncDispose]()
  const refused = await transportTo(server.url).get('/x', never)
  expect(refused).toMatchObject({ kind: 'network', message: 'ECONNREFUSED', sent: false })
  const unresolvable = await transportTo('http://nowhere.invalid/v2').get('/x', never)
  expect(unresolvable).toMatchObject({ kind: 'network', sent: false })
})

test('a request aborted in flight keeps its unit spent; one aborted earlier is never sent', async () => {
  const { server, transport } = await against(() => {})
  const stop = new AbortController()
  const pending = transport.get('/x', stop.signal)
  await server.received(1)
  stop.abort()
  expect(await pending).toMatchObject({ kind: 'network', message: 'aborted', sent: true })
  expect(await transport.get('/x', stop.signal)).toMatchObject({ message: 'aborted', sent: false })
  expect(server.requests).toHaveLength(1)
})

test('the next request of the same transport succeeds after every kind of broken response', async () => {
  const scripts = [
    raw('', 'reset'),
    raw('nonsense'),
    answers(429, '{}'),
    answers(200, '<html>'),
    answers(200, GOOD),
  ]
  let served = 0
  const { transport } = await against((response, request) => scripts[served++]?.(response, request))
  const kinds: string[] = []
  for (const _ of scripts) kinds.push((await transport.get('/x', never)).kind)
  expect(kinds).toEqual(['network', 'network', 'too_many', 'ok', 'ok'])
})

test('no outcome contains the key', async () => {
  const echo: Script = (response, request) => answers(400, JSON.stringify({ error: {} }))(response, request)
  const outcomes = [await outcomeOf(echo), await outcomeOf(raw('', 'reset'))]
  const unsendable = createTransport({
    url: 'http://127.0.0.1:9/v2',
    key: 'bad\nkey',
    timeoutMs: TIMEOUT_MS,
    clock,
  })
  outcomes.push(await unsendable.get('/x', never))
  await unsendable.close()
  expect(JSON.stringify(outcomes)).not.toMatch(/key/)
})

test('a certificate that nobody trusts is refused although NODE_TLS_REJECT_UNAUTHORIZED is 0, and gets no key', async () => {
  const seen: IncomingHttpHeaders[] = []
  const server = createServer(createTestAuthority().issue(['localhost']), (request, response) => {
    seen.push(request.headers)
    response.end(GOOD)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  open.push({ [Symbol.asyncDispose]: async () => void server.close() })
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  try {
    const { port } = server.address() as AddressInfo
    const outcome = await transportTo(`https://localhost:${port}/v2`).get('/x', never)
    expect(outcome).toMatchObject({ kind: 'network', sent: false })
    expect(seen).toEqual([])
  } finally {
    vi.unstubAllEnvs()
  }
})
