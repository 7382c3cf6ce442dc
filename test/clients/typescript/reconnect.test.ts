/** Tests how the client reconnects, against a scripted server and a clock that the test moves. */
import { describe, expect, test } from 'vitest'
import { WebSocket as PackageSocket } from 'ws'
import type { SocketConstructor } from '../../../clients/typescript/src/connection.ts'
import { type ConnectOptions, connect } from '../../../clients/typescript/src/stream.ts'
import { StreamFailure, TicketDelay } from '../../../clients/typescript/src/verdict.ts'
import { until } from '../../support/http/api-server.ts'
import { followed } from '../../support/streams/followed.ts'
import { type ScriptedStream, startScriptedStream } from '../../support/streams/scripted-stream.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

function eventOf(number: number, type = 'disclosure', data: object = {}): object {
  const sequence = String(number).padStart(20, '0')
  const event = { id: `urn:${number}`, cursor: `c${number}`, sequence, data }
  return { type, sent: '2026-06-01T06:00:00.000Z', event }
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)
const live = (cursor: string) => ({ type: 'live', cursor })

/** The client connected to the server; each delay is half of its limit. */
function follow(server: ScriptedStream, options: Partial<ConnectOptions> = {}) {
  const clock = createManualClock()
  const common = { url: server.url, token: 'secret', clock, chance: () => 0.5 }
  const client = followed(connect({ ...common, ...options } as ConnectOptions))
  let waits = 0
  return {
    ...client,
    clock,
    /** Lets the delay after the next end of a connection pass, and resolves with it. */
    async waitOver(): Promise<number | null> {
      waits += 1
      const { retryInMs } = await client.next('disconnected', waits)
      await until(() => client.stream.state === 'waiting')
      clock.advance(retryInMs ?? 0)
      return retryInMs
    },
    /** Closes the client and resolves when its loop has ended; no timer is left. */
    async over(): Promise<void> {
      client.stream.close()
      expect(await client.ended).toBeNull()
      await until(() => clock.nextTimerMs() === null)
    },
  }
}

/** A client that has two events and has reconnected. */
async function reconnected(server: ScriptedStream) {
  const client = follow(server)
  const first = await server.connection(1)
  await first.welcome()
  first.say(eventOf(1), eventOf(2))
  await until(() => client.sequences().length === 2)
  first.webSocket.terminate()
  await client.waitOver()
  const second = await server.connection(2)
  await second.welcome()
  return { client, second }
}

test('no more than eight commands are sent before the bridge has answered them, however late it does', async () => {
  await using server = await startScriptedStream()
  const ids = range(1, 16).map((id) => `${id}`)
  const subscriptions = Object.fromEntries(ids.map((id) => [id, {}]))
  const client = follow(server, { subscriptions })
  const first = await server.connection(1)
  await first.welcome()
  await until(() => first.heard.length === 8)
  first.say(...ids.slice(0, 6).map((id) => ({ type: 'subscribed', id })), { ...live('c1'), id: '1' })
  await client.next('live')
  client.clock.advance(5000)
  first.say({ type: 'subscribed', id: '7' })
  await until(() => client.clock.nextTimerMs() === 1100)
  expect(first.heard).toHaveLength(8)
  client.clock.advance(1100)
  await until(() => first.heard.length === 16)
  expect(first.heard.slice(1).map(({ id }) => id)).toEqual(ids.slice(0, 15))
  await client.over()
})

