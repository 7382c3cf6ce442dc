import { expect, test } from 'vitest'
import { type ConsumersPage, consumersRoute } from '../../../src/api/operations/consumers-route.ts'
import { BridgeError } from '../../../src/errors.ts'
import { createApp } from '../../../src/http/app.ts'
import { adminAuthenticate } from '../../../src/http/auth.ts'
import { listen } from '../../../src/http/listener.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import type { ConsumerGroups, ConsumerPage } from '../../../src/log/consumers.ts'
import { until } from '../../support/http/api-server.ts'
import { knows } from '../../support/http/callers.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'

type List = (page: ConsumerPage, signal: AbortSignal) => Promise<ConsumerGroups>

/** A server of the route over a log that lists groups so; undefined: one that has none. */
async function serve(consumers?: List) {
  const { logger, lines } = keepingLogger()
  const app = createApp({
    routes: [consumersRoute(consumers === undefined ? {} : { consumers })],
    authenticate: adminAuthenticate('operator', knows({ tenant: { scopes: ['admin'] }, reader: {} })),
    corsOrigins: [],
    logger,
  })
  const listener = await listen(app, { host: '127.0.0.1', port: 0, setting: 'X', clock: systemClock, logger })
  return {
    lines,
    async page(query = '', token = 'operator', signal?: AbortSignal) {
      const headers = { authorization: `Bearer ${token}` }
      const response = await fetch(`${listener.url}/v1/consumers${query}`, {
        headers,
        ...(signal && { signal }),
      })
      return { ...((await response.json()) as ConsumersPage), status: response.status }
    },
    [Symbol.asyncDispose]: () => listener.close(0),
  }
}

const NOTHING: ConsumerGroups = { groups: [], next: null, incomplete: null }

test('a group has the lags of its topics, their sum and the longest of them; what is unknown stays unknown', async () => {
  const asked: ConsumerPage[] = []
  await using server = await serve(async (page) => {
    asked.push(page)
    return {
      groups: [
        {
          ...{ group: 'desk', state: 'stable', members: 2 },
          topics: [
            { topic: 'p.all', events: 12, ms: 1500 },
            { topic: 'p.fca.FR', events: 3, ms: 90_000 },
          ],
        },
        {
          ...{ group: 'other', state: null, members: null },
          topics: [
            { topic: 'p.all', events: 0, ms: 0 },
            { topic: 'p.gaps', events: null, ms: null },
          ],
        },
      ],
      next: 'other',
      incomplete: 'Groups may be missing.',
    }
  })
  expect(await server.page('?after=a%20group&limit=2')).toEqual({
    status: 200,
    reason: 'Groups may be missing.',
    next: 'other',
    data: [
      {
        ...{ group: 'desk', state: 'stable', members: 2, lagEvents: 15, lagSeconds: 90 },
        topics: [
          { topic: 'p.all', lagEvents: 12, lagSeconds: 1.5 },
          { topic: 'p.fca.FR', lagEvents: 3, lagSeconds: 90 },
        ],
      },
      {
        ...{ group: 'other', state: null, members: null, lagEvents: null, lagSeconds: null },
        topics: [
          { topic: 'p.all', lagEvents: 0, lagSeconds: 0 },
          { topic: 'p.gaps', lagEvents: null, lagSeconds: null },
        ],
      },
    ],
  })
  expect(asked).toEqual([{ after: 'a group', limit: 2 }])
})

test('the embedded log has none, and says why', async () => {
  await using server = await serve()
  expect(await server.page()).toEqual({
    status: 200,
    data: [],
    next: null,
    reason: 'The log is embedded: there are no topics, and so no consumer groups.',
  })
})

test('only the operator sees groups: they are of no tenant', async () => {
  await using server = await serve(() => Promise.reject(new Error('nobody may ask Kafka')))
  expect(await server.page('', 'tenant')).toMatchObject({
    status: 200,
    data: [],
    reason: expect.stringContaining('BRIDGE_ADMIN_TOKEN'),
  })
  expect((await server.page('', 'reader')).status).toBe(403)
})

test('while Kafka is away the answer is 503, and nothing is logged as a fault of ours', async () => {
  await using server = await serve(() => Promise.reject(new BridgeError('log_unavailable', 'of this test')))
  expect((await server.page()).status).toBe(503)
  expect(server.lines).toEqual([])
})

test('Kafka is asked for one page at a time, and no longer for a client that has gone', async () => {
  let running = 0
  let most = 0
  const waiting: (() => void)[] = []
  await using server = await serve(async (_page, signal) => {
    signal.throwIfAborted()
    running += 1
    most = Math.max(most, running)
    await new Promise<void>((resolve, reject) => {
      waiting.push(resolve)
      signal.addEventListener('abort', () => reject(signal.reason))
    }).finally(() => {
      running -= 1
    })
    return NOTHING
  })
  const leaves = new AbortController()
  const gone = server.page('', 'operator', leaves.signal).catch((error: Error) => error.name)
  await until(() => waiting.length === 1)
  const others = [server.page(), server.page()]
  // By the time that later requests are answered, these have arrived.
  for (let later = 0; later < 5; later += 1) await server.page('', 'reader')
  expect(running).toBe(1)
  leaves.abort()
  expect(await gone).toBe('AbortError')
  await until(() => waiting.length === 2)
  expect(running).toBe(1)
  waiting[1]?.()
  await until(() => waiting.length === 3)
  waiting[2]?.()
  expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200])
  expect([most, server.lines]).toEqual([1, []])
})
