import { afterEach, describe, expect, test } from 'vitest'
import { encodeCursor } from '../../../src/core/cursor.ts'
import { closeReason } from '../../../src/streams/transport/refusal.ts'
import { type ApiServer, startApi, until } from '../../support/http/api-server.ts'
import { knows } from '../../support/http/callers.ts'
import { metric } from '../../support/metric.ts'
import { EPOCH } from '../../support/store.ts'
import { openRaw } from '../../support/streams/raw-stream.ts'
import { AUTH, openStream, type StreamClient, subscribed } from '../../support/streams/ws-client.ts'

const clients: StreamClient[] = []

afterEach(() => {
  for (const client of clients.splice(0)) client.webSocket.terminate()
})

async function open(api: ApiServer, headers?: Record<string, string>): Promise<StreamClient> {
  const client = await openStream(api, headers === undefined ? {} : { headers })
  clients.push(client)
  return client
}

/** The tokens of these tests by their rights. */
const authenticate = knows({ reader: {}, other: { scopes: ['webhooks:read'] } })
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const closes = (api: ApiServer, code: number) =>
  metric(api, `stream_closes_total{transport="ws",code="${code}"}`)

/** Checks that the connection ends with this error, close code, and count. */
async function endsWith(api: ApiServer, client: StreamClient, error: object | null, code: number) {
  const closed = await client.closed
  expect(closed.code).toBe(code)
  expect(Buffer.byteLength(closed.reason)).toBeLessThanOrEqual(123)
  if (error !== null) expect(client.messages.at(-1)).toMatchObject({ type: 'error', ...error })
  await until(async () => (await closes(api, code)) === 1)
  return closed.reason
}

describe('authentication', () => {
  test('that fails is error 402 and 4001, by header and by frame', async () => {
    await using api = await startApi()
    const failed = { code: 402, name: 'authentication_failed', detail: 'this token is not valid' }
    await endsWith(api, await open(api, bearer('wrong')), failed, 4001)
    const byFrame = await open(api, {})
    byFrame.send({ ...AUTH, token: 'wrong' })
    expect((await byFrame.closed).code).toBe(4001)
    const noBearer = await open(api, { authorization: 'Basic eA==' })
    expect((await noBearer.closed).code).toBe(4001)
    expect(noBearer.messages[0]?.detail).toContain('no Bearer')
  })

  test('by the first frame passes over what a browser sends for a proxy with a password', async () => {
    await using api = await startApi()
    const client = await open(api, { authorization: 'Basic eA==', origin: api.url })
    client.send(AUTH)
    await client.next('authenticated')
    const refused = await open(api, { ...bearer('wrong'), origin: api.url })
    expect((await refused.closed).code).toBe(4001)
  })

  test('that does not arrive within 10 s is error 404 and 4001', async () => {
    await using api = await startApi()
    const client = await open(api, {})
    await until(() => api.clock.nextTimerMs() === 10_000)
    api.clock.advance(10_000)
    await endsWith(api, client, { code: 404, name: 'authentication_timeout' }, 4001)
  })

  test('without the scope is 4003', async () => {
    await using api = await startApi({ authenticate })
    await endsWith(
      api,
      await open(api, bearer('other')),
      { code: 402, detail: expect.stringMatching(/events:read/) },
      4003,
    )
  })

  test('is required before any command, and happens once', async () => {
    await using api = await startApi()
    const client = await open(api, {})
    client.send({ action: 'subscribe', id: '7' })
    expect(await client.next('error')).toMatchObject({ code: 401, name: 'not_authenticated', id: '7' })
    client.send(AUTH)
    await client.next('hello')
    client.send(AUTH)
    await until(() => client.messages.at(-1)?.code === 403)
    client.send({ action: 'ping' })
    await client.next('pong')
  })

  test('allows messages of 4 KiB before it, and larger ones after it', async () => {
    await using api = await startApi()
    const client = await open(api, {})
    client.send({ action: 'auth', token: 'x'.repeat(5000) })
    await endsWith(
      api,
      client,
      { code: 400, detail: expect.stringMatching(/4096 bytes before authentication/) },
      1009,
    )
    const entered = await open(api, {})
    entered.send(AUTH)
    await entered.next('hello')
    entered.send({ action: 'ping', id: 'x'.repeat(5000) })
    expect(await entered.next('error')).toMatchObject({
      code: 400,
      detail: expect.stringMatching(/"id" must be text/),
    })
  })
})

