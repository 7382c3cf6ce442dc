import { describe, expect, test } from 'vitest'
import { encodeCursor } from '../../../src/core/cursor.ts'
import { startApi, UPSTREAM, until } from '../../support/http/api-server.ts'
import { EPOCH, REPLICA } from '../../support/store.ts'
import { AUTH, openStream, subscribed } from '../../support/streams/ws-client.ts'

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)
const cursorAt = (sequence: number, epoch = EPOCH) => encodeCursor({ epoch, sequence, timeMs: 0 })

describe('GET /v1/stream', () => {
  test('sends authenticated, hello, and nothing more until a subscribe', async () => {
    await using api = await startApi({ count: 5 })
    const client = await openStream(api)
    await client.next('hello')
    api.store.grow(2)
    api.clock.advance(15_000)
    client.send({ action: 'ping' })
    await client.next('pong')
    expect(client.messages).toEqual([
      { type: 'authenticated' },
      {
        type: 'hello',
        protocol: 'bridge.v1.json',
        epoch: EPOCH,
        oldest: 1,
        latest: 5,
        heartbeatMs: 15_000,
      },
      { type: 'pong' },
    ])
  })

  test('accepts the token in a first frame too', async () => {
    await using api = await startApi({ count: 5 })
    const client = await openStream(api, { headers: {} })
    client.send(AUTH)
    await client.next('hello')
    expect(client.types()).toEqual(['authenticated', 'hello'])
    api.clock.advance(10_000)
    client.send({ action: 'ping', id: 'a' })
    expect(await client.next('pong')).toEqual({ type: 'pong', id: 'a' })
  })

  test('is live by default: subscribed, live once, then each event unchanged', async () => {
    await using api = await startApi({ count: 5 })
    const client = await openStream(api)
    client.send({ action: 'subscribe', id: '1' })
    const live = await client.next('live')
    api.store.grow(2)
    await until(() => client.sequences().length === 2)
    expect(client.types().slice(2)).toEqual(['subscribed', 'live', 'disclosure', 'disclosure'])
    expect(client.messages[2]).toEqual({ type: 'subscribed', id: '1', filter: {}, from: 'live' })
    expect(live).toEqual({ type: 'live', id: '1', cursor: api.store.reader.cursorAt(5) })
    const [, , , , first] = client.messages
    expect(first).toMatchObject({ sent: new Date(api.clock.now()).toISOString() })
    expect(client.texts[4]).toBe(
      `{"type":"disclosure","id":"1","sent":"${first?.sent}","event":${api.store.recentEvents.at(6)?.json}}`,
    )
  })

  test('starts at the requested position', async () => {
    await using api = await startApi({ count: 40 })
    const starts = [
      ['earliest', 'earliest', range(1, 40)],
      ['live', 'live', []],
      [{ after: cursorAt(37) }, { after: cursorAt(37) }, [38, 39, 40]],
      [{ since: '2026-01-06T07:00:39Z' }, { since: '2026-01-06T07:00:39.000Z' }, [39, 40]],
      [{ since: '2026-01-06T09:00:39+02:00' }, { since: '2026-01-06T07:00:39.000Z' }, [39, 40]],
      [{ since: '2026' }, { since: '2026-01-01T00:00:00.000Z' }, range(1, 40)],
      [{ tail: 2 }, { tail: 2 }, [39, 40]],
      [{ tail: 1000 }, { tail: 1000 }, range(1, 40)],
    ] as const
    for (const [from, told, wanted] of starts) {
      const client = await subscribed(api, { from })
      expect(client.messages[2]).toMatchObject({ type: 'subscribed', id: null, from: told })
      expect(client.sequences()).toEqual(wanted)
      client.webSocket.close()
      await client.closed
    }
  })

  test('sends the events that match the filter, and returns the filter as parsed', async () => {
    await using api = await startApi({ count: 40 })
    const filter = { fcaCategories: ['FR'], importance: 'high+', q: 'ITEM' }
    const client = await subscribed(api, { filter, from: { tail: 2 } })
    expect(client.messages[2]).toMatchObject({
      filter: { fcaCategories: ['FR'], importance: ['high', 'ultra'], q: 'item' },
    })
    expect(client.sequences()).toEqual([30, 40])
  })

  test('replaces a subscription: the new one gets its own live, and no event of the old one follows', async () => {
    await using api = await startApi({ count: 40 })
    const client = await subscribed(api, { id: 'a', from: 'earliest' })
    client.send({ action: 'subscribe', id: 'a', filter: { fcaCategories: ['FR'] }, from: { tail: 1 } })
    await until(() => client.types().filter((type) => type === 'live').length === 2)
    api.store.grow(20)
    await until(() => client.sequences().at(-1) === 60)
    const at = client.types().lastIndexOf('subscribed')
    const after = client.messages.slice(at).map(({ type, event }) => event?.sequence.slice(-2) ?? type)
    expect(after).toEqual(['subscribed', '40', 'live', '50', '60'])
  })

  test('replaces a subscription in the middle of a replay', async () => {
    await using api = await startApi({ count: 3000 })
    const client = await openStream(api)
    client.send({ action: 'subscribe', from: 'earliest' })
    client.send({ action: 'subscribe', filter: { fcaCategories: ['FR'] }, from: { tail: 2 } })
    await until(() => client.types().filter((type) => type === 'subscribed').length === 2)
    await client.next('live')
    const at = client.types().lastIndexOf('subscribed')
    const after = client.messages.slice(at + 1).map(({ type, event }) => Number(event?.sequence ?? type))
    expect(after).toEqual([2990, 3000, Number.NaN])
  })

  test('sends a heartbeat after every 15 s of silence, with the resume point of a narrow filter and the upstream state', async () => {
    await using api = await startApi({ count: 5 })
    const client = await subscribed(api, { filter: { fcaCategories: ['FR'] } })
    api.store.grow(3)
    client.send({ action: 'ping' })
    await client.next('pong')
    api.clock.advance(15_000)
    expect(await client.next('heartbeat')).toEqual({
      type: 'heartbeat',
      cursor: api.store.reader.cursorAt(8),
      ...UPSTREAM,
    })
  })

  test('sends a client with a cursor of another epoch the gap before anything else', async () => {
    await using api = await startApi({ count: 3 })
    const client = await subscribed(api, { from: { after: cursorAt(9, 'Another1') } })
    expect(client.types().slice(2)).toEqual([
      'subscribed',
      'gap',
      'disclosure',
      'disclosure',
      'disclosure',
      'live',
    ])
    expect(client.messages[3]?.event).toMatchObject({ source: '/bridge', data: { cause: 'epoch' } })
  })

  test('starts at the oldest event after a gap if the cursor is beyond retention and the client chose that', async () => {
    await using api = await startApi({ first: 50, count: 3 })
    const client = await subscribed(api, { from: { after: cursorAt(3) }, onGap: 'earliest' })
    expect(client.messages[3]).toMatchObject({ type: 'gap', event: { data: { cause: 'retention' } } })
    expect(client.sequences().slice(1)).toEqual([50, 51, 52])
  })

  test('waits on a cursor ahead of this node’s replica', async () => {
    await using api = await startApi({ count: 5, replica: REPLICA })
    const client = await openStream(api)
    client.send({ action: 'subscribe', from: { after: cursorAt(7) } })
    await client.next('subscribed')
    api.store.grow(4)
    await client.next('live')
    expect(client.sequences()).toEqual([8, 9])
  })

  test('sends going_away and closes with 4200 and the cursor when this node stops, subscribed or not', async () => {
    await using api = await startApi({ count: 3 })
    const [reading, idle, silent] = [
      await subscribed(api, { from: 'earliest' }),
      await openStream(api),
      await openStream(api, { headers: {} }),
    ]
    await idle.next('hello')
    api.stop()
    for (const client of [reading, idle, silent]) {
      expect(await client.closed).toMatchObject({ code: 4200 })
      expect(client.messages.at(-1)).toEqual({ type: 'going_away', reconnectInMs: 2500 })
    }
    expect((await reading.closed).reason).toContain(`cursor=${api.store.reader.cursorAt(3)}`)
    await expect(openStream(api)).rejects.toThrow(/^503 .*"unavailable"/)
  })

  test('is counted, and logged in one line when it ends', async () => {
    await using api = await startApi({ count: 3 })
    const client = await subscribed(api, { from: 'earliest' })
    const line = async (start: string) =>
      (await api.metrics.scrape()).split('\n').find((candidate) => candidate.startsWith(`${start} `))
    expect(await line('bridge_stream_clients{transport="ws"}')).toMatch(/ 1$/)
    expect(await line('bridge_stream_events_sent_total{transport="ws"}')).toMatch(/ 3$/)
    client.webSocket.close()
    await until(() => api.lines.length > 0)
    expect(api.lines).toMatchObject([
      {
        event: 'stream.closed',
        fields: { transport: 'ws', code: 'client', sent: 3, tenant: 'default' },
      },
    ])
    expect(await line('bridge_stream_clients{transport="ws"}')).toMatch(/ 0$/)
    expect(await line('bridge_stream_closes_total{transport="ws",code="client"}')).toMatch(/ 1$/)
    await until(() => api.clock.nextTimerMs() === null)
  })
})

