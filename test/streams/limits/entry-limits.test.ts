import { afterEach, describe, expect, test } from 'vitest'
import type { Reader } from '../../../src/archive/reading/reader.ts'
import { aborted } from '../../../src/lifecycle/aborted.ts'
import { type ApiServer, startApi, until } from '../../support/http/api-server.ts'
import { knows } from '../../support/http/callers.ts'
import { metric } from '../../support/metric.ts'
import { AUTH, openStream, type StreamClient } from '../../support/streams/ws-client.ts'

const clients: StreamClient[] = []
const streams: AbortController[] = []

afterEach(() => {
  for (const client of clients.splice(0)) client.webSocket.terminate()
  for (const stream of streams.splice(0)) stream.abort()
})

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** A server that trusts the client address in a request header. */
function start(options: Parameters<typeof startApi>[0] = {}): Promise<ApiServer> {
  const remoteAddress = ({ headers }: { headers: Record<string, unknown> }) => String(headers['x-from'])
  return startApi({ remoteAddress, ...options })
}

async function open(api: ApiServer, from: string, headers: Record<string, string> = api.auth) {
  const client = await openStream(api, { headers: { ...headers, 'x-from': from } })
  clients.push(client)
  return client
}

async function enters(api: ApiServer, from: string, headers?: Record<string, string>): Promise<StreamClient> {
  const client = await open(api, from, headers)
  await client.next('hello')
  return client
}

async function openSse(api: ApiServer, from: string, headers: Record<string, string> = api.auth) {
  const leave = new AbortController()
  streams.push(leave)
  const response = await fetch(`${api.url}/v1/events`, {
    headers: { ...headers, 'x-from': from },
    signal: leave.signal,
  })
  return { response, leave: () => leave.abort() }
}

