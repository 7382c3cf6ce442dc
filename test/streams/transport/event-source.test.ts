import { describe, expect, onTestFinished, test } from 'vitest'
import { BURST_SECONDS } from '../../../src/http/bounds/request-rate.ts'
import { TICKET_LIFE_MS, TICKET_RESUME_MS } from '../../../src/registry/tickets.ts'
import { type ApiServer, startApi, TOKEN, until } from '../../support/http/api-server.ts'
import { ask, tokenOf } from '../../support/http/ask.ts'
import { knows } from '../../support/http/callers.ts'
import { smallRates } from '../../support/http/small-rates.ts'
import { createSseParser, type SseMessage } from '../../support/streams/sse-parser.ts'

async function ticketOf(api: ApiServer, token = TOKEN): Promise<string> {
  const { status, body } = await ask(api, token, '/v1/tickets', 'POST')
  expect(status).toBe(201)
  return body.ticket
}

/** One connection of an EventSource: no header but the id of the last event, as browsers send it on reconnect. */
async function connect(api: ApiServer, ticket: string, lastId = '', query = '') {
  const leave = new AbortController()
  onTestFinished(() => leave.abort())
  const response = await fetch(`${api.url}/v1/events?ticket=${ticket}${query}`, {
    headers: { accept: 'text/event-stream', ...(lastId === '' ? {} : { 'last-event-id': lastId }) },
    signal: leave.signal,
  })
  const parser = createSseParser()
  const messages: SseMessage[] = []
  const isOver = (async () => {
    for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? [])
      messages.push(...parser.feed(text))
    return true
  })().catch(() => false)
  const names = () => messages.map(({ event }) => event)
  return {
    status: response.status,
    headers: response.headers,
    messages,
    parser,
    isOver,
    leave: () => leave.abort(),
    live: () => until(() => names().includes('live')),
  }
}

const sequences = (messages: readonly SseMessage[]) =>
  messages.filter(({ event }) => event === 'disclosure').map(({ data }) => Number(JSON.parse(data).sequence))

