import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { encodeCursor } from '../../../src/core/cursor.ts'
import { type ApiServer, startApi, UPSTREAM, until } from '../../support/http/api-server.ts'
import { metric } from '../../support/metric.ts'
import { EPOCH } from '../../support/store.ts'
import { largeEvents } from '../../support/streams/large-events.ts'

interface Message {
  event: string
  id: string
  data: string
}

interface Stream {
  messages: Message[]
  text: () => string
  /** The id of the last complete block with one, as a browser keeps it. */
  lastId: () => string
  sequences: () => number[]
  cut: () => void
  /** Resolves with true when the server ended the stream, false when the connection broke. */
  ended: Promise<boolean>
}

/** Opens a stream as a browser would, and parses only complete blocks. */
async function open(api: ApiServer, query = '', headers: Record<string, string> = {}): Promise<Stream> {
  const leave = new AbortController()
  const response = await fetch(`${api.url}/v1/events${query}`, {
    headers: { ...api.auth, ...headers },
    signal: leave.signal,
  })
  if (response.status !== 200 || response.body === null) throw new Error(await response.text())
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  const messages: Message[] = []
  let text = ''
  let parsed = 0
  let lastId = ''
  const read = async (body: ReadableStream<Uint8Array>): Promise<void> => {
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      text += chunk
      for (let end = text.indexOf('\n\n', parsed); end >= 0; end = text.indexOf('\n\n', parsed)) {
        const message: Message = { event: 'message', id: lastId, data: '' }
        for (const line of text.slice(parsed, end).split('\n')) {
          const colon = line.indexOf(':')
          const [name, value] = [line.slice(0, colon), line.slice(colon + 1).trimStart()]
          if (name === 'event') message.event = value
          if (name === 'id') message.id = lastId = value
          if (name === 'data') message.data = value
        }
        if (message.data !== '') messages.push(message)
        parsed = end + 2
      }
    }
  }
  return {
    messages,
    text: () => text,
    lastId: () => lastId,
    sequences: () => sequencesOf(messages),
    cut: () => leave.abort(),
    ended: read(response.body).then(
      () => true,
      () => false,
    ),
  }
}

function sequencesOf(messages: readonly Message[]): number[] {
  return messages
    .filter(({ event }) => event === 'disclosure')
    .map(({ data }) => Number((JSON.parse(data) as { sequence: string }).sequence))
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)
const isLive = (stream: Stream) => stream.messages.some(({ event }) => event === 'live')

