import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { expect, test } from 'vitest'
import { type Listener, listen } from '../../src/http/listener.ts'
import type { Upgrade } from '../../src/http/upgrade.ts'
import { until } from '../support/http/api-server.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createManualClock } from '../support/time/manual-clock.ts'
import { raw } from './raw.ts'

const REQUEST = 'GET /taken HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n'

/** A listener whose upgrades to `echo` stay open until the test closes them. */
async function start() {
  const clock = createManualClock()
  const taken: Duplex[] = []
  const answers: (() => void)[] = []
  const upgrade: Upgrade = {
    accepts: ({ headers }) => headers.upgrade === 'echo',
    take: (_request, socket, head) => {
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n${head}`)
      taken.push(socket)
    },
  }
  const listener = await listen(
    (request, response) => {
      if (request.url === '/slow') answers.push(() => response.end('late'))
      else response.end('plain')
    },
    { host: '127.0.0.1', port: 0, setting: 'X', clock, logger: keepingLogger().logger, upgrade },
  )
  return { clock, taken, answers, listener }
}

function take(listener: Listener): { socket: Socket; closed: Promise<void> } {
  const socket = connect(listener.port, '127.0.0.1', () => socket.write(REQUEST))
  socket.on('error', () => {})
  socket.resume()
  return { socket, closed: new Promise((resolve) => socket.on('close', () => resolve())) }
}

test('an upgrade that no handler accepts is an ordinary request', async () => {
  const { listener } = await start()
  expect(await raw(listener.port, REQUEST.replace('Upgrade: echo', 'Upgrade: h2c'))).toMatchObject({
    status: 200,
  })
  await listener.close(0)
})

test('an upgrade without Host is refused like any other request without one', async () => {
  const { listener, taken } = await start()
  const refused = await raw(listener.port, REQUEST.replace('Host: x\r\n', ''))
  expect([refused.status, JSON.parse(refused.body).code]).toEqual([400, 'request_malformed'])
  expect(taken).toEqual([])
  await listener.close(0)
})

test('closing waits for upgraded connections, at most for its budget', async () => {
  const { listener, taken, clock } = await start()
  const [first, second] = [take(listener), take(listener)]
  await until(() => taken.length === 2)
  let over = false
  const closing = listener.close(5000).then(() => {
    over = true
  })
  expect(await raw(listener.port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')).toMatchObject({ status: 503 })
  expect(await raw(listener.port, REQUEST)).toMatchObject({ status: 503 })
  taken[0]?.end()
  first.socket.end()
  await first.closed
  expect(over).toBe(false)
  clock.advance(5000)
  await Promise.all([closing, second.closed, listener.close(0)])
})

test('closing ends at once when the last upgraded connection has closed', async () => {
  const { listener, taken } = await start()
  const { socket } = take(listener)
  await until(() => taken.length === 1)
  const closing = listener.close(60_000)
  socket.destroy()
  await closing
})

test('closing waits for a response in flight, whatever ended before it', async () => {
  const { listener, answers } = await start()
  await raw(listener.port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const slow = raw(listener.port, 'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n')
  await until(() => answers.length === 1)
  const closing = listener.close(60_000)
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  answers[0]?.()
  expect((await slow).status).toBe(200)
  await closing
})

test('an upgraded connection that breaks does not affect the server', async () => {
  const { listener, taken } = await start()
  const { socket, closed } = take(listener)
  await until(() => taken.length === 1)
  socket.resetAndDestroy()
  await closed
  await until(() => taken[0]?.destroyed === true)
  expect((await raw(listener.port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')).status).toBe(200)
  await listener.close(0)
})