describe('an unauthenticated client that does not answer the close', () => {
  test.each([
    ['after a wrong token', { maxClients: 5 }, 4001],
    ['if there is no slot', { maxClients: 0 }, 4100],
  ])('%s keeps its slot for a second at most', async (_what, limits, code) => {
    await using api = await startApi(limits)
    const client = await openRaw(api, { authorization: 'Bearer wrong', answersClose: false })
    await until(() => client.closeCode() === code)
    expect(api.clock.nextTimerMs()).toBe(1000)
    api.clock.advance(1000)
    expect(await client.ended).toBe(code)
    await until(async () => (await closes(api, code)) === 1)
    expect(api.clock.nextTimerMs()).toBeNull()
  })
})

describe('a connection is refused', () => {
  test('with error 406 and 4006 when its token has too many; an administrator has no such limit', async () => {
    await using api = await startApi({ authenticate, maxPerToken: 1 })
    const first = await open(api, bearer('reader'))
    await first.next('hello')
    await endsWith(api, await open(api, bearer('reader')), { code: 406, name: 'connection_limit' }, 4006)
    first.webSocket.close()
    await until(async () => (await metric(api, 'stream_clients{transport="ws"}')) === 0)
    await (await open(api, bearer('reader'))).next('hello')
    await using free = await startApi({ maxPerToken: 1 })
    await (await open(free)).next('hello')
    await (await open(free)).next('hello')
  })

  test('with 4100 when the slots are used up, which SSE and WebSocket share', async () => {
    await using api = await startApi({ maxClients: 1 })
    const leave = new AbortController()
    await fetch(`${api.url}/v1/events`, { headers: api.auth, signal: leave.signal })
    const reason = await endsWith(api, await open(api), null, 4100)
    expect(reason).toContain('1 streams')
    leave.abort()
    await until(async () => (await metric(api, 'stream_clients{transport="sse"}')) === 0)
    const last = await open(api)
    await last.next('hello')
    expect((await fetch(`${api.url}/v1/events`, { headers: api.auth })).status).toBe(503)
    last.webSocket.close()
    await until(async () => (await metric(api, 'stream_clients{transport="ws"}')) === 0)
    await (await open(api)).next('hello')
  })

  test('with 4100 when too many wait to authenticate, while others are accepted', async () => {
    await using api = await startApi({ maxClients: 10 })
    const waiting = await open(api, {})
    await endsWith(api, await open(api, {}), null, 4100)
    await (await open(api)).next('hello')
    waiting.send(AUTH)
    await waiting.next('hello')
    const next = await open(api, {})
    next.send(AUTH)
    await next.next('hello')
  })
})

