/** Tests that a refused client that still sends its body sees the answer, never a reset, wherever it is refused. */
import { expect, onTestFinished, test, vi } from 'vitest'
import type { MirrorRoute } from '../../src/api/mirror/route.ts'
import { bridgeMirror } from '../../src/api/routes/mirror-router.ts'
import { createApp } from '../../src/http/app.ts'
import { clientAddress } from '../../src/http/bounds/remote-address.ts'
import { BURST_SECONDS } from '../../src/http/bounds/request-rate.ts'
import { SendBuffers } from '../../src/http/bounds/send-buffers.ts'
import { MAX_HEADER_BYTES } from '../../src/http/limits.ts'
import { type Listener, listen } from '../../src/http/listener.ts'
import { RateLimits } from '../../src/http/rate-limits.ts'
import { type OpenCall, sendJson } from '../../src/http/route.ts'
import { anyObject } from '../../src/http/schemas/json-schema.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createManualClock } from '../support/time/manual-clock.ts'
import { collectRaw } from './raw.ts'

/** Larger than what the sockets of either side hold. */
const BODY = Buffer.alloc(8_000_000)

/** A second, the default, is too short beside other tests. */
const SLOW_MACHINE = { timeout: 30_000 }

const mirrored = ['/items', '/items/:id'].map(
  (path): MirrorRoute => ({
    ...{ path, key: 'none', summary: '', parameters: {}, schema: anyObject },
    answer: () => '{}',
  }),
)

interface Server extends Listener {
  /** Whether `/slow` was asked for, which answers after `finish`. */
  isAsked: () => boolean
  finish: () => void
}

/** A server with one route and a mirror. `spent`: its rate of requests is. */
async function start({ spent = false } = {}): Promise<Server> {
  const { logger } = keepingLogger()
  const finished = Promise.withResolvers<void>()
  let isAsked = false
  const clock = createManualClock()
  const authenticate = () => 'unknown' as const
  const rates = new RateLimits({
    ...{ perToken: null, perAddress: 1, clock },
    addressOf: (request) => clientAddress(request, []),
    onRefused: () => {},
  })
  const mirror = bridgeMirror({
    routes: mirrored,
    authenticate,
    rates,
    sendBuffers: new SendBuffers(),
    logger,
  })
  const app = createApp({
    routes: [
      {
        ...{ method: 'GET', path: '/slow', scope: 'open', summary: '', parameters: {}, answers: {} },
        async handle({ response }: OpenCall) {
          isAsked = true
          await finished.promise
          sendJson(response, 200, Buffer.from('{}'))
        },
      },
    ],
    ...{ authenticate, rates, logger, corsOrigins: [] },
    mounts: [{ prefix: '/v2', handler: mirror }],
  })
  const listener = await listen(app, { host: '127.0.0.1', port: 0, setting: 'X', clock: systemClock, logger })
  onTestFinished(() => listener.close(0))
  if (spent) for (let count = 0; count < BURST_SECONDS; count += 1) await fetch(`${listener.url}/nothing`)
  return { ...listener, isAsked: () => isAsked, finish: () => finished.resolve() }
}

/** Sends the body once the answer is there, after `onAnswer`; gives all that came, after the end of the connection. */
async function sendsAfterAnswer(
  { port }: Listener,
  head: string,
  status: number,
  onAnswer = () => {},
): Promise<string> {
  const client = collectRaw(port, `${head}\r\nContent-Length: ${BODY.length}\r\n\r\n`)
  const errors: unknown[] = []
  client.socket.on('error', (error) => errors.push(error))
  await vi.waitFor(
    () => expect(client.text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*\\r\\n\\r\\n.`, 's')),
    SLOW_MACHINE,
  )
  onAnswer()
  const written = Promise.withResolvers<unknown>()
  client.socket.write(BODY, written.resolve)
  expect(await written.promise).toBeFalsy()
  await vi.waitFor(() => expect(client.isOver).toBe(true), SLOW_MACHINE)
  expect(errors).toEqual([])
  return client.text
}

const CLOSE = 'Host: x\r\nConnection: close'

test.each([
  ['its rate, with a connection that ends', 429, 'POST', '/nothing', 'Host: x', true],
  ['its rate below /v2', 429, 'GET', '/v2/items', 'Host: x', true],
  ['an unknown path', 404, 'POST', '/nothing', CLOSE, false],
  ['a method that /v2 does not have', 405, 'POST', '/v2/items', CLOSE, false],
  ['a path that /v2 does not have', 404, 'POST', '/v2/nothing', CLOSE, false],
  ['a path below /v2 that cannot be decoded', 400, 'POST', '/v2/items/%ff', CLOSE, false],
  ['a body that /v2 does not take', 413, 'GET', '/v2/items', CLOSE, false],
  ['two headers Host', 400, 'POST', '/', 'Host: x\r\nHost: y', false],
  ['no header Host', 400, 'POST', '/', 'Accept: */*', false],
  ['large headers', 431, 'POST', '/', `Host: x\r\nX: ${'x'.repeat(MAX_HEADER_BYTES)}`, false],
])(
  'a client refused for %s that still sends its body sees the answer',
  async (_why, status, method, path, headers, spent) => {
    const text = await sendsAfterAnswer(
      await start({ spent }),
      `${method} ${path} HTTP/1.1\r\n${headers}`,
      status,
    )
    expect(text).toMatch(/^connection: close\r$/im)
    const [, length = '', body = ''] = /^content-length: (\d+)\r$.*?\r\n\r\n(.*)/ims.exec(text) ?? []
    expect(body).toHaveLength(Number(length))
    expect(JSON.parse(body)).toBeInstanceOf(Object)
  },
)

test('so does a client that a stopping node refuses', async () => {
  const server = await start()
  const slow = collectRaw(server.port, 'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n')
  await vi.waitFor(() => expect(server.isAsked()).toBe(true), SLOW_MACHINE)
  const closed = server.close(60_000)
  const text = await sendsAfterAnswer(server, 'POST / HTTP/1.1\r\nHost: x', 503, server.finish)
  expect(text).toMatch(/this node is stopping/)
  await closed
  expect(slow.text).toMatch(/^HTTP\/1\.1 200/)
})
