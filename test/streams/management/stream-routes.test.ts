import { describe, expect, onTestFinished, test } from 'vitest'
import type { z } from 'zod'
import type { NewToken } from '../../../src/registry/tokens.ts'
import { streamsPage } from '../../../src/streams/management/stream-schema.ts'
import { type ApiServer, NODE, startApi, TOKEN, until } from '../../support/http/api-server.ts'
import { ask } from '../../support/http/ask.ts'
import { metric } from '../../support/metric.ts'
import { REPLICA } from '../../support/store.ts'
import { largeEvents } from '../../support/streams/large-events.ts'
import { FIN, frame, OPCODES, openRaw } from '../../support/streams/raw-stream.ts'
import { openStream, type StreamClient } from '../../support/streams/ws-client.ts'

type Page = z.infer<typeof streamsPage>

const NOW = '2026-06-01T06:00:00.000Z'

async function make(api: ApiServer, parts: Partial<NewToken> = {}) {
  const wanted: NewToken = { tenant: 'desk', scopes: ['events:read'], name: null, expiresAtMs: null }
  const made = await api.tokens.create({ ...wanted, ...parts })
  if (typeof made === 'string') throw new Error(made)
  return { id: made.token.id, text: made.text }
}

/** A WebSocket of that token with these subscriptions, which have caught up. */
async function open(api: ApiServer, token: string, ...subscriptions: object[]): Promise<StreamClient> {
  const client = await openStream(api, { headers: { authorization: `Bearer ${token}` } })
  onTestFinished(() => client.webSocket.terminate())
  await client.next('hello')
  for (const one of subscriptions) client.send({ action: 'subscribe', ...one })
  await until(() => client.types().filter((type) => type === 'live').length === subscriptions.length)
  return client
}