/** Checks that server-sent events are refused with this problem. */
async function refusesSse(api: ApiServer, from: string, status: number, code: string, token = api.auth) {
  const { response } = await openSse(api, from, token)
  expect(response.status).toBe(status)
  expect(response.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
  expect(response.headers.get('retry-after')).toBe('5')
  expect(await response.json()).toMatchObject({ status, code })
}

const openCount = (api: ApiServer, transport: string) =>
  metric(api, `stream_clients{transport="${transport}"}`)

describe('one address', () => {
  test('has half of the slots over both transports, then gets 4100 and 503, while others are accepted', async () => {
    await using api = await start({ maxClients: 4 })
    const first = await enters(api, '5.6.7.8')
    expect((await openSse(api, '5.6.7.8')).response.status).toBe(200)
    const { code, reason } = await (await open(api, '5.6.7.8')).closed
    expect(code).toBe(4100)
    expect(reason).toMatch(/your address has 2 streams of this node already/)
    await refusesSse(api, '5.6.7.8', 503, 'over_capacity')
    await enters(api, '5.6.7.9')
    first.webSocket.close()
    await until(async () => (await openCount(api, 'ws')) === 1)
    await enters(api, '5.6.7.8')
    expect(await metric(api, 'stream_closes_total{transport="ws",code="4100"}')).toBe(1)
    expect(await metric(api, 'stream_closes_total{transport="sse",code="4100"}')).toBe(1)
  })

  test('gets its slots back when a client leaves before its stream begins', async () => {
    let searches = 0
    /** A reader whose search for the last events ends when its client disconnects. */
    const endless = ({ reader }: { reader: Reader }): Reader =>
      Object.create(reader, {
        beforeLast: {
          value: async (_filter: unknown, _count: number, gone: AbortSignal) => {
            searches += 1
            await aborted(gone)
            return 0
          },
        },
      })
    await using api = await start({ maxClients: 4, reader: endless })
    for (let left = 1; left <= 4; left++) {
      const leave = new AbortController()
      const headers = { ...api.auth, 'x-from': '5.6.7.8' }
      const asked = fetch(`${api.url}/v1/events?tail=5`, { headers, signal: leave.signal })
      await until(async () => searches === left)
      leave.abort()
      await expect(asked).rejects.toThrow('aborted')
      await until(async () => (await openSse(api, '5.6.7.8')).response.status === 200)
      for (const stream of streams.splice(0)) stream.abort()
      await until(async () => (await openCount(api, 'sse')) === 0)
    }
  })

  test('covers a whole IPv6 /64', async () => {
    await using api = await start({ maxClients: 2 })
    await enters(api, '2a02:26f7:1:2::1')
    expect((await (await open(api, '2a02:26f7:1:2::2')).closed).code).toBe(4100)
    await enters(api, '2a02:26f7:1:3::1')
  })

  test('in a private network has no limit of its own', async () => {
    await using api = await start({ maxClients: 4 })
    for (let count = 0; count < 4; count += 1) await enters(api, count < 2 ? '10.0.0.1' : '127.0.0.1')
    expect((await (await open(api, '10.0.0.1')).closed).reason).toMatch(/this node serves 4 streams already/)
  })

  test('has half of the slots for unauthenticated connections', async () => {
    await using api = await start({ maxClients: 40 })
    const [waiting] = [await open(api, '5.6.7.8', {}), await open(api, '5.6.7.8', {})]
    const { code, reason } = await (await open(api, '5.6.7.8', {})).closed
    expect(code).toBe(4100)
    expect(reason).toMatch(/2 connections of your address wait to authenticate/)
    await enters(api, '5.6.7.8')
    await open(api, '5.6.7.9', {})
    waiting.send(AUTH)
    await waiting.next('hello')
    const next = await open(api, '5.6.7.8', {})
    next.send(AUTH)
    await next.next('hello')
  })
})

test('unauthenticated connections share a tenth of all slots, for 10 s each', async () => {
  await using api = await start({ maxClients: 20 })
  const waiting = [await open(api, '10.0.0.1', {}), await open(api, '10.0.0.2', {})]
  const { code, reason } = await (await open(api, '10.0.0.3', {})).closed
  expect(code).toBe(4100)
  expect(reason).toMatch(/2 connections wait to authenticate here already/)
  api.clock.advance(10_000)
  for (const client of waiting) expect((await client.closed).code).toBe(4001)
  await until(async () => (await openCount(api, 'ws')) === 0)
  const next = await open(api, '10.0.0.3', {})
  next.send(AUTH)
  await next.next('hello')
})

test('one private address, which may be a proxy, gets most slots for unauthenticated connections, and never all', async () => {
  await using api = await start({ maxClients: 50 })
  for (let count = 0; count < 4; count++) await open(api, '10.0.0.1', {})
  const { code, reason } = await (await open(api, '10.0.0.1', {})).closed
  expect(code).toBe(4100)
  expect(reason).toMatch(/4 connections of your address wait to authenticate/)
  const other = await open(api, '127.0.0.1', {})
  other.send(AUTH)
  await other.next('hello')
})

describe('one token', () => {
  const authenticate = knows({ reader: {}, other: {} })

  test('has its stream limit over both transports and all addresses, then gets 4006 and 429', async () => {
    await using api = await start({ authenticate, maxPerToken: 2 })
    await enters(api, '5.6.7.8', bearer('reader'))
    const events = await openSse(api, '5.6.7.9', bearer('reader'))
    expect(events.response.status).toBe(200)
    const refused = await open(api, '5.6.7.7', bearer('reader'))
    expect((await refused.closed).code).toBe(4006)
    const detail = 'this token has 2 streams already; end one, or use another token'
    expect(refused.messages).toEqual([{ type: 'error', code: 406, name: 'connection_limit', detail }])
    await refusesSse(api, '5.6.7.7', 429, 'too_many', bearer('reader'))
    expect(await metric(api, 'stream_closes_total{transport="sse",code="4006"}')).toBe(1)
    await enters(api, '5.6.7.7', bearer('other'))
    events.leave()
    await until(async () => (await openCount(api, 'sse')) === 0)
    await enters(api, '5.6.7.7', bearer('reader'))
  })

  test('that is refused frees the slot of its address and of the node', async () => {
    await using api = await start({ authenticate, maxPerToken: 0, maxClients: 2 })
    for (let count = 0; count < 3; count += 1) {
      await refusesSse(api, '5.6.7.8', 429, 'too_many', bearer('reader'))
      expect((await (await open(api, '5.6.7.8', bearer('reader'))).closed).code).toBe(4006)
      await until(async () => (await openCount(api, 'ws')) === 0)
    }
  })
})
