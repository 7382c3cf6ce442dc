import { connect, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { type ApiServer, startApi, until } from '../support/http/api-server.ts'
import { knows } from '../support/http/callers.ts'
import { liveBytes } from '../support/live-bytes.ts'
import { metric } from '../support/metric.ts'
import { largeEvents } from '../support/streams/large-events.ts'
import { FIN, frame, OPCODES, openRaw, type RawStream } from '../support/streams/raw-stream.ts'
import { openStream } from '../support/streams/ws-client.ts'

const { text, continuation, ping, pong } = OPCODES
const KIB = 1024
const MIB = 1024 * KIB
const HEAD = 'GET /v1/stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'

const closes = (api: ApiServer, code: number) =>
  metric(api, `stream_closes_total{transport="ws",code="${code}"}`)
const openStreams = (api: ApiServer) => metric(api, 'stream_clients{transport="ws"}')

/** Checks that no connection or buffer is left, no internal error was logged, and the next client is served. */
async function isUnharmed(api: ApiServer): Promise<void> {
  await until(async () => (await openStreams(api)) === 0)
  expect(api.clock.nextTimerMs()).toBeNull()
  expect(api.lines.filter(({ level }) => level === 'error')).toEqual([])
  const next = await openStream(api)
  await next.next('hello')
  next.webSocket.close()
  await next.closed
}

/** A bare connection, and the bytes received until it ends. */
function connection(api: ApiServer): { socket: Socket; answer: Promise<string> } {
  const socket = connect({ port: api.listener.port, host: '127.0.0.1', noDelay: true })
  let answer = ''
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    answer += chunk.toString('latin1')
  })
  return { socket, answer: new Promise((resolve) => socket.on('close', () => resolve(answer))) }
}

