/** Tests attempts over a kept connection that its receiver ends at the moment when the request leaves. */
import { connect, createServer, type Server, Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { addressRules } from '../../../src/webhooks/address/rules.ts'
import { isSent } from '../../../src/webhooks/send/attempt.ts'
import { until } from '../../support/http/api-server.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'
import { createTrial, type Trial } from '../attempts/attempts.ts'

const clock = createManualClock()
const ANSWER = 'HTTP/1.1 204 No Content\r\n\r\n'

let sender: Trial
let server: Server
/** Connections in the order in which they were opened. */
let sockets: Socket[]
/** How many requests were read. */
let requests: number

afterEach(async () => {
  await sender[Symbol.asyncDispose]()
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
})

/** A receiver on a real socket, and a first delivery to it, whose connection is kept. */
async function start(
  onRequest = (socket: Socket, _count: number): void => void socket.write(ANSWER),
  options: Parameters<typeof createTrial>[0] = {},
) {
  sender = createTrial({ clock, ...options })
  sockets = []
  requests = 0
  server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => {
      if (!bytes.includes('POST ')) return
      requests += 1
      onRequest(socket, requests)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.2', resolve))
  expect(await send()).toMatchObject({ end: { status: 204 } })
}

const lost = { kind: 'failed', fault: 'connect' }
/** The request that is about to leave is asked for its permit the second time. */
const AT_THE_LAST_MOMENT = 2

/** Sends, with a permit for so many of the times that it is asked for. */
function send({ isEnded = false, permits = 9 } = {}) {
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : null
  let asked = 0
  const mayLeave = (): boolean => {
    asked += 1
    if (isEnded && asked === AT_THE_LAST_MOMENT) sockets[0]?.destroy()
    return asked <= permits
  }
  return sender.send(`http://hooks.example:${port}/in`, { mayLeave })
}

test('a request that is lost with a connection which had idled for a second arrives over a new one, in the same attempt', async () => {
  await start()
  clock.advance(1_000)
  expect(await send({ isEnded: true })).toMatchObject({ end: { kind: 'answered', status: 204 } })
  expect([sockets.length, requests]).toEqual([2, 2])
})

test('one that is lost with a connection in steady use is a failed attempt', async () => {
  await start()
  clock.advance(999)
  expect(await send({ isEnded: true })).toMatchObject({ end: lost, phase: 'head' })
  expect([sockets.length, requests]).toEqual([1, 1])
})

test('it is sent once more at most', async () => {
  await start((socket, count) => void (count === 1 ? socket.write(ANSWER) : socket.destroy()))
  clock.advance(1_000)
  expect(await send({ isEnded: true })).toMatchObject({ end: lost, phase: 'head' })
  expect([sockets.length, requests]).toEqual([2, 2])
})

test('it is not sent once more where it may not leave any more', async () => {
  await start()
  clock.advance(1_000)
  const report = await send({ isEnded: true, permits: AT_THE_LAST_MOMENT })
  expect(report).toMatchObject({ end: lost, phase: 'head' })
  expect([sockets.length, requests]).toEqual([1, 1])
})

test.each([
  [999, 3],
  [1_000, 2],
])(
  'one whose connection ends %i ms after it was read makes %i requests with the first',
  async (afterMs, count) => {
    await start((socket, number) => {
      if (number !== 2) return void socket.write(ANSWER)
      clock.advance(afterMs)
      socket.destroy()
    })
    clock.advance(1_000)
    await send()
    expect(requests).toBe(count)
  },
)

const noSocketLeft = Object.assign(new Error('EMFILE'), { code: 'EMFILE' })

test.each([
  ['refused', () => connect(1, '127.0.0.2'), 0],
  ['not made for want of open files', () => new Socket().destroy(noSocketLeft), 0],
  ['never made', () => new Socket(), 5_000],
])('where the new connection is %s, the request that has left counts', async (_what, dialAgain, waitsMs) => {
  const dialled: string[] = []
  await start(undefined, {
    dial: (address, port) => (dialled.push(address) === 1 ? connect(port, address) : dialAgain()),
  })
  clock.advance(1_000)
  const sent = send({ isEnded: true })
  await until(() => dialled.length === 2)
  clock.advance(waitsMs)
  const report = await sent
  expect(report).toMatchObject({ end: lost, phase: 'head' })
  expect(isSent(report)).toBe(true)
})

test('the new connection to the first of two addresses has its share of the time, not all', async () => {
  const dialled: string[] = []
  await start(undefined, {
    rules: addressRules({ allowNets: ['127.0.0.0/8'], allowHttp: true, ports: [443] }),
    answers: [['127.0.0.2', '127.0.0.4']],
    dial: (address, port) => (dialled.push(address) === 1 ? connect(port, address) : new Socket()),
  })
  clock.advance(1_000)
  const sent = send({ isEnded: true })
  await until(() => dialled.length === 2)
  clock.advance(2_500)
  expect(await sent).toMatchObject({ end: lost, phase: 'head', durationMs: 2_500 })
})

test('one that was answered with a byte is not sent once more', async () => {
  await start((socket, count) => void (count === 1 ? socket.write(ANSWER) : socket.end('HTTP/1.1 2')))
  clock.advance(1_000)
  expect(await send()).toMatchObject({ end: { kind: 'failed', fault: 'broken' } })
  expect([sockets.length, requests]).toEqual([1, 2])
})

test('a connection that was opened anew since it idled is not one that idled', async () => {
  await start((socket, count) => {
    if (count === 1) socket.end(`HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n`)
    else socket.destroy()
  })
  clock.advance(1_000)
  expect(await send()).toMatchObject({ end: lost, phase: 'head' })
  expect([sockets.length, requests]).toEqual([2, 2])
})