describe('an EventSource with a ticket', () => {
  test('reads the stream, and resumes after its last event with the same address, hours later', async () => {
    await using api = await startApi({ count: 3 })
    const ticket = await ticketOf(api)
    const first = await connect(api, ticket, '', '&tail=2')
    await first.live()
    expect(sequences(first.messages)).toEqual([2, 3])
    first.leave()
    api.store.grow(2)
    api.clock.advance(11 * 3_600_000)
    const second = await connect(api, ticket, first.parser.lastId, '&tail=2')
    await second.live()
    expect(sequences(second.messages)).toEqual([4, 5])
  })

  test('resumes on another node, and on a node that has started anew', async () => {
    await using one = await startApi({ count: 3 })
    await using other = await startApi({ count: 5 })
    const ticket = await ticketOf(one)
    const first = await connect(one, ticket, '', '&tail=1')
    await first.live()
    const second = await connect(other, ticket, first.parser.lastId)
    await second.live()
    expect(sequences(second.messages)).toEqual([4, 5])
  })

  test('comes back without an id where the connection broke before the first one', async () => {
    await using api = await startApi({ count: 1 })
    const ticket = await ticketOf(api)
    ;(await connect(api, ticket)).leave()
    expect((await connect(api, ticket)).status).toBe(200)
  })

  test('has one stream at a time on a node: the newer connection ends the older one', async () => {
    await using api = await startApi({ count: 1 })
    const ticket = await ticketOf(api)
    const older = await connect(api, ticket)
    await older.live()
    const newer = await connect(api, ticket)
    await newer.live()
    expect(await older.isOver).toBe(true)
    const closed = api.lines.find(({ event }) => event === 'stream.closed')
    expect(closed?.fields).toMatchObject({ code: '4006' })
    expect(JSON.stringify(api.lines)).not.toContain(ticket)
  })

  test('ends with its token, and is not taken back', async () => {
    await using api = await startApi({ count: 1 })
    const token = await tokenOf(api, 'desk', ['events:read'])
    const ticket = await ticketOf(api, token)
    const stream = await connect(api, ticket)
    await stream.live()
    const { tokenId } = (await ask(api, token, '/v1/me')).body
    await api.tokens.delete(tokenId)
    expect(await stream.isOver).toBe(true)
    expect((await connect(api, ticket, stream.parser.lastId)).status).toBe(401)
  })

  test('is refused with 401 before and after its time, and when a WebSocket has used its ticket', async () => {
    await using api = await startApi({ count: 1 })
    const cursor = (await ask(api, TOKEN, '/v1/disclosures')).body.cursor
    const [late, done, used] = [await ticketOf(api), await ticketOf(api), await ticketOf(api)]
    expect(api.tickets.take(used)).toMatchObject({ tokenId: 'settings' })
    expect((await connect(api, used)).status).toBe(401)
    expect((await connect(api, `${late}x`)).status).toBe(401)
    expect((await connect(api, '')).status).toBe(401)
    api.clock.advance(TICKET_LIFE_MS)
    expect((await connect(api, late)).status).toBe(401)
    expect((await connect(api, done, cursor)).status).toBe(200)
    api.clock.advance(TICKET_RESUME_MS)
    expect((await connect(api, done, cursor)).status).toBe(401)
  })

  test('leaves its ticket good for nothing else', async () => {
    await using api = await startApi({ count: 1 })
    const ticket = await ticketOf(api)
    await (await connect(api, ticket)).live()
    expect(api.tickets.take(ticket)).toBe('used')
    expect((await ask(api, ticket, '/v1/disclosures')).status).toBe(401)
  })

  test('is ended when its ticket ends, with the time to come back', async () => {
    await using api = await startApi({ count: 1 })
    const ticket = await ticketOf(api)
    const stream = await connect(api, ticket)
    await stream.live()
    api.clock.advance(TICKET_LIFE_MS + TICKET_RESUME_MS)
    expect(await stream.isOver).toBe(true)
    expect(stream.messages.map(({ event }) => event)).toContain('going_away')
  })

  test.each([
    ['its token', 1, null],
    ['its address', null, 1],
  ])(
    'gets such a stream where %s sends too many requests, and others 429 with its headers',
    async (_what, perToken, perAddress) => {
      const reader = knows({ reader: {} })
      await using api = await startApi({
        count: 1,
        authenticate: reader,
        findCaller: reader,
        rates: smallRates({ perToken, perAddress }),
      })
      const { ticket } = api.tickets.give({ tokenId: 'reader', expiresAtMs: null })
      const events = () =>
        fetch(`${api.url}/v1/events?filter=x`, { headers: { authorization: 'Bearer reader' } })
      for (let count = 0; count < BURST_SECONDS; count += 1) expect((await events()).status).toBe(400)
      const refused = await connect(api, ticket)
      expect([refused.status, await refused.isOver, refused.parser.retryMs]).toEqual([200, true, 5000])
      expect(refused.headers.get('ratelimit-remaining')).toBe('0')
      expect(refused.headers.get('content-type')).toMatch(/^text\/event-stream/)
      const answer = await events()
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '1'])
      expect(answer.headers.get('ratelimit-remaining')).toBe('0')
      expect(await answer.json()).toMatchObject({ code: 'rate_limited' })
    },
  )

  test('gets a stream that ends at once, never an error, where it may come back', async () => {
    await using api = await startApi({ count: 1, maxClients: 1 })
    const [first, second] = [await ticketOf(api), await ticketOf(api)]
    await (await connect(api, first)).live()
    const refused = await connect(api, second)
    expect([refused.status, await refused.isOver, refused.messages]).toEqual([200, true, []])
    expect(refused.parser.retryMs).toBe(5000)
    expect((await ask(api, TOKEN, '/v1/events')).status).toBe(503)
    await using loading = await startApi({ findCaller: () => 'loading' })
    const early = await connect(loading, await ticketOf(loading))
    expect([early.status, await early.isOver]).toEqual([200, true])
  })

  test('gets errors that will not pass as they are', async () => {
    await using api = await startApi({ count: 1 })
    expect((await connect(api, await ticketOf(api), '', '&tial=3')).status).toBe(400)
    expect((await connect(api, await ticketOf(api), 'no cursor')).status).toBe(400)
  })
})
