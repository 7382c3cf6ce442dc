import { connect, Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import { addressRules } from '../../../src/webhooks/address/rules.ts'
import { createTestAuthority } from '../../support/test-certificates.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'
import { createTrial, type Trial } from '../attempts/attempts.ts'
import { answering, type Receiver, startRawReceiver, startReceiver } from '../receivers.ts'

const open: AsyncDisposable[] = []
const HEAD = 'HTTP/1.1 200 OK\r\n'

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

function keep<T extends AsyncDisposable>(one: T): T {
  open.push(one)
  return one
}

async function receiver(...args: Parameters<typeof startReceiver>): Promise<Receiver> {
  return keep(await startReceiver(...args))
}

async function rawReceiver(onSocket: Parameters<typeof startRawReceiver>[0]): Promise<Receiver> {
  return keep(await startRawReceiver(onSocket))
}

function trial(options?: Parameters<typeof createTrial>[0]): Trial {
  return keep(createTrial(options))
}

const hook = ({ port }: Receiver): string => `http://hooks.example:${port}/in?x=1`

/** One attempt to a receiver that writes these bytes, then closes, or leaves the connection open. */
async function against(bytes: string, after: 'end' | 'hang' = 'end') {
  const server = await rawReceiver((socket) => {
    socket.write(bytes)
    if (after === 'end') socket.end()
  })
  return trial().send(hook(server))
}

/** Resolves once the condition holds. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}

test('a delivery arrives unchanged: method, path, host, headers, body', async () => {
  const server = await receiver(answering(202, 'thanks'))
  const report = await trial().send(hook(server), { body: '{"id":"ü"}', headers: { 'webhook-id': 'msg_1' } })
  expect(report).toMatchObject({
    end: { kind: 'answered', status: 202, retryAfter: null },
    phase: 'body',
    response: null,
    detail: null,
  })
  const [{ request, body } = expect.fail('nothing arrived')] = server.requests
  expect([request.method, request.url, request.headers.host]).toEqual([
    'POST',
    '/in?x=1',
    `hooks.example:${server.port}`,
  ])
  expect(request.headers).toMatchObject({ 'webhook-id': 'msg_1', 'content-length': '11' })
  expect(body).toBe('{"id":"ü"}')
})

test('a connection is kept for the next attempt, and closes after four idle seconds', async () => {
  const clock = createManualClock()
  const server = await receiver(answering(204))
  const sender = trial({ clock })
  for (let at = 0; at < 3; at++) await sender.send(hook(server))
  expect([server.connections(), server.requests.length, sender.pools.size()]).toEqual([1, 3, 1])
  clock.advance(4_000)
  expect(sender.pools.size()).toBe(0)
  await until(() => server.open() === 0)
})

test('where there are as many connections as may be, a new one ends the one that has idled longest', async () => {
  const servers = [
    await receiver(answering(204)),
    await receiver(answering(204)),
    await receiver(answering(204)),
  ]
  const sender = trial({ mostConnections: 2 })
  for (const server of servers) await sender.send(hook(server))
  expect(sender.pools.size()).toBe(2)
  await until(() => servers[0]?.open() === 0)
  expect(servers.map((server) => server.open())).toEqual([0, 1, 1])
  for (const server of servers.slice(1)) await sender.send(hook(server))
  expect(servers.map((server) => server.connections())).toEqual([1, 1, 1])
})

test('a request that may not leave any more when its connection is there is not sent, and was no attempt', async () => {
  const server = await receiver(answering(204))
  let mayLeave = true
  const sender = trial({
    dial(host, port) {
      mayLeave = false
      return connect({ host, port })
    },
  })
  const { end, phase } = await sender.send(hook(server), { mayLeave: () => mayLeave })
  expect([end, phase, server.requests]).toEqual([{ kind: 'aborted' }, 'connect', []])
  expect((await sender.send(hook(server), { mayLeave: () => mayLeave })).end).toEqual({ kind: 'aborted' })
  expect(server.connections()).toBe(1)
})

test('a request that has left ends as it ends, though nothing may leave any more', async () => {
  let mayLeave = true
  const server = await receiver((...args) => {
    mayLeave = false
    answering(204)(...args)
  })
  const { end } = await trial().send(hook(server), { mayLeave: () => mayLeave })
  expect(end).toMatchObject({ status: 204 })
})

test('an attempt cancelled before it connected leaves nothing behind that another would wait for', async () => {
  const server = await receiver(answering(204))
  const dials: string[] = []
  const sender = trial({
    dial(address, port) {
      dials.push(address)
      return dials.length === 1 ? new Socket() : connect({ host: address, port })
    },
  })
  const stop = new AbortController()
  const first = sender.send(hook(server), { signal: stop.signal })
  await until(() => dials.length === 1)
  stop.abort()
  expect((await first).end).toEqual({ kind: 'aborted' })
  expect(await sender.send(hook(server))).toMatchObject({ end: { status: 204 } })
  expect([dials.length, server.requests.length]).toEqual([2, 1])
})

test('an attempt whose time ran out while the process was suspended sends nothing any more', async () => {
  const clock = createManualClock()
  const server = await receiver(answering(204))
  const sender = trial({
    clock,
    dial(address, port) {
      // No timer has fired yet.
      clock.set(clock.now() + 15_000)
      return connect({ host: address, port })
    },
  })
  expect(await sender.send(hook(server))).toMatchObject({ end: { kind: 'failed', fault: 'timeout' } })
  await until(() => server.open() === 0)
  expect([server.connections(), server.requests.length]).toEqual([1, 0])
})

test('a failure keeps the first 1 KB of the response body, and Retry-After', async () => {
  const server = await receiver(answering(503, 'é'.repeat(2000), { 'retry-after': '7' }))
  const report = await trial().send(hook(server))
  expect(report.end).toEqual({ kind: 'answered', status: 503, retryAfter: '7' })
  expect(report.response).toBe('é'.repeat(512))
})

test('a compressed response is never decompressed, so a bomb is only some bytes', async () => {
  const bomb = gzipSync(Buffer.alloc(20_000_000))
  const server = await receiver((response) => {
    response.writeHead(500, { 'content-encoding': 'gzip' }).end(bomb)
  })
  expect(await trial().send(hook(server))).toMatchObject({ end: { status: 500 }, response: null })
})

test('an endless response body is read to 16 KB, then the connection is closed', async () => {
  let written = 0
  const server = await receiver((response) => {
    const more = (): void => {
      let room = true
      while (!response.destroyed && room) {
        room = response.write(Buffer.alloc(65_536, 'x'))
        written += 65_536
      }
    }
    response.writeHead(500).on('drain', more)
    more()
  })
  const report = await trial().send(hook(server))
  expect(report).toMatchObject({ end: { status: 500 }, response: 'x'.repeat(1024) })
  await until(() => server.open() === 0)
  expect(written).toBeLessThan(16 * 1024 * 1024)
})

test.each([
  ['closes after the head', `${HEAD}content-length: 100\r\n\r\nab`, 200],
  ['answers 204 with a body', 'HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\nhello', 204],
  [
    'sends an informational response first',
    `HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${HEAD}content-length: 0\r\n\r\n`,
    200,
  ],
  ['has no length and closes', `${HEAD}\r\nwhatever`, 200],
  ['breaks its chunks', `${HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n`, 200],
  ['redirects', 'HTTP/1.1 307 Go\r\nlocation: http://127.0.0.1/\r\ncontent-length: 0\r\n\r\n', 307],
])('a receiver that %s has responded: its status counts', async (_what, bytes, status) => {
  expect((await against(bytes)).end).toMatchObject({ kind: 'answered', status })
})

test.each([
  ['floods 1xx', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(10_000), 'hang', 'broken'],
  ['sends 100 headers of 8 KB', `${HEAD}${`x: ${'y'.repeat(8192)}\r\n`.repeat(100)}\r\n`, 'hang', 'broken'],
  ['sends one header of 17 KB', `${HEAD}x: ${'y'.repeat(17_000)}\r\n\r\n`, 'hang', 'broken'],
  ['speaks no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n', 'hang', 'broken'],
  [
    'changes protocol',
    'HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    'hang',
    'broken',
  ],
  ['closes without a response', '', 'end', 'connect'],
] as const)(
  'a receiver that %s fails the attempt at once, and its connection is closed',
  async (_what, bytes, after, fault) => {
    const report = await against(bytes, after)
    expect(report.end).toEqual({ kind: 'failed', fault })
    expect(report.phase).toBe('head')
  },
)

test.each([
  ['never responds', '', 'head', 15_000],
  ['sends its headers byte by byte', 'HTTP/1.1 2', 'head', 15_000],
] as const)('a receiver that %s times out after 15 s of wall clock', async (_what, bytes, phase, limitMs) => {
  const clock = createManualClock()
  let isAsked = false
  const server = await rawReceiver((socket) => {
    socket.write(bytes)
    isAsked = true
  })
  const sender = trial({ clock })
  const sent = sender.send(hook(server))
  await until(() => isAsked)
  clock.advance(limitMs)
  expect(await sent).toMatchObject({ end: { kind: 'failed', fault: 'timeout' }, phase, durationMs: limitMs })
  await until(() => server.open() === 0)
})

test('a slow response body ends the connection after two seconds; the status counts', async () => {
  const clock = createManualClock()
  const server = await rawReceiver((socket) =>
    socket.write('HTTP/1.1 500 No\r\ncontent-length: 100\r\n\r\na'),
  )
  const sender = trial({ clock })
  const sent = sender.send(hook(server))
  await until(() => clock.nextTimerMs() === 2_000)
  clock.advance(2_000)
  expect(await sent).toMatchObject({ end: { status: 500 }, phase: 'body', response: 'a' })
  await until(() => server.open() === 0)
})

test('a name whose servers do not respond times out after five seconds; one that does not exist fails at once', async () => {
  const clock = createManualClock()
  const silent = trial({ clock, resolve: () => new Promise(() => {}) })
  const sent = silent.send('https://hooks.example/')
  clock.advance(5_000)
  expect(await sent).toMatchObject({ end: { kind: 'failed', fault: 'timeout' }, phase: 'dns' })
  const gone = trial({ resolve: () => Promise.reject(Object.assign(new Error('x'), { code: 'ENOTFOUND' })) })
  expect(await gone.send('https://hooks.example/')).toMatchObject({
    end: { kind: 'failed', fault: 'dns' },
    phase: 'dns',
    detail: 'ENOTFOUND',
  })
  expect((await trial({ answers: [[]] }).send('https://hooks.example/')).end).toEqual({
    kind: 'failed',
    fault: 'dns',
  })
})

test('a closed port is a connection failure; another address of the name is tried', async () => {
  const server = await receiver(answering(200))
  const rules = addressRules({ allowNets: ['127.0.0.0/8'], allowHttp: true, ports: [443] })
  const sender = trial({ rules, answers: [['127.0.0.4'], ['127.0.0.4', '127.0.0.2']] })
  expect(await sender.send(hook(server))).toMatchObject({
    end: { kind: 'failed', fault: 'connect' },
    phase: 'connect',
    detail: 'ECONNREFUSED',
  })
  expect((await sender.send(hook(server))).end).toMatchObject({ status: 200 })
})

test('a connection that opens after the attempt timed out carries no request', async () => {
  const clock = createManualClock()
  const server = await receiver(answering(200))
  const late: Socket[] = []
  const sender = trial({
    clock,
    dial: () => {
      const socket = new Socket()
      late.push(socket)
      return socket
    },
  })
  const stop = new AbortController()
  const sent = sender.send(hook(server), { signal: stop.signal })
  await until(() => late.length === 1)
  stop.abort()
  expect((await sent).end).toEqual({ kind: 'aborted' })
  late[0]?.connect(server.port, server.address)
  await until(() => server.connections() === 1 && server.open() === 0)
  expect(server.requests).toEqual([])
})

test('an address that does not accept connections leaves time for the next one', async () => {
  const clock = createManualClock()
  const server = await receiver(answering(200))
  const dialled: string[] = []
  const sender = trial({
    clock,
    rules: addressRules({ allowNets: ['127.0.0.0/8'], allowHttp: true, ports: [443] }),
    answers: [['127.0.0.4', '127.0.0.2']],
    dial: (address, port) => {
      dialled.push(address)
      return address === '127.0.0.4' ? new Socket() : connect(port, address)
    },
  })
  const sent = sender.send(hook(server))
  await until(() => dialled.length === 1)
  clock.advance(2_500)
  expect(await sent).toMatchObject({ end: { status: 200 }, durationMs: 2_500 })
})

test('the caller can cancel it: no outcome, and nothing is left open', async () => {
  const server = await rawReceiver(() => {})
  const stop = new AbortController()
  const sent = trial().send(hook(server), { signal: stop.signal })
  await until(() => server.open() === 1)
  stop.abort()
  expect((await sent).end).toEqual({ kind: 'aborted' })
  await until(() => server.open() === 0)
  expect((await trial().send(hook(server), { signal: stop.signal })).end).toEqual({ kind: 'aborted' })
})

test('over TLS the certificate must be valid, match the name, and come from a trusted authority', async () => {
  const authority = createTestAuthority()
  const dayMs = 86_400_000
  const expired = { fromMs: Date.now() - 9 * dayMs, toMs: Date.now() - dayMs }
  const cases = [
    ['good', authority.issue(['hooks.example']), authority.ca, null],
    ['expired', authority.issue(['hooks.example'], expired), authority.ca, 'CERT_HAS_EXPIRED'],
    ['wrong name', authority.issue(['other.example']), authority.ca, 'ERR_TLS_CERT_ALTNAME_INVALID'],
    [
      'unknown authority',
      createTestAuthority('x').issue(['hooks.example']),
      authority.ca,
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    ],
    ['nobody trusts it', authority.issue(['hooks.example']), null, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ] as const
  for (const [what, certificate, ca, code] of cases) {
    const server = await receiver(answering(200), { certificate })
    const report = await trial({ ca }).send(`https://hooks.example:${server.port}/`)
    if (code === null) expect(report.end, what).toMatchObject({ status: 200 })
    else expect(report, what).toMatchObject({ end: { fault: 'tls' }, phase: 'connect', detail: code })
    expect(server.requests.length, what).toBe(code === null ? 1 : 0)
  }
  const plain = await receiver(answering(200))
  const report = await trial().send(`https://hooks.example:${plain.port}/`)
  expect(report.end).toEqual({ kind: 'failed', fault: 'tls' })
})

test.each(['EMFILE', 'ENFILE', 'EADDRNOTAVAIL'])(
  'a machine that has no socket left (%s) blames no receiver',
  async (code) => {
    const dial = () => new Socket().destroy(Object.assign(new Error(code), { code }))
    const report = await trial({ dial }).send('http://hooks.example:443/in')
    expect([report.end, report.detail]).toEqual([{ kind: 'no_socket' }, code])
  },
)
