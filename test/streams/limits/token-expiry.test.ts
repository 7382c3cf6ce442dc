import { describe, expect, onTestFinished, test } from 'vitest'
import type { NewToken } from '../../../src/registry/tokens.ts'
import { type ApiServer, startApi, until } from '../../support/http/api-server.ts'
import { metric } from '../../support/metric.ts'
import { largeEvents } from '../../support/streams/large-events.ts'
import { openRaw } from '../../support/streams/raw-stream.ts'
import { openStream } from '../../support/streams/ws-client.ts'

async function make(api: ApiServer, parts: Partial<NewToken> = {}) {
  const wanted: NewToken = { tenant: 'desk', scopes: ['events:read'], name: null, expiresAtMs: null }
  const made = await api.tokens.create({ ...wanted, ...parts })
  if (typeof made === 'string') throw new Error(made)
  return { ...made, auth: { authorization: `Bearer ${made.text}` } }
}

/** A WebSocket of that token that has caught up. */
async function caughtUp(api: ApiServer, headers: Record<string, string>) {
  const client = await openStream(api, { headers })
  onTestFinished(() => client.webSocket.terminate())
  client.send({ action: 'subscribe' })
  await client.next('live')
  return client
}

const closes = (api: ApiServer, transport: string) =>
  metric(api, `stream_closes_total{transport="${transport}",code="4001"}`)
const told = { type: 'error', code: 402, detail: 'this token was deleted or has expired' }

describe('a WebSocket ends with 4001', () => {
  test('when its token is deleted, authenticated by header or by frame; connections of other tokens stay open', async () => {
    await using api = await startApi({ count: 1 })
    const [gone, stays] = [await make(api), await make(api)]
    const byHeader = await caughtUp(api, gone.auth)
    const byFrame = await openStream(api, { headers: {} })
    byFrame.send({ action: 'auth', token: gone.text })
    await byFrame.next('hello')
    const other = await caughtUp(api, stays.auth)
    await api.tokens.delete(gone.token.id)
    for (const client of [byHeader, byFrame]) {
      expect((await client.closed).code).toBe(4001)
      expect(client.messages.at(-1)).toMatchObject(told)
    }
    expect((await byHeader.closed).reason).toMatch(/deleted or has expired cursor=\S{39}$/)
    api.store.grow(1)
    await until(() => other.sequences().at(-1) === 2)
    expect(byHeader.sequences()).toEqual([])
    await until(async () => (await closes(api, 'ws')) === 2)
    const line = api.lines.find(({ event }) => event === 'stream.closed')
    expect(line?.fields).toMatchObject({ tenant: 'desk', tokenId: gone.token.id, code: '4001' })
  })

  test('at the moment its token expires', async () => {
    await using api = await startApi({ count: 1 })
    const { auth } = await make(api, { expiresAtMs: api.clock.now() + 5000 })
    const client = await caughtUp(api, auth)
    api.clock.advance(4999)
    expect(client.webSocket.readyState).toBe(client.webSocket.OPEN)
    api.clock.advance(1)
    expect((await client.closed).code).toBe(4001)
    expect(client.messages.at(-1)).toMatchObject(told)
  })

  test('while this node has not loaded the tokens yet the close code is 4100: retry later', async () => {
    await using api = await startApi({ authenticate: () => 'loading' })
    const client = await openRaw(api, { authorization: 'Bearer any', answersClose: true })
    expect(await client.ended).toBe(4100)
  })
})

describe('server-sent events end', () => {
  test('when the token is deleted, which opens no new stream', async () => {
    await using api = await startApi({ count: 1 })
    const { token, auth } = await make(api)
    const response = await fetch(`${api.url}/v1/events`, { headers: auth })
    await until(async () => (await metric(api, 'stream_clients{transport="sse"}')) === 1)
    await api.tokens.delete(token.id)
    api.store.grow(1)
    expect(await response.text()).not.toContain('event: disclosure')
    await until(async () => (await closes(api, 'sse')) === 1)
    expect((await fetch(`${api.url}/v1/events`, { headers: auth })).status).toBe(401)
  })

  test('when the token expires', async () => {
    await using api = await startApi({ count: 1 })
    const { auth } = await make(api, { expiresAtMs: api.clock.now() + 5000 })
    const response = await fetch(`${api.url}/v1/events?tail=1`, { headers: auth })
    const reader = response.body?.getReader()
    let text = ''
    while (!text.includes('event: live')) text += new TextDecoder().decode((await reader?.read())?.value)
    api.clock.advance(5000)
    while ((await reader?.read())?.done === false);
    expect(text).toContain('event: disclosure')
    await until(async () => (await closes(api, 'sse')) === 1)
  })

  test('also for a client that reads nothing: its connection is cut', async () => {
    await using api = await startApi({ count: 600, reader: largeEvents })
    const { token, auth } = await make(api)
    const stop = new AbortController()
    onTestFinished(() => stop.abort())
    const response = await fetch(`${api.url}/v1/events?since=2026-01-01`, {
      headers: auth,
      signal: stop.signal,
    })
    await until(async () => (await metric(api, 'stream_slow_clients')) === 1)
    await api.tokens.delete(token.id)
    await until(async () => (await metric(api, 'stream_clients{transport="sse"}')) === 0)
    await expect(response.text()).rejects.toThrow()
  })
})

test('slots are counted per token, not per tenant', async () => {
  await using api = await startApi({ maxPerToken: 1 })
  const [first, second] = [await make(api), await make(api, { scopes: ['events:read', 'admin'] })]
  for (const { auth } of [first, second]) {
    const client = await openStream(api, { headers: auth })
    onTestFinished(() => client.webSocket.terminate())
    await client.next('hello')
    const more = await openStream(api, { headers: auth })
    expect((await more.closed).code).toBe(4006)
  }
})