describe('a connection that ends is reopened', () => {
  test('with the token, the filter and the last cursor; repeated events are dropped', async () => {
    await using server = await startScriptedStream()
    const filter = { importance: 'high+' }
    const client = follow(server, { filter, from: { tail: 2 }, onGap: 'earliest' })
    const first = await server.connection(1)
    const asked = await first.welcome()
    expect(first.heard[0]).toEqual({ action: 'auth', token: 'secret' })
    expect(asked).toEqual({ action: 'subscribe', filter, from: { tail: 2 }, onGap: 'earliest' })
    first.say(eventOf(1), eventOf(2, 'gap'), { type: 'a kind of tomorrow' }, eventOf(3))
    await until(() => client.sequences().length === 3)
    first.webSocket.terminate()
    expect(await client.waitOver()).toBe(250)
    const second = await server.connection(2)
    expect(await second.welcome()).toMatchObject({ filter, from: { after: 'c3' } })
    second.say(eventOf(2, 'gap'), eventOf(3), eventOf(4), live('c4'))
    await client.next('live')
    expect(client.sequences()).toEqual([1, 2, 3, 4])
    expect(client.types()).toEqual([
      'connected',
      'disclosure',
      'gap',
      'disclosure',
      'disconnected',
      'connected',
      'disclosure',
      'live',
    ])
    await client.over()
  })

  test('after the gap that announces a new epoch; repeated items are dropped', async () => {
    await using server = await startScriptedStream()
    const { client, second } = await reconnected(server)
    second.say(eventOf(70, 'gap'), eventOf(1), eventOf(2))
    await until(() => client.sequences().length === 3)
    second.webSocket.terminate()
    await client.waitOver()
    const third = await server.connection(3)
    expect(await third.welcome()).toMatchObject({ from: { after: 'c2' } })
    third.say(eventOf(3), live('c3'))
    await client.next('live')
    expect(client.sequences()).toEqual([1, 2, 70, 3])
    await client.over()
  })

  test('and an id that a new epoch gives to other content is handed on', async () => {
    await using server = await startScriptedStream()
    const { client, second } = await reconnected(server)
    second.say(eventOf(70, 'gap'), eventOf(1), eventOf(2, 'disclosure', { headline: 'other' }), live('c2'))
    await client.next('live')
    expect(client.sequences()).toEqual([1, 2, 70, 2])
    await client.over()
  })

  test('at the time that the bridge asks for: after going_away no earlier and no later', async () => {
    await using server = await startScriptedStream()
    const client = follow(server)
    const first = await server.connection(1)
    await first.welcome()
    first.say(live('c1'), { type: 'going_away', reconnectInMs: 3210 })
    first.close(4200, 'this node stops')
    expect(await client.next('disconnected')).toMatchObject({
      closeCode: 4200,
      cause: 'going_away',
      why: expect.stringContaining('this node stops'),
      retryInMs: 3210,
    })
    client.clock.advance(3209)
    expect(client.stream.state).toBe('waiting')
    client.clock.advance(1)
    expect(await (await server.connection(2)).welcome()).toMatchObject({ from: { after: 'c1' } })
    await client.over()
  })

  test('with growing delays while it delivers nothing, and soon again once it has', async () => {
    await using server = await startScriptedStream()
    const client = follow(server)
    const waits: (number | null)[] = []
    for (const number of range(1, 8)) {
      const connection = await server.connection(number)
      if (number < 7) await connection.welcome()
      connection.webSocket.terminate()
      waits.push(await client.waitOver())
    }
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000])
    const useful = await server.connection(9)
    await useful.welcome()
    useful.say(live('c1'))
    await client.next('live')
    useful.close(4100)
    expect(await client.waitOver()).toBe(2000)
    ;(await server.connection(10)).close(4201)
    expect(await client.waitOver()).toBe(500)
    await client.over()
  })

  test('after two and a half heartbeats of silence, before hello too, and whatever else a server sends', async () => {
    await using server = await startScriptedStream()
    const client = follow(server)
    await server.connection(1)
    await until(() => client.clock.nextTimerMs() === 37_500)
    client.clock.advance(37_500)
    await client.waitOver()
    const second = await server.connection(2)
    await second.welcome(2000)
    client.clock.advance(4999)
    second.say({ type: 'heartbeat', cursor: 'c1', lastGoodPoll: null, phase: 'closed' })
    await client.next('heartbeat')
    client.clock.advance(4999)
    expect(server.count()).toBe(2)
    client.clock.advance(1)
    expect(await client.next('disconnected', 2)).toMatchObject({ cause: 'silent', why: 'silent for 5 s' })
    await client.waitOver()
    const third = await server.connection(3)
    await third.welcome()
    third.webSocket.send('<html>')
    expect(await client.next('disconnected', 3)).toMatchObject({
      cause: 'unreadable',
      why: expect.stringContaining('<html>'),
    })
    await client.over()
  })

  test('if nothing listens, with an error that names the possible cause', async () => {
    const client = await startScriptedStream().then(async (server) => {
      await server[Symbol.asyncDispose]()
      return follow(server)
    })
    expect(await client.next('disconnected')).toMatchObject({
      closeCode: 1006,
      cause: 'unreachable',
      why: expect.stringContaining('BRIDGE_CORS_ORIGINS'),
    })
    await client.over()
  })
})

describe('a connection that ends for good', () => {
  test.each([4000, 4001, 4003, 4006, 4010, 4099, 1003])('%i is not reopened', async (code) => {
    await using server = await startScriptedStream()
    const client = follow(server)
    const first = await server.connection(1)
    await first.welcome()
    first.say(eventOf(1), { type: 'error', code: 402, name: 'x', detail: 'in words' })
    first.close(code, 'briefly')
    expect(await client.ended).toMatchObject({ closeCode: code, message: 'in words' })
    expect(client.sequences()).toEqual([1])
    expect(client.clock.nextTimerMs()).toBeNull()
  })
})

