import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { listen } from '../../src/http/listener.ts'
import { until } from '../support/http/api-server.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createManualClock } from '../support/time/manual-clock.ts'
import { raw } from './raw.ts'

const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

test('connections above the limit are closed at once, logged once a minute, and new ones are accepted when there is room', async () => {
  const { logger, lines } = keepingLogger()
  const clock = createManualClock()
  const listener = await listen((_request, response) => void response.end('served'), {
    host: '127.0.0.1',
    port: 0,
    setting: 'X',
    clock,
    logger,
    maxConnections: 2,
  })
  onTestFinished(() => listener.close(0))
  const opened = async (): Promise<Socket> => {
    const socket = connect(listener.port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    await new Promise((resolve) => socket.once('connect', resolve))
    return socket
  }
  const refused = async (): Promise<void> => {
    const socket = await opened()
    socket.on('error', () => {})
    await new Promise((resolve) => socket.once('close', resolve))
    expect(socket.bytesRead).toBe(0)
  }
  const [first] = [await opened(), await opened()]
  await refused()
  await refused()
  expect(lines).toMatchObject([{ level: 'warn', event: 'http.connections_dropped' }])
  expect(lines[0]?.fields.warning).toMatch(
    /there are 2 connections, as many as this listener takes.*ulimit -n, LimitNOFILE/,
  )
  clock.advance(60_000)
  await refused()
  expect(lines).toHaveLength(2)
  first.destroy()
  let answer: { status: number } | null = null
  await until(async () => {
    answer = await raw(listener.port, REQUEST).catch(() => null)
    return answer !== null
  })
  expect(answer).toMatchObject({ status: 200, body: 'served' })
})