/** Server-sent events of that token; resolves once they are open. */
async function openSse(api: ApiServer, token: string, query = ''): Promise<Response> {
  const response = await fetch(`${api.url}/v1/events${query}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  expect(response.status).toBe(200)
  return response
}

async function page(api: ApiServer, token: string = TOKEN, query = ''): Promise<Page> {
  const { status, body, text } = await ask(api, token, `/v1/streams${query}`)
  expect([status, text]).toEqual([200, expect.anything()])
  streamsPage.strict().parse(body)
  return body
}

async function idsOf(api: ApiServer, token: string = TOKEN): Promise<string[]> {
  return (await page(api, token)).data.map(({ id }) => id)
}

describe('GET /v1/streams', () => {
  test('shows who reads what over which transport, how far it is, and which node has it open', async () => {
    await using api = await startApi({ count: 20 })
    const { id, text } = await make(api, { name: 'dashboards' })
    const empty = await page(api)
    expect(empty).toEqual({ node: NODE, data: [], next: null })
    await open(api, text, { from: 'earliest' }, { id: 'few', filter: { q: 'item 2' }, from: 'earliest' })
    api.clock.advance(1000)
    await openSse(api, TOKEN, '?importance=high%2B')
    const { data } = await page(api)
    const [first, second] = data
    const place = {
      sequence: 20,
      cursor: api.store.reader.cursorAt(20),
      lagEvents: 0,
      lagSeconds: 0,
      live: true,
    }
    expect(first).toEqual({
      id: expect.stringMatching(/^str_[0-9a-f]{32}$/),
      transport: 'ws',
      tenant: 'desk',
      token: { id, name: 'dashboards' },
      openedAt: NOW,
      slowSince: null,
      eventsSent: 22,
      remoteAddress: '127.0.0.1',
      subscriptions: [
        { id: null, filter: {}, ...place },
        { id: 'few', filter: { q: 'item 2' }, ...place },
      ],
    })
    expect(second).toMatchObject({
      transport: 'sse',
      tenant: 'default',
      token: { id: 'settings', name: null },
      openedAt: '2026-06-01T06:00:01.000Z',
      eventsSent: 0,
      subscriptions: [{ id: null, filter: { importance: ['high', 'ultra'] }, ...place }],
    })
  })

  test('a position follows events that do not match, and a stream that has ended is not shown', async () => {
    await using api = await startApi({ count: 5 })
    const client = await open(api, TOKEN, { filter: { q: 'no headline says this' } })
    api.store.grow(3)
    await until(async () => (await page(api)).data[0]?.subscriptions[0]?.sequence === 8)
    expect((await page(api)).data[0]).toMatchObject({ eventsSent: 0, subscriptions: [{ lagEvents: 0 }] })
    client.webSocket.close()
    await until(async () => (await idsOf(api)).length === 0)
  })

  test('a client that takes nothing is shown with the time since then, its lag and the age of what comes next', async () => {
    await using api = await startApi({ count: 400, reader: largeEvents })
    const slow = await openRaw(api, { authorization: `Bearer ${TOKEN}` })
    slow.pause()
    slow.send(frame(FIN | OPCODES.text, '{"action":"subscribe","from":"earliest"}'))
    await until(async () => (await metric(api, 'stream_slow_clients')) === 1)
    api.clock.advance(7000)
    const [shown] = (await page(api)).data
    const [{ sequence, lagEvents, lagSeconds } = { sequence: null, lagEvents: null, lagSeconds: null }] =
      shown?.subscriptions ?? []
    expect(shown?.slowSince).toBe(NOW)
    expect(sequence).toBeGreaterThan(0)
    expect(lagEvents).toBe(400 - (sequence ?? 0))
    const nextMs = api.store.reader.recordedAt((sequence ?? 0) + 1) ?? 0
    expect(lagSeconds).toBe((api.clock.now() - nextMs) / 1000)
  })

  test('while this node fills its copy, positions are unknown, not 0', async () => {
    let filling: { share: number } | null = null
    const replica = Object.create(REPLICA, { filling: { get: () => filling } })
    await using api = await startApi({ count: 5, replica })
    await open(api, TOKEN, {})
    filling = { share: 0.5 }
    expect((await page(api)).data[0]?.subscriptions[0]).toMatchObject({
      sequence: null,
      lagEvents: null,
      lagSeconds: null,
    })
  })

  test('a tenant sees its own streams, without addresses unless it has the scope admin, and no host name', async () => {
    await using api = await startApi()
    const [reader, admin, stranger] = [
      await make(api),
      await make(api, { scopes: ['events:read', 'admin'] }),
      await make(api, { tenant: 'other' }),
    ]
    await open(api, reader.text)
    await open(api, stranger.text)
    const waiting = await openStream(api, { headers: {} })
    onTestFinished(() => waiting.webSocket.terminate())
    const own = await page(api, reader.text)
    expect(own.data).toMatchObject([{ tenant: 'desk', token: { id: reader.id }, remoteAddress: null }])
    expect(own.node).toMatch(/^[0-9a-f]{12}$/)
    expect((await page(api, admin.text)).data).toMatchObject([{ remoteAddress: '127.0.0.1' }])
    expect((await page(api, admin.text)).node).toBe(own.node)
    expect((await page(api)).data).toMatchObject([
      { tenant: 'desk' },
      { tenant: 'other' },
      { tenant: null, token: null, subscriptions: [] },
    ])
  })

  test('pages together hold every stream once, in the order of their opening', async () => {
    await using api = await startApi()
    const { text } = await make(api)
    for (let count = 0; count < 5; count += 1) await open(api, count === 2 ? TOKEN : text)
    const all = await idsOf(api)
    const paged: string[] = []
    let after = ''
    for (let next: string | null = ''; next !== null; after = `&after=${next}`) {
      const one: Page = await page(api, TOKEN, `?limit=2${after}`)
      paged.push(...one.data.map(({ id }) => id))
      next = one.next
    }
    expect(paged).toEqual(all)
    expect(all).toHaveLength(5)
    expect((await page(api, text, '?limit=4')).next).toBeNull()
    const restarted = await page(api, TOKEN, `?after=str_${'0'.repeat(32)}`)
    expect(restarted.data.map(({ id }) => id)).toEqual(all)
    const { status, body } = await ask(api, TOKEN, '/v1/streams?after=7')
    expect([status, body.errors[0].field]).toEqual([400, 'after'])
  })

  test('large filters make a page shorter, and the next one goes on', async () => {
    await using api = await startApi()
    const symbols = Array.from({ length: 10_000 }, (_, at) => `SYMBOL${at}`)
    for (let count = 0; count < 6; count += 1) await open(api, TOKEN, { filter: { symbols } })
    const first = await page(api)
    expect(first.data.length).toBeLessThan(6)
    const second = await page(api, TOKEN, `?after=${first.next}`)
    expect([...first.data, ...second.data].map(({ id }) => id)).toHaveLength(6)
    expect(second.next).toBeNull()
  })
})

describe('DELETE /v1/streams/{id}', () => {
  test('closes a WebSocket with 4007 and its resume point, and ends server-sent events', async () => {
    await using api = await startApi({ count: 5 })
    const client = await open(api, TOKEN, { from: 'earliest' })
    const response = await openSse(api, TOKEN)
    const ids = await idsOf(api)
    for (const id of ids) {
      const { status, text } = await ask(api, TOKEN, `/v1/streams/${id}`, 'DELETE')
      expect([status, text]).toEqual([204, ''])
    }
    const { code, reason } = await client.closed
    expect(code).toBe(4007)
    expect(reason).toBe(`ended on request, by DELETE /v1/streams/{id} cursor=${api.store.reader.cursorAt(5)}`)
    expect(await response.text()).toContain('retry: 3000')
    expect(await idsOf(api)).toEqual([])
    for (const transport of ['ws', 'sse']) {
      await until(
        async () => (await metric(api, `stream_closes_total{transport="${transport}",code="4007"}`)) === 1,
      )
    }
    const lines = api.lines.filter(({ event }) => event === 'stream.deleted')
    expect(lines.map(({ fields }) => fields)).toMatchObject(
      ids.map((streamId) => ({ streamId, tenant: 'default', tokenId: 'settings', by: 'settings' })),
    )
  })

  test('ends streams whose clients take nothing', async () => {
    await using api = await startApi({ count: 400, reader: largeEvents })
    const slow = await openRaw(api, { authorization: `Bearer ${TOKEN}` })
    slow.pause()
    slow.send(frame(FIN | OPCODES.text, '{"action":"subscribe","from":"earliest"}'))
    await until(async () => (await metric(api, 'stream_slow_clients')) === 1)
    const [id] = await idsOf(api)
    expect((await ask(api, TOKEN, `/v1/streams/${id}`, 'DELETE')).status).toBe(204)
    expect(await metric(api, 'stream_slow_clients')).toBe(0)
    expect(await idsOf(api)).toEqual([])
    slow.resume()
    expect(await slow.ended).toBe(4007)
  })

  test('a stream of another tenant is answered as one that never was, and goes on', async () => {
    await using api = await startApi({ count: 1 })
    const [owner, other] = [
      await make(api),
      await make(api, { tenant: 'other', scopes: ['events:read', 'admin'] }),
    ]
    const client = await open(api, owner.text, {})
    const [id] = await idsOf(api)
    const foreign = await ask(api, other.text, `/v1/streams/${id}`, 'DELETE')
    const never = await ask(api, other.text, '/v1/streams/str_00000000000000000000000000000001', 'DELETE')
    expect([foreign.status, foreign.text]).toEqual([404, never.text])
    api.store.grow(1)
    await until(() => client.sequences().at(-1) === 2)
  })

  test('a token without the scope admin ends only the streams that it opened', async () => {
    await using api = await startApi()
    const [mine, colleague, admin] = [
      await make(api),
      await make(api),
      await make(api, { scopes: ['events:read', 'admin'] }),
    ]
    const [first, second] = [await open(api, mine.text), await open(api, mine.text)]
    const [one, two] = await idsOf(api)
    const refused = await ask(api, colleague.text, `/v1/streams/${one}`, 'DELETE')
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden'])
    expect((await ask(api, mine.text, `/v1/streams/${one}`, 'DELETE')).status).toBe(204)
    expect((await first.closed).code).toBe(4007)
    expect((await ask(api, admin.text, `/v1/streams/${two}`, 'DELETE')).status).toBe(204)
    expect((await second.closed).code).toBe(4007)
  })
})