async function refused(api: ApiServer, query: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${api.url}/v1/events${query}`, { headers: { ...api.auth, ...headers } })
  const body = (await response.json()) as { code: string; oldest?: string; errors?: { field: string }[] }
  return { status: response.status, retryAfter: response.headers.get('retry-after'), ...body }
}

describe('GET /v1/events', () => {
  test('starts live by default: retry, live once, then new events', async () => {
    await using api = await startApi({ count: 5 })
    const stream = await open(api)
    await until(() => isLive(stream))
    api.store.grow(2)
    await until(() => stream.sequences().length === 2)
    expect(stream.text().startsWith('retry: 3000\n\n')).toBe(true)
    expect(stream.messages.map(({ event }) => event)).toEqual(['live', 'disclosure', 'disclosure'])
    const [live, first] = stream.messages
    expect(JSON.parse(live?.data ?? '')).toEqual({ cursor: live?.id })
    expect(JSON.parse(first?.data ?? '')).toMatchObject({
      sequence: '00000000000000000006',
      cursor: first?.id,
    })
    expect(await metric(api, 'stream_clients{transport="sse"}')).toBe(1)
    stream.cut()
    await until(async () => (await metric(api, 'stream_clients{transport="sse"}')) === 0)
    expect(await metric(api, 'stream_closes_total{transport="sse",code="client"}')).toBe(1)
    expect(await metric(api, 'stream_events_sent_total{transport="sse"}')).toBe(2)
    expect(api.lines).toMatchObject([
      { event: 'stream.closed', fields: { code: 'client', sent: 2, tenant: 'default' } },
    ])
    expect(api.clock.nextTimerMs()).toBeNull()
  })

  test('starts after a cursor, at a time, or with the last matching events', async () => {
    await using api = await startApi({ count: 40 })
    const cursor = encodeCursor({ epoch: EPOCH, sequence: 37, timeMs: 0 })
    const starts = [
      [`?after=${cursor}`, [38, 39, 40]],
      ['?since=2026-01-06T07:00:39Z', [39, 40]],
      ['?since=2026-01-06T07:00:39%2B00:00', [39, 40]],
      ['?since=2026-01-06T09:00:39+02:00', [39, 40]],
      ['?since=2026-01-06t07:00:39z', [39, 40]],
      ['?since=2027', []],
      ['?since=2026', range(1, 40)],
      ['?tail=2', [39, 40]],
      ['?tail=2&fcaCategories=FR', [30, 40]],
      ['?tail=1000', range(1, 40)],
    ] as const
    for (const [query, wanted] of starts) {
      const stream = await open(api, query)
      await until(() => isLive(stream))
      expect(stream.sequences()).toEqual(wanted)
      stream.cut()
      await stream.ended
    }
  })

  test('prefers Last-Event-ID to every other start', async () => {
    await using api = await startApi({ count: 40 })
    const [early, late] = [3, 38].map((sequence) => encodeCursor({ epoch: EPOCH, sequence, timeMs: 0 }))
    for (const query of [`?after=${early}`, '?tail=20', '?since=2026']) {
      const stream = await open(api, query, { 'Last-Event-ID': late ?? '' })
      await until(() => isLive(stream))
      expect(stream.sequences()).toEqual([39, 40])
      stream.cut()
      await stream.ended
    }
  })

  test('sends a client with a cursor of another epoch the gap before anything else', async () => {
    await using api = await startApi({ count: 3 })
    const stream = await open(api, '', {
      'Last-Event-ID': encodeCursor({ epoch: 'Another1', sequence: 9, timeMs: 0 }),
    })
    await until(() => isLive(stream))
    expect(stream.messages.map(({ event }) => event)).toEqual([
      'gap',
      'disclosure',
      'disclosure',
      'disclosure',
      'live',
    ])
    expect(JSON.parse(stream.messages[0]?.data ?? '')).toMatchObject({
      source: '/bridge',
      data: { cause: 'epoch' },
    })
    stream.cut()
  })

  test.each([
    ['?after=x', 'cursor_invalid'],
    ['?after=x&tail=1', 'parameter_invalid'],
    ['?since=2026&tail=1', 'parameter_invalid'],
    ['?since=yesterday', 'parameter_invalid'],
    ['?since=2026-01-06+07:00', 'parameter_invalid'],
    ['?tail=0', 'parameter_invalid'],
    ['?tail=1001', 'parameter_invalid'],
    ['?limit=5', 'parameter_invalid'],
    ['?leis=short', 'filter_invalid'],
  ])('refuses %s as %s before a stream begins', async (query, code) => {
    await using api = await startApi({ count: 1 })
    expect(await refused(api, query)).toMatchObject({ status: 400, code })
  })

  test('answers 400 to a truncated Last-Event-ID, and 410 with the oldest cursor to one beyond retention', async () => {
    await using api = await startApi({ first: 50, count: 10 })
    expect(await refused(api, '', { 'Last-Event-ID': 'AUVwb2No' })).toMatchObject({
      status: 400,
      code: 'cursor_invalid',
    })
    const old = encodeCursor({ epoch: EPOCH, sequence: 3, timeMs: 0 })
    const answer = await refused(api, '', { 'Last-Event-ID': old })
    expect(answer).toMatchObject({ status: 410, code: 'cursor_too_old' })
    const stream = await open(api, `?after=${answer.oldest}`)
    await until(() => isLive(stream))
    expect(stream.sequences()).toEqual(range(50, 59))
    stream.cut()
  })

  test('sends a heartbeat after every 15 s of silence, whose id resumes near the end', async () => {
    await using api = await startApi({ count: 5 })
    const stream = await open(api, '?fcaCategories=FR')
    await until(() => isLive(stream))
    api.store.grow(3)
    // New events are matched in the next tick.
    await new Promise((resolve) => setImmediate(resolve))
    api.clock.advance(15_000)
    const beat = /^: heartbeat (.*)\n\nid: .*\n\n/m
    await until(() => beat.test(stream.text()))
    expect(JSON.parse(beat.exec(stream.text())?.[1] ?? '')).toEqual(UPSTREAM)
    const resumed = await open(api, '', { 'Last-Event-ID': stream.lastId() })
    await until(() => isLive(resumed))
    expect(resumed.sequences()).toEqual([])
    stream.cut()
    resumed.cut()
  })

  test('refuses a client over the limit with 503 and Retry-After, and accepts the next when one has left', async () => {
    await using api = await startApi({ count: 1, maxClients: 1 })
    const stream = await open(api)
    expect(await refused(api, '')).toMatchObject({ status: 503, code: 'over_capacity', retryAfter: '5' })
    expect(await metric(api, 'stream_closes_total{transport="sse",code="4100"}')).toBe(1)
    stream.cut()
    await until(async () => (await metric(api, 'stream_clients{transport="sse"}')) === 0)
    const next = await open(api)
    await until(() => isLive(next))
    next.cut()
  })

  test('sends going_away and ends when this node stops; new clients get 503', async () => {
    await using api = await startApi({ count: 1 })
    const stream = await open(api)
    await until(() => isLive(stream))
    api.stop()
    expect(await stream.ended).toBe(true)
    expect(stream.messages.at(-1)).toMatchObject({ event: 'going_away', data: '{"reconnectInMs":2500}' })
    expect(await metric(api, 'stream_closes_total{transport="sse",code="4200"}')).toBe(1)
    expect(await refused(api, '')).toMatchObject({ status: 503, code: 'unavailable' })
  })

  test('sends going_away and ends at the maximum age of a stream', async () => {
    await using api = await startApi({ count: 1 })
    const stream = await open(api)
    await until(() => isLive(stream))
    // With a random value of one half: 24 hours, checked at each heartbeat.
    api.clock.advance(24 * 3_600_000 - 1000)
    expect(await metric(api, 'stream_clients{transport="sse"}')).toBe(1)
    api.clock.advance(16_000)
    expect(await stream.ended).toBe(true)
    expect(stream.messages.at(-1)?.event).toBe('going_away')
    expect(await metric(api, 'stream_closes_total{transport="sse",code="4200"}')).toBe(1)
  })

  test('answers HEAD with the headers of a stream and nothing more', async () => {
    await using api = await startApi({ count: 1 })
    const response = await fetch(`${api.url}/v1/events`, { method: 'HEAD', headers: api.auth })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    expect(await metric(api, 'stream_clients{transport="sse"}')).toBe(0)
  })

  test('writes all events of one commit in one write', async () => {
    await using api = await startApi({ count: 1 })
    const chunks: string[] = []
    const socket = connect(api.listener.port, '127.0.0.1')
    socket.write(`GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: ${api.auth.authorization}\r\n\r\n`)
    socket.on('data', (chunk) => chunks.push(chunk.toString()))
    await until(() => chunks.join('').includes('event: live'))
    const before = chunks.join('').length
    api.store.grow(50)
    await until(() => chunks.join('').includes('"sequence":"00000000000000000051"'))
    const grown = chunks.join('').slice(before)
    expect(grown.match(/^[0-9a-f]+\r\n/gm)).toHaveLength(1)
    socket.destroy()
  })
})

const EVENTS = 600

describe('a client that does not read', () => {
  /** Connects, requests all events, and reads nothing until the test says so. */
  function unread(api: ApiServer) {
    const socket = connect(api.listener.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.pause()
    socket.write(
      `GET /v1/events?since=2026 HTTP/1.1\r\nHost: x\r\nAuthorization: ${api.auth.authorization}\r\n\r\n`,
    )
    return socket
  }

  test('pauses reads of the log, is closed when it makes no progress, and leaves nothing behind', async () => {
    await using api = await startApi({ count: EVENTS, reader: largeEvents })
    const socket = unread(api)
    await until(async () => (await metric(api, 'stream_slow_clients')) === 1)
    api.clock.advance(29_000)
    expect(await metric(api, 'stream_closes_total{transport="sse",code="4108"}')).toBe(0)
    await until(async () => {
      // Until then the kernel may have taken more.
      api.clock.advance(1000)
      return (await metric(api, 'stream_closes_total{transport="sse",code="4108"}')) === 1
    })
    expect(await metric(api, 'stream_events_sent_total{transport="sse"}')).toBeLessThan(EVENTS)
    expect(await metric(api, 'stream_slow_clients')).toBe(0)
    expect(await metric(api, 'stream_clients{transport="sse"}')).toBe(0)
    socket.destroy()
  })

  test('gets all events once it reads again in time', async () => {
    await using api = await startApi({ count: EVENTS, reader: largeEvents })
    const socket = unread(api)
    await until(async () => (await metric(api, 'stream_slow_clients')) === 1)
    const chunks: Buffer[] = []
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.resume()
    await until(() => chunks.at(-1)?.includes('event: live') ?? false)
    expect(
      Buffer.concat(chunks)
        .toString('latin1')
        .match(/event: disclosure/g),
    ).toHaveLength(EVENTS)
    socket.destroy()
  })

  test('and disconnects while it is slow is released', async () => {
    await using api = await startApi({ count: EVENTS, reader: largeEvents })
    const socket = unread(api)
    await until(async () => (await metric(api, 'stream_slow_clients')) === 1)
    socket.resetAndDestroy()
    await until(async () => (await metric(api, 'stream_clients{transport="sse"}')) === 0)
    expect(await metric(api, 'stream_closes_total{transport="sse",code="client"}')).toBe(1)
    expect(api.clock.nextTimerMs()).toBeNull()
  })
})