describe('tickets', () => {
  test('each connection has its own, in the URL, and none sends a token', async () => {
    await using server = await startScriptedStream()
    let got = 0
    const ticket = async (): Promise<string> => {
      got += 1
      if (got === 2) throw new Error('the desk is asleep')
      return `t ${got}`
    }
    const client = follow(server, { token: undefined, ticket } as Partial<ConnectOptions>)
    const first = await server.connection(1)
    expect(first.path).toBe('/v1/stream?ticket=t+1')
    await first.welcome()
    expect(first.heard.map(({ action }) => action)).toEqual(['subscribe'])
    first.webSocket.terminate()
    await client.waitOver()
    expect((await client.next('disconnected', 2)).why).toBe('no ticket: the desk is asleep')
    await client.waitOver()
    expect((await server.connection(2)).path).toBe('/v1/stream?ticket=t+3')
    await client.over()
  })

  test('a ticket that is to be had later is fetched no sooner', async () => {
    await using server = await startScriptedStream()
    let asked = 0
    const ticket = async (): Promise<string> => {
      asked += 1
      if (asked === 1) throw new TicketDelay('too many requests', 45_000)
      return 't'
    }
    const client = follow(server, { token: undefined, ticket } as Partial<ConnectOptions>)
    const end = await client.next('disconnected', 1)
    expect(end).toMatchObject({ why: 'no ticket: too many requests', retryInMs: 45_000 })
    client.clock.advance(44_999)
    expect(asked).toBe(1)
    client.clock.advance(1)
    expect((await server.connection(1)).path).toBe('/v1/stream?ticket=t')
    await client.over()
  })

  test('an expired ticket is replaced by a new one; the second refused in a row ends the stream', async () => {
    await using server = await startScriptedStream()
    const client = follow(server, { token: undefined, ticket: async () => 't' } as Partial<ConnectOptions>)
    ;(await server.connection(1)).close(4001, 'too late')
    await client.waitOver()
    ;(await server.connection(2)).close(4001, 'too late')
    expect(await client.ended).toMatchObject({ code: 'unauthenticated' })
  })

  test('a ticket request that hangs is cancelled, and the ticket function can end the stream', async () => {
    await using server = await startScriptedStream()
    let asked = 0
    const ticket = (): Promise<string> => {
      asked += 1
      if (asked === 1) return new Promise(() => {})
      throw new StreamFailure('forbidden', 'you have left the house')
    }
    const client = follow(server, { token: undefined, ticket } as Partial<ConnectOptions>)
    await until(() => client.clock.nextTimerMs() === 30_000)
    client.clock.advance(30_000)
    await client.waitOver()
    expect(await client.ended).toMatchObject({ code: 'forbidden', message: 'you have left the house' })
    expect(server.count()).toBe(0)
  })
})

describe('a reader slower than the stream', () => {
  test.each([
    ['the platform’s WebSocket', {}],
    ['that of a package', { WebSocket: PackageSocket as unknown as SocketConstructor }],
  ])(
    'never has more than the limit buffered, on %s: the stream waits, nothing is lost',
    async (_whose, own) => {
      await using server = await startScriptedStream()
      const clock = createManualClock()
      const options = { url: server.url, token: 'x', from: 'earliest', bufferChars: 2000, clock } as const
      const stream = connect({ ...options, ...own })
      const first = await server.connection(1)
      await first.welcome()
      first.say(...range(1, 100).map((number) => eventOf(number)))
      await until(() => stream.state === 'paused')
      expect(server.count()).toBe(1)
      const got: number[] = []
      const types: string[] = []
      const reading = (async () => {
        for await (const message of stream) {
          types.push(message.type)
          if ('event' in message) got.push(Number(message.event.sequence))
        }
      })()
      const second = await server.connection(2)
      const { from } = await second.welcome()
      const { after } = from as { after: string }
      const reached = Number(after.slice(1))
      expect(reached).toBeGreaterThan(10)
      expect(reached).toBeLessThan(30)
      second.say(...range(reached + 1, reached + 5).map((number) => eventOf(number)), live('end'))
      await until(() => types.includes('live'))
      expect(got).toEqual(range(1, reached + 5))
      expect(types.filter((type) => type === 'disconnected')).toHaveLength(1)
      stream.close()
      await reading
      expect(clock.nextTimerMs()).toBeNull()
    },
  )

  test('has no more than the limit buffered through an outage during which it does not read', async () => {
    await using server = await startScriptedStream()
    const clock = createManualClock()
    const chance = (): number => 0
    const stream = connect({ url: server.url, token: 'x', bufferChars: 1000, clock, chance })
    for (let number = 1; stream.state !== 'paused'; number++) {
      ;(await server.connection(number)).webSocket.terminate()
      await until(() => stream.state === 'waiting' || stream.state === 'paused')
      clock.advance(0)
    }
    // The fifth message of 200 characters fills the buffer; the current connection still ends normally.
    expect(server.count()).toBe(6)
    expect(clock.nextTimerMs()).toBeNull()
    stream.close()
  })
})
