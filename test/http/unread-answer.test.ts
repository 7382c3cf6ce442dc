import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { listen } from '../../src/http/listener.ts'
import { until } from '../support/http/api-server.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

/** More than the socket buffers of both ends hold. */
const LARGE = Buffer.alloc(32 * 1024 * 1024, 'x')

/** Bytes of the one write that the kernel has not taken, once it takes no more. */
async function left({ socket }: ServerResponse): Promise<number> {
  const inKernel = socket as (Socket & { _handle: { writeQueueSize: number } }) | null
  let [bytes, since] = [-1, 0]
  await until(() => {
    const now = inKernel?._handle.writeQueueSize ?? 0
    since = now === bytes ? since + 1 : 0
    bytes = now
    return since === 200
  })
  return bytes
}

test('a client that takes nothing of its response for 30 s is disconnected, and does not delay a stop', async () => {
  const ended = Promise.withResolvers<boolean>()
  const begun = Promise.withResolvers<ServerResponse>()
  const clock = createManualClock()
  const refused: string[] = []
  const listener = await listen(
    (_request, response) => {
      response.on('close', () => ended.resolve(response.writableFinished))
      response.end(LARGE)
      begun.resolve(response)
    },
    {
      ...{ host: '127.0.0.1', port: 0, setting: 'X', clock },
      logger: keepingLogger().logger,
      onRefused: (cause) => refused.push(cause),
    },
  )
  const socket = connect(listener.port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const response = await begun.promise
  const before = await left(response)
  clock.advance(29_000)
  // The kernel passes on what the client reads, a part of the one long write.
  for (let at = before; at === before; ) {
    socket.read()
    at = await left(response)
  }
  clock.advance(29_000)
  expect(response.destroyed).toBe(false)
  clock.advance(3000)
  expect(await ended.promise).toBe(false)
  expect(refused).toEqual(['stalled'])
  // The clock does not move: nothing waits for the budget.
  await listener.close(60_000)
})

test('a handler that takes its time is no client that takes nothing', async () => {
  const clock = createManualClock()
  const begun = Promise.withResolvers<ServerResponse>()
  const listener = await listen((_request, response) => begun.resolve(response), {
    ...{ host: '127.0.0.1', port: 0, setting: 'X', clock },
    logger: keepingLogger().logger,
  })
  onTestFinished(() => listener.close(0))
  const answer = fetch(listener.url)
  const response = await begun.promise
  clock.advance(120_000)
  response.end('late')
  expect(await (await answer).text()).toBe('late')
  await until(() => clock.nextTimerMs() === null)
})
