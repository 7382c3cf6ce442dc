import { describe, expect, onTestFinished, test } from 'vitest'
import type { NewToken } from '../../../src/registry/tokens.ts'
import { raw } from '../../http/raw.ts'
import { type ApiServer, startApi, TOKEN, until } from '../../support/http/api-server.ts'
import { ask } from '../../support/http/ask.ts'
import { openStream } from '../../support/streams/ws-client.ts'

async function make(api: ApiServer, parts: Partial<NewToken> = {}) {
  const wanted: NewToken = { tenant: 'desk', scopes: ['events:read'], name: null, expiresAtMs: null }
  const made = await api.tokens.create({ ...wanted, ...parts })
  if (typeof made === 'string') throw new Error(made)
  return made
}

async function ticketOf(api: ApiServer, token: string): Promise<string> {
  const { status, body } = await ask(api, token, '/v1/tickets', 'POST')
  expect(status).toBe(201)
  return (body as { ticket: string }).ticket
}

async function enter(api: ApiServer, ticket: string) {
  const client = await openStream(api, { headers: {}, path: `/v1/stream?ticket=${ticket}` })
  onTestFinished(() => client.webSocket.terminate())
  return client
}

/** Checks that the ticket is answered with error 402 and this close code. */
async function refused(api: ApiServer, ticket: string, code: number, detail: RegExp) {
  const client = await enter(api, ticket)
  const { code: closed, reason } = await client.closed
  expect(closed).toBe(code)
  expect(reason).toMatch(detail)
  const error = { type: 'error', code: 402, name: 'authentication_failed' }
  expect(client.messages).toEqual([{ ...error, detail: expect.stringMatching(detail) }])
}

describe('POST /v1/tickets', () => {
  test('returns a ticket for 30 s that no cache on the way may store', async () => {
    await using api = await startApi()
    const response = await fetch(`${api.url}/v1/tickets`, { method: 'POST', headers: api.auth })
    expect(response.status).toBe(201)
    expect(response.headers.get('cache-control')).toBe('no-store')
    const body = (await response.json()) as object
    expect(body).toEqual({
      ticket: expect.stringMatching(/^t1\.settings\.[A-Za-z0-9._-]+$/),
      expiresAt: '2026-06-01T06:00:30.000Z',
    })
  })

  test('requires a valid token with the scope events:read, no body and no parameters', async () => {
    await using api = await startApi()
    const { text } = await make(api, { scopes: ['webhooks:read'] })
    expect((await ask(api, text, '/v1/tickets', 'POST')).body).toMatchObject({ code: 'forbidden' })
    expect((await ask(api, 'wrong', '/v1/tickets', 'POST')).status).toBe(401)
    expect((await ask(api, TOKEN, '/v1/tickets?life=60', 'POST')).status).toBe(400)
    expect((await ask(api, TOKEN, '/v1/tickets', 'POST', [])).body).toMatchObject({ code: 'body_unexpected' })
    expect((await ask(api, TOKEN, '/v1/tickets')).status).toBe(405)
    const ticket = await ticketOf(api, TOKEN)
    expect((await ask(api, ticket, '/v1/tickets', 'POST')).status).toBe(401)
  })
})

describe('a WebSocket with a ticket', () => {
  test('is authenticated as with the token, also for a ticket of the admin token', async () => {
    await using api = await startApi({ count: 2 })
    const { text, token } = await make(api)
    for (const shown of [text, TOKEN]) {
      const client = await enter(api, await ticketOf(api, shown))
      client.send({ action: 'subscribe', from: 'earliest' })
      await client.next('live')
      expect(client.types().slice(0, 3)).toEqual(['authenticated', 'hello', 'subscribed'])
      expect(client.sequences()).toEqual([1, 2])
      client.webSocket.close()
    }
    await until(() => api.lines.filter(({ event }) => event === 'stream.closed').length === 2)
    expect(api.lines.map(({ fields }) => fields)).toContainEqual(
      expect.objectContaining({ tenant: 'desk', tokenId: token.id }),
    )
  })

  test('ends with 4001 when the token is deleted, and when it expires', async () => {
    await using api = await startApi()
    const [gone, short] = [await make(api), await make(api, { expiresAtMs: api.clock.now() + 5000 })]
    const clients = await Promise.all(
      [gone, short].map(async ({ text }) => await enter(api, await ticketOf(api, text))),
    )
    for (const client of clients) await client.next('hello')
    await api.tokens.delete(gone.token.id)
    expect((await clients[0]?.closed)?.code).toBe(4001)
    api.clock.advance(5000)
    expect((await clients[1]?.closed)?.code).toBe(4001)
  })

  test('counts among the connections of its token', async () => {
    await using api = await startApi({ maxPerToken: 1 })
    const { text } = await make(api)
    await (await enter(api, await ticketOf(api, text))).next('hello')
    const more = await openStream(api, { headers: { authorization: `Bearer ${text}` } })
    expect((await more.closed).code).toBe(4006)
  })
})

describe('a ticket is refused with error 402', () => {
  test('and 4001 when it is reused, expired, changed, or of a token deleted since', async () => {
    await using api = await startApi()
    const ticket = await ticketOf(api, TOKEN)
    await (await enter(api, ticket)).next('hello')
    await refused(api, ticket, 4001, /used before/)
    await refused(api, ticket.replace('settings', 'tok_other'), 4001, /ticket is not valid/)
    const old = await ticketOf(api, TOKEN)
    api.clock.advance(30_000)
    await refused(api, old, 4001, /has expired: it is valid for 30 s/)
    const { text, token } = await make(api)
    const orphan = await ticketOf(api, text)
    await api.tokens.delete(token.id)
    await refused(api, orphan, 4001, /token is not valid/)
    for (const shown of [ticket, old, orphan]) expect(JSON.stringify(api.lines)).not.toContain(shown)
  })

  test('and 4003 when the token has lost the scope', async () => {
    await using api = await startApi({
      findCaller: () => ({
        tokenId: 'tok_x',
        tenant: 'desk',
        scopes: ['webhooks:read'],
        seesAllTenants: false,
        expiresAtMs: null,
        ended: new AbortController().signal,
      }),
    })
    await refused(api, await ticketOf(api, TOKEN), 4003, /events:read/)
  })

  test('and 4100 while this node has not loaded the tokens yet', async () => {
    await using api = await startApi({ findCaller: () => 'loading' })
    await refused(api, await ticketOf(api, TOKEN), 4100, /not read the tokens yet/)
  })
})

describe('a ticket in the wrong place gets the response of plain HTTP', () => {
  test.each([
    ['beside a header', (ticket: string, auth: string) => [`/v1/stream?ticket=${ticket}`, auth]],
    ['twice', (ticket: string) => [`/v1/stream?ticket=${ticket}&ticket=${ticket}`, '']],
    ['empty', () => ['/v1/stream?ticket=', '']],
    ['under another name', (ticket: string) => [`/v1/stream?tickets=${ticket}`, '']],
    ['for server-sent events', (ticket: string, auth: string) => [`/v1/events?ticket=${ticket}`, auth]],
  ])('%s, and stays valid', async (_what, place) => {
    await using api = await startApi()
    const ticket = await ticketOf(api, TOKEN)
    const [path = '', authorization = ''] = place(ticket, `Authorization: Bearer ${TOKEN}\r\n`)
    const answer = await raw(
      api.listener.port,
      `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n${authorization}\r\n`,
    )
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'parameter_invalid' })
    expect(answer.body).not.toContain(ticket)
    await (await enter(api, ticket)).next('hello')
  })
})
