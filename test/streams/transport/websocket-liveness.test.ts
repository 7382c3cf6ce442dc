import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { TickBudget } from '../../../src/streams/limits/tick-budget.ts'
import { TimerWheel } from '../../../src/streams/limits/timer-wheel.ts'
import { KeepAlive } from '../../../src/streams/transport/keep-alive.ts'
import { type ApiServer, startApi, until } from '../../support/http/api-server.ts'
import { metric } from '../../support/metric.ts'
import { largeEvents } from '../../support/streams/large-events.ts'
import { openStream, type StreamClient } from '../../support/streams/ws-client.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

const EVENTS = 400
const SLOW = 'stream_slow_clients'
const clients: StreamClient[] = []

afterEach(() => {
  for (const client of clients.splice(0)) client.webSocket.terminate()
})

/** A client that subscribes to all events that many times at once, and reads nothing. */
async function unread(api: ApiServer, times = 1): Promise<StreamClient> {
  const client = await openStream(api)
  clients.push(client)
  await client.next('hello')
  client.webSocket.pause()
  for (let asked = 0; asked < times; asked += 1) client.send({ action: 'subscribe', from: 'earliest' })
  await until(async () => (await metric(api, SLOW)) === 1)
  return client
}

describe('a client that does not read', () => {
  test('is closed with 4108 and its cursor when it makes no progress, and leaves nothing behind', async () => {
    await using api = await startApi({ count: EVENTS, reader: largeEvents })
    const client = await unread(api)
    api.clock.advance(29_000)
    expect(await metric(api, SLOW)).toBe(1)
    await until(async () => {
      // Until then the kernel may have taken more.
      api.clock.advance(1000)
      return (await metric(api, SLOW)) === 0
    })
    client.webSocket.resume()
    const { code, reason } = await client.closed
    expect(code).toBe(4108)
    expect(reason).toMatch(/ cursor=[\w-]{39}$/)
    await until(async () => (await metric(api, 'stream_clients{transport="ws"}')) === 0)
    expect(await metric(api, 'stream_closes_total{transport="ws",code="4108"}')).toBe(1)
    expect(await metric(api, 'stream_events_sent_total{transport="ws"}')).toBeLessThan(EVENTS)
    expect(api.clock.nextTimerMs()).toBeNull()
  })

  test('gets all events once it reads again in time', async () => {
    await using api = await startApi({ count: EVENTS, reader: largeEvents })
    const client = await unread(api)
    client.webSocket.resume()
    await client.next('live')
    expect(client.types().filter((type) => type === 'disclosure')).toHaveLength(EVENTS)
  })

  test('is not read from either: repeated requests do not pile up', async () => {
    await using api = await startApi({ count: EVENTS, reader: largeEvents })
    const client = await unread(api, 3)
    const before = await metric(api, 'stream_events_sent_total{transport="ws"}')
    expect(before).toBeLessThan(EVENTS)
    for (let asked = 0; asked < 3; asked += 1) client.send({ action: 'subscribe', from: 'earliest' })
    client.webSocket.ping()
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    expect(await metric(api, 'stream_events_sent_total{transport="ws"}')).toBe(before)
    client.webSocket.resume()
    await until(() => client.types().filter((type) => type === 'subscribed').length === 6)
    await client.next('live')
  })

  test('is not closed as a dead peer for that: the server sends no ping that it could not answer', async () => {
    await using api = await startApi({ count: EVENTS, reader: largeEvents })
    const client = await unread(api)
    let pings = 0
    client.webSocket.on('ping', () => {
      pings += 1
    })
    // A ping was due after 25 s.
    api.clock.advance(29_000)
    client.webSocket.resume()
    await client.next('live')
    expect(pings).toBe(0)
    expect(client.webSocket.readyState).toBe(WebSocket.OPEN)
  })

  test('and disconnects while it is slow is released', async () => {
    await using api = await startApi({ count: EVENTS, reader: largeEvents })
    const client = await unread(api)
    client.webSocket.terminate()
    await until(async () => (await metric(api, 'stream_clients{transport="ws"}')) === 0)
    expect(await metric(api, 'stream_closes_total{transport="ws",code="client"}')).toBe(1)
    await until(() => api.clock.nextTimerMs() === null)
  })

  test('during authentication delays nobody and ends with the other connections', async () => {
    await using api = await startApi()
    const client = await openStream(api, { headers: {} })
    clients.push(client)
    await (await openStream(api)).next('hello')
    client.webSocket.terminate()
    await until(async () => (await metric(api, 'stream_clients{transport="ws"}')) === 1)
  })
})

describe('a peer', () => {
  test('that answers pings stays connected', async () => {
    await using api = await startApi()
    const client = await openStream(api)
    await client.next('hello')
    let pings = 0
    client.webSocket.on('ping', () => {
      pings += 1
    })
    for (let round = 1; round <= 3; round += 1) {
      api.clock.advance(25_000)
      await until(() => pings === round)
      // Its response arrives after the pong.
      client.send({ action: 'ping' })
      await until(() => client.types().filter((type) => type === 'pong').length === round)
    }
    api.clock.advance(10_000)
    expect(client.webSocket.readyState).toBe(WebSocket.OPEN)
    client.webSocket.close()
    await client.closed
  })

  test('that does not answer within 10 s is closed with 4201, whatever else it sends', async () => {
    await using api = await startApi()
    const webSocket = new WebSocket(`${api.url.replace('http', 'ws')}/v1/stream`, {
      headers: api.auth,
      autoPong: false,
    })
    const pings: string[] = []
    webSocket.on('ping', (payload) => pings.push(payload.toString()))
    const closed = new Promise<number>((resolve) => webSocket.on('close', resolve))
    await new Promise((resolve) => webSocket.once('message', resolve))
    api.clock.advance(25_000)
    await until(() => pings.length === 1)
    webSocket.pong('something else')
    webSocket.send('{"action":"ping"}')
    await new Promise((resolve) => webSocket.once('message', resolve))
    api.clock.advance(10_000)
    expect(await closed).toBe(4201)
  })

  test('is pinged every 20 to 30 s at random, and not while reading is paused', () => {
    for (const [chance, firstMs] of [
      [0, 20_000],
      [0.999_999, 30_000],
    ] as const) {
      const clock = createManualClock()
      let held = true
      const asked: number[] = []
      const startMs = clock.now()
      const alive = new KeepAlive(new TimerWheel(clock, new TickBudget()), () => chance, {
        get isReadPaused() {
          return held
        },
        ping: () => asked.push(clock.now() - startMs),
        onDead: () => asked.push(-1),
      })
      alive.start()
      clock.advance(firstMs)
      expect(asked).toEqual([])
      held = false
      clock.advance(firstMs)
      expect(asked).toHaveLength(1)
      expect(asked[0]).toBeCloseTo(2 * firstMs, -2)
      held = true
      clock.advance(60_000)
      expect(asked).toHaveLength(1)
      held = false
      clock.advance(10_000)
      expect(asked.at(-1)).toBe(-1)
      alive.stop()
    }
  })
})
