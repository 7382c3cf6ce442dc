/** Tests several subscriptions of one stream of the client, and filters that change in place, against the real server. */
import { describe, expect, test } from 'vitest'
import type { StreamMessage } from '../../../clients/typescript/src/messages.ts'
import { type ConnectOptions, connect, type Message } from '../../../clients/typescript/src/stream.ts'
import { type Command, Subscriptions } from '../../../clients/typescript/src/subscriptions.ts'
import { type ApiServer, startApi, TOKEN, until } from '../../support/http/api-server.ts'
import { type Followed, followed } from '../../support/streams/followed.ts'

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

function follow(api: ApiServer, options: Partial<ConnectOptions> = {}): Followed {
  return followed(connect({ url: api.url, token: TOKEN, ...options } as ConnectOptions))
}

/** As many as a connection may have. */
const sixteen = Object.fromEntries(range(1, 16).map((id) => [`${id}`, {}]))

/** Sequences of the events of this subscription. */
function sequences({ messages }: Followed, id?: string): number[] {
  return messages.flatMap((message) =>
    'event' in message && message.id === id ? [Number(message.event.sequence)] : [],
  )
}

/** All commands that may be sent now. */
function commandsOf(subscriptions: Subscriptions): Command[] {
  const commands: Command[] = []
  for (let next = subscriptions.next(); next !== null; next = subscriptions.next()) commands.push(next)
  return commands
}

const isLive =
  (id: string) =>
  (message: Message): boolean =>
    message.type === 'live' && message.id === id

