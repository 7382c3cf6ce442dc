/** Tests the client against the real server, with Node's own WebSocket. */
import { describe, expect, test } from 'vitest'
import { type ConnectOptions, connect } from '../../../clients/typescript/src/stream.ts'
import { encodeCursor } from '../../../src/core/cursor.ts'
import { type ApiServer, startApi, TOKEN, until } from '../../support/http/api-server.ts'
import { EPOCH } from '../../support/store.ts'
import { type Followed, followed } from '../../support/streams/followed.ts'

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)
const cursorAt = (sequence: number, epoch = EPOCH) => encodeCursor({ epoch, sequence, timeMs: 0 })

function follow(api: ApiServer, options: Partial<ConnectOptions> = {}): Followed {
  return followed(connect({ url: api.url, token: TOKEN, ...options } as ConnectOptions))
}

describe('a stream of the client', () => {
  test('reports connected, returns past events, reports live, then returns new ones', async () => {
    await using api = await startApi({ count: 5 })
    const client = follow(api, { from: 'earliest' })
    expect(client.stream.state).toBe('connecting')
    await client.next('live')
    expect(client.stream.state).toBe('live')
    api.store.grow(2)
    await until(() => client.sequences().length === 7)
    expect(client.types()).toEqual([
      'connected',
      ...Array(5).fill('disclosure'),
      'live',
      'disclosure',
      'disclosure',
    ])
    expect(client.messages[0]).toEqual({ type: 'connected', epoch: EPOCH, oldest: 1, latest: 5 })
    expect(client.sequences()).toEqual(range(1, 7))
    client.stream.close()
    expect(await client.ended).toBeNull()
    expect(client.stream.state).toBe('closed')
  })

  test('starts live by default, with the filter, and from each supported start', async () => {
    await using api = await startApi({ count: 40 })
    const starts = [
      [{}, []],
      [{ from: { after: cursorAt(38) } }, [39, 40]],
      [{ from: { since: '2026-01-06T07:00:39Z' } }, [39, 40]],
      [{ from: { tail: 1 } }, [40]],
      [{ from: 'earliest', filter: { fcaCategories: ['FR'] } }, [10, 20, 30, 40]],
    ] as const
    for (const [options, wanted] of starts) {
      const client = follow(api, options)
      await client.next('live')
      expect(client.sequences()).toEqual(wanted)
      client.stream.close()
      await client.ended
    }
  })

  test('counts a message as processed when the next one is requested, and no earlier', async () => {
    await using api = await startApi({ count: 3 })
    const stream = connect({ url: api.url, token: TOKEN, from: 'earliest' })
    const cursors: (string | null)[] = []
    for await (const message of stream) {
      cursors.push(stream.cursor)
      if (message.type === 'disclosure' && Number(message.event.sequence) === 3) break
    }
    expect(cursors).toEqual([null, null, ...[1, 2].map((sequence) => api.store.reader.cursorAt(sequence))])
    expect(stream.cursor).toBe(api.store.reader.cursorAt(2))
    expect(stream.state).toBe('closed')
  })

  test('advances its resume point with heartbeats, past events outside a narrow filter', async () => {
    await using api = await startApi({ count: 5 })
    const client = follow(api, { filter: { q: 'nothing of the kind' } })
    await client.next('live')
    api.store.grow(4)
    await until(() => {
      api.clock.advance(15_000)
      return client.stream.cursor === api.store.reader.cursorAt(9)
    })
    expect(client.types().filter((type) => type === 'disclosure')).toEqual([])
    client.stream.close()
    await client.ended
  })
})

