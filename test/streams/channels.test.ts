/**
 * Compares messages of a running server with the AsyncAPI document: all of them match, and each documented one occurs.
 */
import { describe, expect, test } from 'vitest'
import { encodeCursor } from '../../src/core/cursor.ts'
import { isGap } from '../../src/core/event.ts'
import { readStreamCommand } from '../../src/streams/transport/commands.ts'
import { StreamRefusal } from '../../src/streams/transport/refusal.ts'
import { subprotocols } from '../../src/streams/transport/ws-frames.ts'
import { namesOf, productDocument } from '../support/house/asyncapi-document.ts'
import { messageJudge } from '../support/house/asyncapi-messages.ts'
import { type ApiServer, startApi, until } from '../support/http/api-server.ts'
import { createSseParser } from '../support/streams/sse-parser.ts'
import { openStream, type StreamMessage } from '../support/streams/ws-client.ts'

const document = productDocument()
const misfits = messageJudge(document)
const foreign = encodeCursor({ epoch: 'Another1', sequence: 9, timeMs: 0 })

/** The document's name of a message. */
function nameOf({ type }: StreamMessage): string {
  if (isGap(type)) return 'gap'
  if (type.startsWith('disclosure.')) return 'disclosure'
  return type.replace(/^bridge\.(\w+)\.v1$/, '$1')
}

const starts = ['live', 'earliest', { since: '2026' }, { tail: 2 }, { after: foreign }]

/** Every kind of message that a client of this subprotocol can get on one connection. */
async function wholeLife(api: ApiServer, subprotocol: string): Promise<StreamMessage[]> {
  const client = await openStream(api, { headers: {}, protocols: [subprotocol] })
  const got = (name: string, count = 1) =>
    until(() => client.messages.filter((message) => nameOf(message) === name).length >= count)
  client.send({ action: 'ping' })
  client.send({ action: 'auth', token: api.auth.authorization?.replace('Bearer ', '') })
  await got('hello')
  client.send({ action: 'ping', id: 'mine' })
  client.send({ action: 'ping' })
  client.send({ action: 'subscribe', id: 'mine', filter: { isin: [] } })
  await got('error', 2)
  for (const [index, from] of starts.entries()) {
    client.send({ action: 'subscribe', filter: { importance: 'high+', q: 'ITEM' }, from })
    await got('live', index + 1)
    // Commands are limited per second.
    api.clock.advance(1000)
  }
  client.send({ action: 'subscribe', id: 'mine', from: { tail: 1 } })
  await got('live', starts.length + 1)
  api.clock.advance(15_000)
  await got('heartbeat', 2)
  client.send({ action: 'unsubscribe', id: 'mine' })
  await got('unsubscribed')
  api.stop()
  await client.closed
  return client.messages
}

describe.each(subprotocols)('of the subprotocol %s', (subprotocol) => {
  const channel = `websocket.${subprotocol}`

  test('every message matches the AsyncAPI document, and every documented message is sent', async () => {
    await using api = await startApi({ count: 5 })
    const messages = await wholeLife(api, subprotocol)
    for (const message of messages)
      expect(misfits(channel, nameOf(message), { payload: message })).toEqual([])
    const names = new Set(messages.map(nameOf))
    expect([...names].sort()).toEqual(namesOf(document, channel, 'send').sort())
  })

  test.each([
    [{ action: 'auth', token: 'x' }],
    [{ action: 'auth', token: '' }],
    [{ action: 'auth' }],
    [{ action: 'auth', tokn: 'x' }],
    [{ action: 'ping' }],
    [{ action: 'ping', id: 'x'.repeat(64) }],
    [{ action: 'ping', id: 'x'.repeat(65) }],
    [{ action: 'ping', id: 7 }],
    [{ action: 'subscribe' }],
    [{ action: 'subscribe', filter: { symbols: ['VOD'], importance: 'high+', exclude: { q: 'nav' } } }],
    [{ action: 'subscribe', filter: { symbol: ['VOD'] } }],
    [{ action: 'subscribe', filter: { q: '📈' } }],
    [{ action: 'subscribe', filter: { q: '📈📉' } }],
    [{ action: 'subscribe', filter: { q: '📈'.repeat(200) } }],
    [{ action: 'subscribe', filter: { q: '📈'.repeat(201) } }],
    [{ action: 'subscribe', filter: { symbols: [] } }],
    [{ action: 'subscribe', from: 'earliest', onGap: 'earliest', id: '1' }],
    [{ action: 'subscribe', from: 'latest' }],
    [{ action: 'subscribe', onGap: 'latest' }],
    [{ action: 'subscribe', from: { after: foreign } }],
    [{ action: 'subscribe', from: { after: 7 } }],
    [{ action: 'subscribe', from: { since: '2026-01-06' } }],
    [{ action: 'subscribe', from: { tail: 1000 } }],
    [{ action: 'subscribe', from: { tail: 1001 } }],
    [{ action: 'subscribe', from: { tail: 1, since: '2026' } }],
    [{ action: 'subscribe', from: {} }],
  ])('the document accepts the command %j exactly where the server accepts it', (command) => {
    const refused = misfits(channel, command.action, { payload: command }).length > 0
    expect(refused).toBe(isRefused(command))
  })
})

function isRefused(command: Record<string, unknown>): boolean {
  try {
    readStreamCommand(command)
    return false
  } catch (error) {
    if (error instanceof StreamRefusal) return true
    throw error
  }
}

test('every block of server-sent events matches the document, and every documented message is sent', async () => {
  await using api = await startApi({ count: 5 })
  const response = await fetch(`${api.url}/v1/events?after=${foreign}`, { headers: api.auth })
  const parser = createSseParser()
  const blocks: { event: string; headers: Record<string, string>; payload: unknown }[] = []
  for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    for (const block of text.split(/(?<=\n\n)/)) {
      const [message] = parser.feed(block)
      if (message === undefined) continue
      const { event, data } = message
      const id = /^id: ?(.*)$/m.exec(block)?.[1]
      blocks.push({
        event,
        headers: { event, ...(id === undefined ? {} : { id }) },
        payload: JSON.parse(data),
      })
    }
    if (blocks.some(({ event }) => event === 'live')) api.stop()
  }
  for (const { event, ...given } of blocks) expect(misfits('sse', event, given)).toEqual([])
  const names = new Set(blocks.map(({ event }) => event))
  expect([...names].sort()).toEqual(namesOf(document, 'sse', 'send').sort())
})