describe('several subscriptions of one stream', () => {
  test('each get their own events with their id, are live once each, and have a resume point each', async () => {
    await using api = await startApi({ count: 30 })
    const client = follow(api, {
      subscriptions: {
        all: { from: { tail: 3 } },
        'say "results"': { filter: { fcaCategories: ['FR'] }, from: 'earliest' },
      },
    })
    await until(() => client.stream.state === 'live')
    api.store.grow(10)
    await until(
      () => sequences(client, 'all').length === 13 && sequences(client, 'say "results"').length === 4,
    )
    expect(sequences(client, 'all')).toEqual(range(28, 40))
    expect(sequences(client, 'say "results"')).toEqual([10, 20, 30, 40])
    expect(client.messages.filter(isLive('all'))).toHaveLength(1)
    expect(client.types().filter((type) => type === 'connected')).toHaveLength(1)
    const cursor = api.store.reader.cursorAt(40)
    expect([client.stream.cursor, client.stream.cursors]).toEqual([
      null,
      { all: cursor, 'say "results"': cursor },
    ])
    client.stream.close()
    expect(await client.ended).toBeNull()
  })

  test('each go on from their own place after the connection broke', async () => {
    await using api = await startApi({ count: 30 })
    const sockets: WebSocket[] = []
    class Kept extends WebSocket {
      constructor(url: string, protocols: string[]) {
        super(url, protocols)
        sockets.push(this)
      }
    }
    const client = follow(api, {
      subscriptions: { all: { from: { tail: 2 } }, results: { filter: { fcaCategories: ['FR'] } } },
      WebSocket: Kept,
      chance: () => 0,
    })
    await until(() => client.stream.state === 'live')
    sockets[0]?.close()
    api.store.grow(20)
    await until(() => sequences(client, 'all').length === 22 && sequences(client, 'results').length === 2)
    expect(sequences(client, 'all')).toEqual(range(29, 50))
    expect(sequences(client, 'results')).toEqual([40, 50])
    expect(client.types().filter((type) => type === 'connected')).toHaveLength(2)
    client.stream.close()
    expect(await client.ended).toBeNull()
  })

  test('begin and end while the stream runs; the last one ends it', async () => {
    await using api = await startApi({ count: 20 })
    const client = follow(api, { subscriptions: { one: {} } })
    await until(() => client.stream.state === 'live')
    client.stream.subscribe({ id: 'two', from: { tail: 2 } })
    expect(client.stream.state).toBe('catching_up')
    await until(() => client.messages.some(isLive('two')))
    expect(client.stream.state).toBe('live')
    client.stream.unsubscribe('one')
    api.store.grow(3)
    await until(() => sequences(client, 'two').length === 5)
    expect([sequences(client, 'one'), sequences(client, 'two')]).toEqual([[], range(19, 23)])
    client.stream.unsubscribe('two')
    expect(await client.ended).toBeNull()
    expect(client.stream.state).toBe('closed')
  })

  test('sixteen are made and changed on one connection, though a bridge takes few commands a second', async () => {
    await using api = await startApi({ count: 20 })
    // The client waits on the clock by which the bridge counts its commands.
    const options = { clock: api.clock, chance: () => 0 }
    const client = follow(api, { subscriptions: sixteen, ...options })
    const live = (count: number) =>
      until(
        () =>
          client.messages.filter(({ type }) => type === 'live').length === count ||
          client.types().includes('disconnected'),
      )
    // The first of the eight authenticates.
    for (const count of [7, 15, 16]) {
      await live(count)
      expect(client.types()).not.toContain('disconnected')
      api.clock.advance(1100)
    }
    expect(client.stream.state).toBe('live')
    for (const id of Object.keys(sixteen)) client.stream.subscribe({ id, filter: { types: ['published'] } })
    for (const count of [23, 31, 32]) {
      await live(count)
      expect(client.types()).not.toContain('disconnected')
      api.clock.advance(1100)
    }
    expect(client.stream.state).toBe('live')
    expect(client.types().filter((type) => type === 'connected')).toHaveLength(1)
    client.stream.close()
    expect(await client.ended).toBeNull()
  })

  test('that end and begin between two commands never exceed what a connection may have', () => {
    const subscriptions = new Subscriptions(10)
    for (const id of Object.keys(sixteen)) subscriptions.set(id, {})
    subscriptions.connected()
    expect(commandsOf(subscriptions)).toHaveLength(16)
    subscriptions.delete('1')
    subscriptions.set('more', {})
    subscriptions.delete('2')
    subscriptions.set('1', {})
    expect(commandsOf(subscriptions).map(({ action, id }) => [action, id])).toEqual([
      ['unsubscribe', '2'],
      ['subscribe', 'more'],
      ['subscribe', '1'],
    ])
    subscriptions.delete('more')
    subscriptions.set('brief', {})
    expect(subscriptions.delete('brief')).toBe(true)
    expect(commandsOf(subscriptions)).toEqual([{ action: 'unsubscribe', id: 'more' }])
  })

  test('have no resume point once they have ended, also where messages of theirs still come', async () => {
    await using api = await startApi({ count: 5 })
    const subscriptions = { one: { from: 'earliest' }, two: { from: 'earliest' } } as const
    const stream = connect({ url: api.url, token: TOKEN, subscriptions })
    await until(() => stream.state === 'live')
    stream.unsubscribe('one')
    const client = followed(stream)
    await client.next('live', 2)
    await until(() => stream.cursors.two === api.store.reader.cursorAt(5))
    expect(sequences(client, 'one')).toEqual(range(1, 5))
    expect(stream.cursors).toEqual({ two: api.store.reader.cursorAt(5) })
    stream.close()
    await client.ended
  })

  test('are refused where they cannot be meant', async () => {
    const options = { url: 'http://127.0.0.1:9', token: TOKEN }
    expect(() => connect({ ...options, subscriptions: {} })).toThrow(TypeError)
    const both = { ...options, subscriptions: sixteen, filter: {} } as unknown as ConnectOptions
    expect(() => connect(both)).toThrow(/filter belongs into/)
    expect(() => connect({ ...options, subscriptions: { ...sixteen, more: {} } })).toThrow(RangeError)
    const stream = connect({ ...options, subscriptions: sixteen })
    expect(() => stream.subscribe({ id: 'more' })).toThrow(RangeError)
    stream.close()
  })
})

test('a subscription that the bridge refuses as one too many ends the stream with what to do', async () => {
  await using api = await startApi({ count: 5 })
  const others = range(1, 2).map((other) => JSON.stringify({ action: 'subscribe', id: `other ${other}` }))
  const messages: { type: string; code?: number }[] = []
  /** Begins two subscriptions that the stream does not know of, as soon as it may. */
  class Crowded extends WebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols)
      this.addEventListener('message', ({ data }) => {
        const message = JSON.parse(`${data}`)
        messages.push(message)
        if (message.type === 'hello') for (const other of others) this.send(other)
      })
    }
  }
  const options = { clock: api.clock, chance: () => 0, WebSocket: Crowded }
  const subscriptions = Object.fromEntries(range(1, 15).map((id) => [`${id}`, {}]))
  const client = follow(api, { subscriptions, ...options })
  const areLive = (count: number) =>
    until(() => messages.filter(({ type }) => type === 'live').length === count)
  await areLive(9)
  api.clock.advance(1100)
  await until(() => messages.some(({ code }) => code === 406))
  expect(await client.ended).toMatchObject({
    code: 'subscription_refused',
    message: 'this connection has 16 subscriptions already; end one, or use its id again',
  })
  expect(client.stream.state).toBe('closed')
})

