import { expect, onTestFinished, test, vi } from 'vitest'
import type { MirrorRoute } from '../../src/api/mirror/route.ts'
import { bridgeMirror } from '../../src/api/routes/mirror-router.ts'
import { createApp } from '../../src/http/app.ts'
import { adminAuthenticate } from '../../src/http/auth.ts'
import { clientAddress } from '../../src/http/bounds/remote-address.ts'
import { BURST_SECONDS } from '../../src/http/bounds/request-rate.ts'
import { SendBuffers } from '../../src/http/bounds/send-buffers.ts'
import { listen } from '../../src/http/listener.ts'
import { RateLimits } from '../../src/http/rate-limits.ts'
import { type AnyRoute, sendJson } from '../../src/http/route.ts'
import { anyObject } from '../../src/http/schemas/json-schema.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { knows } from '../support/http/callers.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createManualClock } from '../support/time/manual-clock.ts'
import { collectRaw, raw } from './raw.ts'

const ADMIN = 'the token of the settings'
const authenticate = adminAuthenticate(ADMIN, knows({ one: {}, two: {} }))
const facts = { method: 'GET', summary: '', parameters: {}, answers: {} } as const
const routes: AnyRoute[] = [
  {
    ...facts,
    path: '/open',
    scope: 'open',
    handle: async ({ response }) => sendJson(response, 200, Buffer.from('{}')),
  },
  {
    ...facts,
    path: '/closed',
    scope: 'events:read',
    handle: async ({ response }) => sendJson(response, 200, Buffer.from('{}')),
  },
]
const mirrored: MirrorRoute[] = [
  { path: '/items', key: 'none', summary: '', parameters: {}, schema: anyObject, answer: () => '{}' },
]

/** A server whose rates are so small that a burst is twenty or forty requests; the clock stands still. */
async function start(perToken: number | null, perAddress: number | null) {
  const clock = createManualClock()
  const { logger } = keepingLogger()
  const refused: string[] = []
  const rates = new RateLimits({
    ...{ perToken, perAddress, clock },
    addressOf: (request) => clientAddress(request, []),
    onRefused: (cause) => refused.push(cause),
  })
  const mirror = bridgeMirror({
    routes: mirrored,
    authenticate,
    rates,
    sendBuffers: new SendBuffers(),
    logger,
  })
  const app = createApp({
    ...{ routes, authenticate, rates, logger },
    mounts: [{ prefix: '/v2', handler: mirror }],
    corsOrigins: ['https://desk.example'],
  })
  const listener = await listen(app, { host: '127.0.0.1', port: 0, setting: 'X', clock: systemClock, logger })
  onTestFinished(() => listener.close(0))
  const ask = (path: string, token?: string) =>
    fetch(`${listener.url}${path}`, {
      headers: {
        origin: 'https://desk.example',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}`, 'x-api-key': token }),
      },
    })
  return { ask, clock, refused, port: listener.port }
}

test('a token that sends more than its rate gets 429 with Retry-After and RateLimit headers, others do not', async () => {
  const { ask, clock, refused } = await start(1, null)
  for (let left = BURST_SECONDS - 1; left >= 0; left -= 1) {
    const { status, headers } = await ask('/closed', 'one')
    expect([status, headers.get('ratelimit-limit'), headers.get('ratelimit-remaining')]).toEqual([
      200,
      '20',
      String(left),
    ])
  }
  const answer = await ask('/closed', 'one')
  expect(answer.status).toBe(429)
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'retry-after': '1',
    'ratelimit-limit': '20',
    'ratelimit-remaining': '0',
    'ratelimit-reset': '20',
    'ratelimit-policy': '20;w=20',
    'access-control-expose-headers': expect.stringContaining('RateLimit-Remaining'),
  })
  expect(await answer.json()).toMatchObject({
    code: 'rate_limited',
    detail: 'this token sends more than 1 requests a second',
  })
  expect((await ask('/closed', 'two')).status).toBe(200)
  expect((await ask('/open', 'one')).status).toBe(200)
  clock.advance(1000)
  expect((await ask('/closed', 'one')).status).toBe(200)
  expect(refused).toEqual(['token_rate'])
})

test('the token of the settings has no rate of its own', async () => {
  const { ask } = await start(1, null)
  for (let count = 0; count <= BURST_SECONDS; count += 1) {
    const { status, headers } = await ask('/closed', ADMIN)
    expect([status, headers.get('ratelimit-limit')]).toEqual([200, null])
  }
})

test.each([
  ['an open path', '/open', undefined, 200],
  ['a path that needs a token, without one', '/closed', undefined, 401],
  ['a path that needs a token, with a wrong one', '/closed', 'wrong', 401],
  ['a path that does not exist', '/nothing', undefined, 404],
  ['a path with a token', '/closed', ADMIN, 200],
])('an address has its rate on %s', async (_what, path, token, status) => {
  const { ask, refused } = await start(null, 1)
  for (let count = 0; count < BURST_SECONDS; count += 1) expect((await ask(path, token)).status).toBe(status)
  const answer = await ask(path, token)
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '1'])
  expect(await answer.json()).toMatchObject({ code: 'rate_limited' })
  expect(refused).toEqual(['address_rate'])
})

test.each([
  ['a token', '/closed', 1, null],
  ['an address', '/open', null, 1],
  ['an address below /v2', '/v2/items', null, 1],
])(
  'a connection whose first request is one too many of %s ends, another stays open',
  async (_what, path, perToken, perAddress) => {
    const { ask, port } = await start(perToken, perAddress)
    const request = `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer one\r\n\r\n`
    const served = collectRaw(port, request)
    const statuses = () => served.text.match(/HTTP\/1\.1 \d+/g)
    await vi.waitFor(() => expect(statuses()).toEqual(['HTTP/1.1 200']), { timeout: 30_000 })
    for (let count = 1; count < BURST_SECONDS; count += 1) expect((await ask(path, 'one')).status).toBe(200)
    served.socket.write(request)
    await vi.waitFor(() => expect(statuses()).toEqual(['HTTP/1.1 200', 'HTTP/1.1 429']), { timeout: 30_000 })
    expect(served.text).not.toMatch(/^connection: close\r$/im)
    expect((await raw(port, request)).headers).toMatchObject({ connection: 'close', 'retry-after': '1' })
  },
)

test('below /v2 the rates of address and key hold too, with the error body of the upstream', async () => {
  const { ask } = await start(null, 1)
  for (let count = 0; count < BURST_SECONDS; count += 1) expect((await ask('/v2/items')).status).toBe(200)
  const answer = await ask('/v2/items')
  expect([
    answer.status,
    answer.headers.get('retry-after'),
    answer.headers.get('ratelimit-remaining'),
  ]).toEqual([429, '1', '0'])
  expect(await answer.json()).toEqual({
    error: { message: 'your address sends more than 1 requests a second', hint: expect.any(String) },
  })
})