describe('a message is refused', () => {
  test.each([
    ['{"action":', 400, /not JSON/],
    ['[]', 400, /JSON object/],
    ['null', 400, /JSON object/],
    ['{}', 400, /needs an "action": auth, ping, subscribe/],
    ['{"action":"subscibe"}', 400, /did you mean "subscribe"/],
    ['{"action":{"toString":1}}', 400, /needs an "action"/],
    ['{"action":"subscribe","filtr":{}}', 400, /did you mean "filter"/],
    ['{"action":"subscribe","id":7}', 400, /"id" must be text/],
    ['{"action":"subscribe","onGap":"latest"}', 400, /"earliest", or left out/],
    ['{"action":"auth"}', 400, /"token" must be/],
    ['{"action":"subscribe","from":"lve"}', 410, /did you mean "live"/],
    ['{"action":"subscribe","from":{"aftr":"x"}}', 410, /did you mean "after"/],
    ['{"action":"subscribe","from":{}}', 410, /exactly one of after, since, tail/],
    ['{"action":"subscribe","from":{"tail":1,"since":"2026"}}', 410, /exactly one/],
    ['{"action":"subscribe","from":{"tail":0}}', 410, /1 to 1000/],
    ['{"action":"subscribe","from":{"tail":1001}}', 410, /1 to 1000/],
    ['{"action":"subscribe","from":{"since":"yesterday"}}', 410, /yesterday/],
    ['{"action":"subscribe","from":{"after":7}}', 410, /must be text/],
    ['{"action":"subscribe","filter":[]}', 410, /must be a JSON object/],
    ['{"action":"subscribe","filter":{"isin":["GB00BH4HKS39"]}}', 410, /did you mean "isins"/],
    ['{"action":"subscribe","filter":{"leis":["short"]}}', 410, /filter\.leis\[0\]/],
    [`{"action":"subscribe","filter":${'['.repeat(50_000)}${']'.repeat(50_000)}}`, 400, /nested deeper/],
    [`{"action":"subscribe","filter":{"exclude":{"exclude":{"q":"ab"}}}}`, 410, /exclude/],
    ['{"action":"ping","action":"subscribe"}', 400, /has "action" twice in one object/],
    ['{"action":"subscribe","filter":{"q":"offer","q":"final"}}', 400, /has "q" twice in one object/],
    ['{"action":"subscribe","from":{"tail":1,"tail":2}}', 400, /has "tail" twice in one object/],
  ])('%.60s: error %d, and the connection and its subscription stay open', async (text, code, detail) => {
    await using api = await startApi({ count: 1 })
    const client = await subscribed(api)
    clients.push(client)
    client.send(text)
    const error = await client.next('error')
    expect(error).toMatchObject({ code, detail: expect.stringMatching(detail) })
    api.store.grow(1)
    await client.next('disclosure')
    expect(client.types().filter((type) => type === 'subscribed')).toHaveLength(1)
  })

  test('with the id of the message', async () => {
    await using api = await startApi()
    const client = await open(api)
    client.send({ action: 'subscribe', id: 'a', from: 'x' })
    expect(await client.next('error')).toMatchObject({ code: 410, name: 'bad_cursor_or_filter', id: 'a' })
  })

  test('and closes with 4010 if the text is no cursor: reconnecting with it cannot succeed', async () => {
    await using api = await startApi({ count: 1 })
    const client = await subscribed(api)
    client.send({ action: 'subscribe', id: 'a', from: { after: 'AUVwb2No' } })
    const error = { code: 410, id: 'a', detail: expect.stringMatching(/not a cursor.*exactly as/) }
    await endsWith(api, client, error, 4010)
  })

  test('and closes with 4010 if the cursor is beyond retention, naming the oldest', async () => {
    await using api = await startApi({ first: 50, count: 3 })
    const client = await open(api)
    client.send({
      action: 'subscribe',
      from: { after: encodeCursor({ epoch: EPOCH, sequence: 3, timeMs: 0 }) },
    })
    const reason = await endsWith(api, client, { code: 410 }, 4010)
    const oldest = /oldest=(\S+)$/.exec(reason)?.[1]
    expect(client.messages.at(-1)?.detail).toContain(`oldest=${oldest}`)
    const resumed = await subscribed(api, { from: { after: oldest } })
    clients.push(resumed)
    expect(resumed.sequences()).toEqual([50, 51, 52])
  })

  test('and closes with 1003 if it is binary', async () => {
    await using api = await startApi()
    const client = await open(api)
    await client.next('hello')
    client.webSocket.send(Buffer.from('{"action":"ping"}'))
    await endsWith(api, client, { code: 400, detail: expect.stringMatching(/text frames only/) }, 1003)
  })

  test('and closes with 1009 if it exceeds 256 KiB, with an error message before it if possible', async () => {
    await using api = await startApi()
    const fits = await open(api)
    fits.send(`{"action":"ping","id":"${'x'.repeat(255 * 1024)}"}`)
    await fits.next('error')
    const large = await open(api)
    await large.next('hello')
    large.send('x'.repeat(256 * 1024 + 1))
    await endsWith(api, large, { code: 400, detail: expect.stringMatching(/262144 bytes/) }, 1009)
    const huge = await open(api)
    await huge.next('hello')
    huge.send('x'.repeat(2 * 1024 * 1024))
    expect((await huge.closed).code).toBe(1009)
  })

  test('and closes with 4129 if it is the twenty-first of a second; pings count', async () => {
    await using api = await startApi({ count: 3 })
    const client = await subscribed(api, { from: 'earliest' })
    clients.push(client)
    for (let sent = 1; sent < 20; sent += 1) client.send({ action: 'ping' })
    await until(() => client.types().filter((type) => type === 'pong').length === 19)
    api.clock.advance(1000)
    for (let sent = 0; sent < 10; sent += 1) client.send('not JSON')
    for (let sent = 0; sent < 11; sent += 1) client.webSocket.ping()
    const reason = await endsWith(api, client, { code: 429, name: 'too_many_commands' }, 4129)
    expect(reason).toContain(`cursor=${api.store.reader.cursorAt(3)}`)
  })
})

describe('an internal error', () => {
  test('is error 500 and 1011, and its cause stays in the log', async () => {
    await using api = await startApi({
      reader: ({ reader }) =>
        Object.create(reader, {
          read: { value: () => Promise.reject(new Error('inner secret')) },
        }) as typeof reader,
    })
    const client = await open(api)
    client.send({ action: 'subscribe' })
    await endsWith(api, client, { code: 500, name: 'internal' }, 1011)
    expect(client.texts.join()).not.toContain('inner secret')
    expect(api.lines[0]).toMatchObject({ level: 'error', event: 'stream.failed' })
  })
})

test('a close reason keeps the cursor and truncates the words, never inside a character', () => {
  const cursor = encodeCursor({ epoch: EPOCH, sequence: 1, timeMs: 0 })
  const reason = closeReason('é'.repeat(100), cursor)
  expect(Buffer.byteLength(reason)).toBeLessThanOrEqual(123)
  expect(reason).toMatch(new RegExp(`^é+ cursor=${cursor}$`))
  expect(closeReason('short', null)).toBe('short')
})