describe('a filter that changes in place', () => {
  test('leaves out no event that it wants and repeats none, whatever is on its way', async () => {
    await using api = await startApi({ count: 40 })
    const client = follow(api, { from: 'earliest', filter: { fcaCategories: ['FR'] } })
    await until(() => client.stream.state === 'live')
    // The bridge sends event 50 of the former filter before it has read the command.
    api.store.grow(10)
    client.stream.subscribe({})
    await until(() => sequences(client).length >= 14)
    expect(sequences(client)).toEqual([10, 20, 30, 40, ...range(41, 50)])
    client.stream.close()
    await client.ended
  })

  test('continues behind the last event of the former filter, also where the connection breaks before the answer', () => {
    const subscriptions = new Subscriptions(10)
    const event = (sequence: number) =>
      ({
        type: 'disclosure',
        event: { id: `${sequence}`, cursor: `c${sequence}` },
        json: '{}',
      }) as StreamMessage
    subscriptions.set(undefined, { from: 'earliest', filter: { q: 'one' } })
    subscriptions.connected()
    expect(commandsOf(subscriptions)).toEqual([
      { action: 'subscribe', from: 'earliest', filter: { q: 'one' } },
    ])
    subscriptions.answered(undefined)
    expect(subscriptions.take(event(1))).not.toBeNull()
    subscriptions.set(undefined, { filter: { q: 'other' } })
    const changed = { action: 'subscribe', from: { after: 'c1' }, filter: { q: 'other' } }
    expect(commandsOf(subscriptions)).toEqual([changed])
    expect(subscriptions.take(event(3))).toBeNull()
    subscriptions.connected()
    expect(commandsOf(subscriptions)).toEqual([changed])
    expect(subscriptions.take(event(2))).not.toBeNull()
    expect(subscriptions.take(event(3))).not.toBeNull()
  })

  test('before the first message waits for it, so that an event between the two commands is not lost', async () => {
    await using api = await startApi({ count: 5 })
    /** Changes the filter when the bridge has answered the first command, and before its first resume point arrives. */
    class Early extends WebSocket {
      constructor(url: string, protocols: string[]) {
        super(url, protocols)
        let hasChanged = false
        this.addEventListener('message', ({ data }) => {
          if (hasChanged || !`${data}`.includes('"type":"subscribed"')) return
          hasChanged = true
          api.store.grow(1)
          client.stream.subscribe({ filter: { types: ['published'] } })
        })
      }
    }
    const client = follow(api, { WebSocket: Early })
    await until(() => client.stream.state === 'live')
    api.store.grow(1)
    await until(() => sequences(client).includes(7))
    expect(sequences(client)).toEqual([6, 7])
    client.stream.close()
    await client.ended
  })

  test('with a start of its own begins there, with events that came before too', async () => {
    await using api = await startApi({ count: 9 })
    const client = follow(api, { from: 'earliest' })
    await client.next('live')
    client.stream.subscribe({ from: { tail: 2 } })
    await client.next('live', 2)
    expect(sequences(client)).toEqual([...range(1, 9), 8, 9])
    client.stream.close()
    await client.ended
  })
})

describe('an AbortSignal', () => {
  test('ends the stream as close does, also before it has begun, and leaves no listener', async () => {
    await using api = await startApi({ count: 3 })
    const abort = new AbortController()
    const client = follow(api, { from: 'earliest', signal: abort.signal })
    await client.next('live')
    abort.abort()
    expect(await client.ended).toBeNull()
    expect(client.stream.state).toBe('closed')
    const late = follow(api, { from: 'earliest', signal: abort.signal })
    expect(await late.ended).toBeNull()
    expect(late.messages).toEqual([])
  })
})