describe('a handshake', () => {
  test('that arrives a byte at a time is cut off with 408 when its time is over', async () => {
    await using api = await startApi({ headersTimeoutMs: 200 })
    const { socket, answer } = connection(api)
    for (const character of HEAD) {
      socket.write(character)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await answer).toMatch(/^HTTP\/1\.1 408 .*"code":"request_timeout"/s)
    await isUnharmed(api)
  })

  test.each([
    ['a header of 1 MiB', `${HEAD}X: ${'x'.repeat(MIB)}\r\n\r\n`, 431, 'headers_too_large'],
    ['ten thousand headers', `${HEAD}${'X: y\r\n'.repeat(10_000)}\r\n`, 431, 'headers_too_large'],
    ['a header without end', `${HEAD}X: ${'x'.repeat(64 * KIB)}`, 431, 'headers_too_large'],
    ['a ticket of 17 KB', HEAD.replace('stream', `stream?ticket=${'x'.repeat(17_000)}`), 414, 'url_too_long'],
    ['a line that is no header', `${HEAD}\u0000\u0001\r\n\r\n`, 400, 'request_malformed'],
    ['bytes that are no HTTP', '\u0016\u0003\u0001\u0002\u0000\u0001', 400, 'request_malformed'],
  ])('with %s gets the response of plain HTTP', async (_what, bytes, status, code) => {
    await using api = await startApi()
    const { socket, answer } = connection(api)
    socket.write(status === 414 ? `${bytes}Sec-WebSocket-Version: 13\r\n\r\n` : bytes, 'latin1')
    expect(await answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*"code":"${code}"`, 's'))
    await isUnharmed(api)
  })

  test('that never arrives, on a thousand connections, keeps no client out; the connections are closed', async () => {
    await using api = await startApi({ headersTimeoutMs: 500, maxClients: 10 })
    const silent = Array.from({ length: 1000 }, () => connection(api))
    await Promise.all(silent.map(({ socket }) => new Promise((resolve) => socket.once('connect', resolve))))
    const client = await openStream(api)
    await client.next('hello')
    client.webSocket.close()
    await Promise.all(silent.map(({ answer }) => answer))
    await isUnharmed(api)
  })
})

/** What a client sends once it is connected, and the expected close code. */
const attacks: [what: string, code: number, attack: (client: RawStream) => void][] = [
  [
    'a message without end in frames of 16 KiB',
    1009,
    (client) => client.send(frame(text, '{'), ...Array(100).fill(frame(continuation, ' '.repeat(16 * KIB)))),
  ],
  [
    'a message without end in frames of one byte',
    1008,
    (client) => client.send(frame(text, '{'), ...Array(20_000).fill(frame(continuation, ' '))),
  ],
  [
    'a message without end in empty frames',
    1008,
    (client) => client.send(frame(text, ''), ...Array(20_000).fill(frame(continuation))),
  ],
  [
    'a message of 256 KiB and a byte',
    1009,
    (client) => client.send(frame(FIN | text, 'x'.repeat(256 * KIB + 1))),
  ],
  ['a message of 4 MiB', 1009, (client) => client.send(frame(FIN | text, Buffer.alloc(4 * MIB, 0x20)))],
  ['20,000 pings', 4129, (client) => client.send(...Array(20_000).fill(frame(FIN | ping, 'x'.repeat(125))))],
  ['20,000 pongs', 4129, (client) => client.send(...Array(20_000).fill(frame(FIN | pong, 'x'.repeat(125))))],
  ['20,000 empty texts', 4129, (client) => client.send(...Array(20_000).fill(frame(FIN | text)))],
  [
    '21 messages of 256 KiB at once',
    4129,
    (client) => client.send(...Array(21).fill(frame(FIN | text, Buffer.alloc(256 * KIB, 0x20)))),
  ],
  [
    '4 MiB that are no UTF-8, in texts of 128 KiB',
    1007,
    (client) => client.send(...Array(32).fill(frame(FIN | text, Buffer.alloc(128 * KIB, 0xff)))),
  ],
  ['4 MiB of noise', 1002, (client) => client.send(Buffer.alloc(4 * MIB, 0xff))],
]

describe('a client that sends', () => {
  test.each(attacks)('%s is closed with %d, and leaves nothing behind', async (_what, code, attack) => {
    await using api = await startApi()
    const client = await openRaw(api)
    attack(client)
    expect(await client.ended).toBe(code)
    await until(async () => (await closes(api, code)) === 1)
    await isUnharmed(api)
  })

  test.each(attacks)('%s is cut off before authentication too', async (_what, _code, attack) => {
    await using api = await startApi()
    const client = await openRaw(api, { authorization: '' })
    attack(client)
    expect([1002, 1007, 1008, 1009, 4129]).toContain(await client.ended)
    await isUnharmed(api)
  })

  test('all of these, repeated, grows the process by at most 1 MiB', async () => {
    await using api = await startApi()
    const round = async () => {
      const clients = await Promise.all(attacks.map(() => openRaw(api)))
      for (const [index, client] of clients.entries()) attacks[index]?.[2](client)
      await Promise.all(clients.map(({ ended }) => ended))
      await until(async () => (await openStreams(api)) === 0)
      api.lines.length = 0
    }
    await round()
    const before = await liveBytes()
    for (let rounds = 0; rounds < 2; rounds += 1) await round()
    expect((await liveBytes()) - before).toBeLessThan(MIB)
  })
})

test('unauthenticated clients that send as much as allowed cost 32 KiB each, both ends counted', async () => {
  const count = 200
  // One loopback address has four fifths of the tenth for clients that have not authenticated yet.
  await using api = await startApi({ maxClients: 20 * count })
  const before = await liveBytes()
  const unfinished = frame(text, 'x'.repeat(4000))
  const strangers = await Promise.all(
    Array.from({ length: count }, async () => {
      const client = await openRaw(api, { authorization: '' })
      await client.sendChopped(unfinished, 500)
      return client
    }),
  )
  expect(await openStreams(api)).toBe(count)
  const each = ((await liveBytes()) - before) / count
  expect(each).toBeLessThan(32 * KIB)
  api.clock.advance(10_000)
  for (const { ended } of strangers) expect(await ended).toBe(4001)
  await isUnharmed(api)
})

test('large filters of one token are refused beyond 8 MiB on either transport, and leave room for other tokens', async () => {
  const authenticate = knows({ many: {}, other: {} })
  await using api = await startApi({ authenticate })
  const subscribe = async (token: string, first: number) => {
    const client = await openStream(api, { headers: { authorization: `Bearer ${token}` } })
    const symbols = Array.from(
      { length: 10_000 },
      (_, at) => `SYMBOL-${String(first + at).padStart(12, '0')}`,
    )
    client.send({ action: 'subscribe', filter: { symbols } })
    await until(() => client.types().some((type) => type === 'subscribed' || type === 'error'))
    return client
  }
  const clients = []
  let accepted = 0
  for (let count = 0; count < 60; count++) {
    const client = await subscribe('many', count * 10_000)
    clients.push(client)
    if (client.types().includes('subscribed')) accepted += 1
    else expect((await client.next('error')).detail).toMatch(/filters of this token's streams/)
  }
  expect(accepted).toBe(Math.floor((8 * MIB) / (220_000 + '{"symbols":[]}'.length)))
  clients.push(await subscribe('other', 0))
  expect(clients.at(-1)?.types()).toContain('subscribed')
  for (const { webSocket } of clients) webSocket.close()
  await until(async () => (await openStreams(api)) === 0)
  const again = await subscribe('many', 0)
  expect(again.types()).toContain('subscribed')
  again.webSocket.close()
  await again.closed
})

describe('what one token begins to send and never ends is held up to 8 MiB, beside which others are served', () => {
  /** How many of 40 are refused: 32 of 256 KiB have room. */
  const COUNT = 40
  const ROOM = (8 * MIB) / (256 * KIB)
  const authenticate = knows({ many: {}, other: {} })
  const ask = async (api: ApiServer, token: string) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const filter = { symbols: Array.from({ length: 1000 }, (_, at) => `S${at}`) }
    const body = JSON.stringify({ filter })
    return (await fetch(`${api.url}/v1/filters/test`, { method: 'POST', headers, body })).status
  }

  test('bodies: 429', async () => {
    await using api = await startApi({ authenticate })
    const head =
      'POST /v1/filters/test HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer many\r\n' +
      `Content-Type: application/json\r\nContent-Length: ${256 * KIB}\r\n\r\n`
    const answers: string[] = []
    const sockets: Socket[] = []
    for (let count = 0; count < COUNT; count += 1) {
      const { socket } = connection(api)
      socket.on('data', (chunk) => answers.push(chunk.toString('latin1')))
      socket.write(head + ' '.repeat(256 * KIB - 1))
      sockets.push(socket)
    }
    await until(() => answers.length >= COUNT - ROOM)
    expect(answers.every((answer) => answer.includes('"code":"too_many"'))).toBe(true)
    expect(answers[0]).toMatch(/^HTTP\/1\.1 429 .*Retry-After: 5\r\n/s)
    expect([await ask(api, 'many'), await ask(api, 'other')]).toEqual([429, 200])
    for (const socket of sockets) socket.destroy()
    await until(async () => (await ask(api, 'many')) === 200)
    expect(api.lines.filter(({ level }) => level === 'error')).toEqual([])
  })

  test('messages: 4100', async () => {
    await using api = await startApi({ authenticate })
    const streams = await Promise.all(
      Array.from({ length: COUNT }, () => openRaw(api, { authorization: 'Bearer many' })),
    )
    await until(() => streams.every(({ texts }) => texts.length === 2))
    const whole = frame(FIN | text, `{"action":"ping","id":"${'x'.repeat(60)}"}`)
    const unfinished = frame(FIN | text, ' '.repeat(256 * KIB - 1), BigInt(256 * KIB))
    for (const stream of streams) stream.send(whole, unfinished)
    await until(async () => (await closes(api, 4100)) >= COUNT - ROOM)
    api.clock.advance(1000)
    await until(async () => (await openStreams(api)) <= ROOM)
    expect(await ask(api, 'other')).toBe(200)
    for (const stream of streams) stream.destroy()
    await until(async () => (await openStreams(api)) === 0)
    expect(await ask(api, 'many')).toBe(200)
    expect(api.lines.filter(({ level }) => level === 'error')).toEqual([])
  })

  test('messages that end count no more, however they are cut', async () => {
    await using api = await startApi({ authenticate })
    const stream = await openRaw(api, { authorization: 'Bearer many' })
    await until(() => stream.texts.length === 2)
    const filter = { symbols: Array.from({ length: 10_000 }, (_, at) => `SYMBOL-${at}`) }
    const message = JSON.stringify({ action: 'subscribe', id: 'a', filter })
    for (let round = 0; round < 50; round += 1) {
      const half = message.length >> 1
      stream.send(frame(text, message.slice(0, half)), frame(FIN | continuation, message.slice(half)))
      const wanted = stream.texts.length + 2
      await until(() => stream.texts.length >= wanted)
      if (round % 5 === 4) api.clock.advance(1000)
    }
    expect(await closes(api, 4100)).toBe(0)
    stream.destroy()
  })
})

describe('a client that never reads', () => {
  test('the error and pong replies is closed with 4201 within 35 s', async () => {
    await using api = await startApi()
    const client = await openRaw(api)
    await until(() => client.texts.length === 2)
    client.pause()
    for (let second = 0; second < 35; second += 1) {
      expect(await closes(api, 4201)).toBe(0)
      client.send(frame(FIN | text, 'no command'), frame(FIN | ping, 'x'.repeat(125)))
      await until(() => client.unsent() === 0)
      await new Promise((resolve) => setImmediate(resolve))
      api.clock.advance(1000)
    }
    client.destroy()
    await until(async () => (await closes(api, 4201)) === 1)
    await isUnharmed(api)
  })

  test('the requested events is not read from: its further input stays in its own socket', async () => {
    await using api = await startApi({ count: 400, reader: largeEvents })
    const client = await openRaw(api)
    await until(() => client.texts.length === 2)
    client.pause()
    client.send(frame(FIN | text, '{"action":"subscribe","from":"earliest"}'))
    await until(async () => (await metric(api, 'stream_slow_clients')) === 1)
    const before = await liveBytes()
    client.send(Buffer.concat(Array(100_000).fill(frame(FIN | ping, 'x'.repeat(125)))))
    for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    expect(client.unsent()).toBeGreaterThan(MIB)
    expect((await liveBytes()) - before - client.unsent()).toBeLessThan(4 * MIB)
    expect(await openStreams(api)).toBe(1)
    client.destroy()
    await isUnharmed(api)
  })
})