describe('cloudevents.json', () => {
  test('sends bare events, and control messages as events with their own ids', async () => {
    await using api = await startApi({ count: 2 })
    const client = await openStream(api, { protocols: ['unknown', 'cloudevents.json', 'bridge.v1.json'] })
    expect(client.webSocket.protocol).toBe('cloudevents.json')
    client.send({ action: 'subscribe', id: '1', from: 'earliest' })
    const live = await client.next('bridge.live.v1')
    expect(client.types()).toEqual([
      'bridge.authenticated.v1',
      'bridge.hello.v1',
      'bridge.subscribed.v1',
      'disclosure.published.v1',
      'disclosure.published.v1',
      'bridge.live.v1',
    ])
    const { json } =
      (
        await api.store.reader.read({
          after: 0,
          filter: null,
          limit: 1,
          signal: new AbortController().signal,
        })
      ).events[0] ?? {}
    expect(client.texts[3]).toBe(json?.toString())
    expect(client.messages[1]?.data).toMatchObject({ protocol: 'cloudevents.json', latest: 2 })
    expect(live).toMatchObject({
      specversion: '1.0',
      source: '/bridge',
      datacontenttype: 'application/json',
      data: { cursor: api.store.reader.cursorAt(2) },
    })
    const ids = client.messages.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('is optional: a known subprotocol is selected, none if none is offered', async () => {
    await using api = await startApi()
    expect((await openStream(api)).webSocket.protocol).toBe('')
    expect((await openStream(api, { protocols: ['bridge.v1.json'] })).webSocket.protocol).toBe(
      'bridge.v1.json',
    )
    await expect(openStream(api, { protocols: ['other'] })).rejects.toThrow('no subprotocol')
  })
})
