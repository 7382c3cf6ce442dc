/** Tests over one Kafka that a node that only serves the API answers a stop when the delivering node has stopped. */
import { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import { eventually } from '../../support/http/api-client.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { kafkaNodes } from '../../support/kafka/kafka-nodes.ts'
import { startConnectProxy } from '../../support/webhooks/connect-proxy.ts'
import { askEndpoints, LOCAL_RECEIVERS } from '../../support/webhooks/endpoint-api.ts'
import { startReceiver } from '../../support/webhooks/webhook-receiver.ts'

const brokers = await sharedBrokers()
/** How long a connection through the proxy takes. */
const CONNECT_MS = 1000
/** After an answered stop, what has left already may still arrive for so long. */
const UNDER_WAY_MS = 100

const pause = (forMs: number) => new Promise<void>((resolve) => void systemClock.after(forMs, resolve))

describe.skipIf(brokers === null)('webhook endpoints on Kafka', () => {
  it('get nothing once another node has answered a deletion, a pause or a disabling', async () => {
    using own = temporaryDirectory()
    using other = temporaryDirectory()
    await using proxy = await startConnectProxy({
      onward: (target) => {
        const { hostname, port } = new URL(`http://${target}`)
        const socket = new Socket()
        systemClock.after(CONNECT_MS, () => socket.connect(Number(port), hostname))
        return socket
      },
    })
    const sandbox = await startSandbox(
      { scenario: 'flood', plan: 'advanced', weeklyQuota: 1_000_000, seed: 9 },
      { clock: systemClock },
    )
    const start = kafkaNodes('stops', brokers, sandbox, {
      BRIDGE_WEBHOOK_PROXY: proxy.url,
      ...LOCAL_RECEIVERS,
    })
    const sender = await start(own.path, 'poller,webhooks')
    const serving = await start(other.path, 'api')
    const ask = (method: string, path: string, body?: object) =>
      askEndpoints(serving.ready.http, method, path, body)
    const stops: [string, (id: string) => Promise<unknown>][] = [
      ['delete', (id) => ask('DELETE', `/${id}`)],
      ['disable', (id) => ask('POST', `/${id}/disable`)],
      ['pause', (id) => ask('PATCH', `/${id}`, { status: 'paused' })],
    ]
    const took: number[] = []
    try {
      for (const [name, stop] of stops) {
        // Posts may leave before a slow stop is answered. Their connections would serve the next endpoint, without a CONNECT.
        await using receiver = await startReceiver()
        const asked = proxy.asked.length
        const { id } = await ask('POST', '', { url: receiver.url, since: '2000-01-01' })
        await eventually(
          () => proxy.asked.length,
          (length) => length >= asked + 8,
        )
        const askedMs = systemClock.now()
        await stop(id)
        took.push(systemClock.now() - askedMs)
        await pause(UNDER_WAY_MS)
        const before = receiver.received.length
        await pause(2 * CONNECT_MS)
        expect(receiver.received.length, name).toBe(before)
      }
      expect(Math.max(...took)).toBeLessThan(5000)
      await using receiver = await startReceiver()
      const { id } = await ask('POST', '', { url: receiver.url, since: '2000-01-01' })
      await eventually(
        () => receiver.received.length,
        (length) => length > 0,
      )
      await sender.stop('SIGKILL')
      const askedMs = systemClock.now()
      await ask('DELETE', `/${id}`)
      expect(systemClock.now() - askedMs).toBeLessThan(15_000)
    } finally {
      await Promise.all([sender.stop('SIGKILL'), serving.stop()])
      await sandbox.close()
    }
  }, 120_000)
})
