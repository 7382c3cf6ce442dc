import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { listen } from '../../src/http/listener.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

/** More than the socket buffers of both ends hold. */
const LARGE = Buffer.alloc(32 * 1024 * 1024, 'x')

test('a client that does not read its response is disconnected, and does not delay a stop', async () => {
  const ended = Promise.withResolvers<boolean>()
  const listener = await listen(
    (_request, response) => {
      response.on('close', () => ended.resolve(response.writableFinished))
      response.end(LARGE)
    },
    {
      ...{ host: '127.0.0.1', port: 0, setting: 'X', clock: createManualClock() },
      logger: keepingLogger().logger,
      stallMs: 100,
    },
  )
  const socket = connect(listener.port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  expect(await ended.promise).toBe(false)
  // The clock does not move: nothing waits for the budget.
  await listener.close(60_000)
})