describe('an error that retrying cannot fix rejects with a readable message', () => {
  const failing: [string, Partial<ConnectOptions>, object][] = [
    ['a wrong token', { token: 'no token of ours' }, { code: 'unauthenticated', closeCode: 4001 }],
    [
      'a cursor that is too old',
      { from: { after: cursorAt(2) } },
      { code: 'cursor_too_old', closeCode: 4010, oldestCursor: expect.stringMatching(/^\S{39}$/) },
    ],
    ['a text that is no cursor', { from: { after: 'x' } }, { code: 'cursor_invalid', oldestCursor: null }],
    [
      'a wrong filter',
      { filter: { fcaCategory: ['FR'] } as object },
      { code: 'subscription_refused', message: expect.stringContaining('fcaCategories') },
    ],
    [
      'a wrong start',
      { from: { since: 'yesterday' } },
      { code: 'subscription_refused', message: expect.stringContaining('yesterday') },
    ],
    [
      'an unknown onGap',
      { onGap: 'latest' as 'earliest' },
      { code: 'subscription_refused', message: expect.stringContaining('onGap') },
    ],
  ]
  test.each(failing)('%s', async (_name, options, failure) => {
    await using api = await startApi({ count: 5, first: 11 })
    const client = follow(api, options)
    expect(await client.ended).toMatchObject(failure)
    expect(client.stream.state).toBe('closed')
  })

  test('a token without the scope, and one that has reached its connection limit', async () => {
    await using api = await startApi({ count: 5, maxPerToken: 1 })
    const make = async (scopes: string[]): Promise<string> => {
      const response = await fetch(`${api.url}/v1/tokens`, {
        method: 'POST',
        headers: { ...api.auth, 'content-type': 'application/json' },
        body: JSON.stringify({ tenant: 'desk', scopes }),
      })
      return ((await response.json()) as { token: string }).token
    }
    const narrow = follow(api, { token: await make(['webhooks:read']) })
    expect(await narrow.ended).toMatchObject({ code: 'forbidden', closeCode: 4003 })
    const token = await make(['events:read'])
    const first = follow(api, { token })
    await first.next('live')
    expect(await follow(api, { token }).ended).toMatchObject({
      code: 'too_many_connections',
      closeCode: 4006,
    })
    first.stream.close()
    await first.ended
  })

  test('with tickets: each connection uses one, and the page needs no token', async () => {
    await using api = await startApi({ count: 5 })
    let given = 0
    const ticket = async (): Promise<string> => {
      given += 1
      const response = await fetch(`${api.url}/v1/tickets`, { method: 'POST', headers: api.auth })
      return ((await response.json()) as { ticket: string }).ticket
    }
    const client = followed(connect({ url: api.url, ticket, from: 'earliest' }))
    await client.next('live')
    expect(client.sequences()).toEqual(range(1, 5))
    client.stream.close()
    await client.ended
    const used = await ticket()
    const stale = followed(connect({ url: api.url, ticket: async () => used, chance: () => 0 }))
    await stale.next('live')
    stale.stream.close()
    await stale.ended
    const late = followed(connect({ url: api.url, ticket: async () => used, chance: () => 0 }))
    expect(await late.ended).toMatchObject({ code: 'unauthenticated', closeCode: 4001 })
    expect(late.types()).toEqual(['disconnected'])
    expect(given).toBe(2)
  })

  test('with onGap earliest an old cursor starts at the oldest event, after a gap', async () => {
    await using api = await startApi({ count: 5, first: 11 })
    const client = follow(api, { from: { after: cursorAt(2) }, onGap: 'earliest' })
    await client.next('live')
    expect(client.types()).toEqual(['connected', 'gap', ...Array(5).fill('disclosure'), 'live'])
    expect((await client.next('gap')).event.data.cause).toBe('retention')
    client.stream.close()
    await client.ended
  })

  test('a cursor of another epoch is reported before any repeated event', async () => {
    await using api = await startApi({ count: 5 })
    const timeMs = Date.parse('2026-01-06T07:00:05Z')
    const after = encodeCursor({ epoch: 'Epoch000', sequence: 77, timeMs })
    const client = follow(api, { from: { after } })
    await client.next('live')
    expect(client.types()).toEqual(['connected', 'gap', ...Array(5).fill('disclosure'), 'live'])
    expect((await client.next('gap')).event.data.cause).toBe('epoch')
    client.stream.close()
    await client.ended
  })
})

test('invalid options are refused at once', () => {
  const token = 'x'
  expect(() => connect({ url: 'bridge', token })).toThrow(TypeError)
  expect(() => connect({ url: 'ftp://a.test', token })).toThrow(/not an http, https, ws or wss/)
  expect(() => connect({ url: 'http://127.0.0.1:1' } as ConnectOptions)).toThrow(/token/)
})
