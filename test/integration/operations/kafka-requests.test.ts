/** Counts connections and requests of sessions with a real broker, one that hangs, and one that is not there. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { kafkaSessions } from '../../../src/log-kafka/client/client.ts'
import { createMetrics } from '../../../src/obs/metrics.ts'
import { eventually } from '../../support/http/api-client.ts'
import { createTopic, kafkaClient, uniqueName } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { freePorts } from '../../support/kafka/runtime/ports.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'

const brokers = (await sharedBrokers()) ?? []
let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

function sessionWith(addresses: readonly string[]) {
  const metrics = createMetrics({ version: '0' })
  const connection = { brokers: [...addresses], clientId: 'test', tls: null, sasl: null, metrics }
  const session = kafkaSessions(connection, keepingLogger().logger)()
  stack.defer(() => session.end())
  /** Series of the metric that are not 0: their labels, and how many. */
  const counted = async (name: string): Promise<Record<string, number>> => {
    const lines = (await metrics.scrape()).matchAll(new RegExp(`^${name}\\{(.*)\\} (\\d+)$`, 'gm'))
    const found = [...lines].map(([, labels = '', count]) => [labels.replaceAll('"', ''), Number(count)])
    return Object.fromEntries(found.filter(([, count]) => count !== 0))
  }
  return { session, counted }
}

describe.skipIf(brokers.length === 0)('requests and connections', () => {
  it('are counted by API and result, and the end of a session is no failure', async () => {
    const topic = await createTopic(kafkaClient(brokers))
    const { session, counted } = sessionWith(brokers)
    await session.partitions.offsets(topic)
    await session.partitions.append('1', topic, new Map([[0, [{ key: 'a', value: 'b' }]]])).catch(() => null)
    let probes = 0
    const probed = () => {
      probes += 1
      return session.partitions.probeWrite(uniqueName('probe'), [topic])
    }
    // A new broker has no coordinator for some moments.
    await eventually(
      () =>
        probed().then(
          () => true,
          () => false,
        ),
      (isDone) => isDone,
    )
    const waiting = session.partitions.fetch(topic, 1, { maxWaitMs: 5_000, maxBytes: 1_000 })
    session.end()
    await waiting.catch(() => null)
    const requests = await counted('bridge_kafka_requests_total')
    expect(requests).toMatchObject({
      'api=list_offsets,result=ok': 3,
      'api=find_coordinator,result=ok': expect.any(Number),
      'api=add_partitions_to_txn,result=refused': expect.any(Number),
    })
    // The last probe: of a producer that does not exist. One before it may have come to a broker that is no coordinator yet.
    const refused = requests['api=add_partitions_to_txn,result=refused']
    expect(refused).toBeGreaterThanOrEqual(1)
    expect(refused).toBeLessThanOrEqual(probes)
    expect(Object.keys(requests).filter((labels) => /timeout|disconnected/.test(labels))).toEqual([])
    expect(await counted('bridge_kafka_connections_total')).toEqual({
      'result=connected': expect.any(Number),
    })
  }, 60_000)

  it('of a broker that hangs time out, and one that is not there fails each connection', async () => {
    const held = new Set<Socket>()
    const server = createServer((socket) => held.add(socket)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    stack.defer(() => {
      for (const socket of held) socket.destroy()
      server.close()
    })
    const hanging = sessionWith([`127.0.0.1:${(server.address() as AddressInfo).port}`])
    await expect(hanging.session.partitions.offsets('none')).rejects.toThrow()
    expect(await hanging.counted('bridge_kafka_requests_total')).toEqual({ 'api=other,result=timeout': 1 })
    expect(await hanging.counted('bridge_kafka_connections_total')).toEqual({ 'result=connected': 1 })

    const [port = 0] = await freePorts(1)
    const absent = sessionWith([`127.0.0.1:${port}`])
    await expect(absent.session.partitions.offsets('none')).rejects.toThrow()
    expect(await absent.counted('bridge_kafka_requests_total')).toEqual({})
    expect(await absent.counted('bridge_kafka_connections_total')).toEqual({ 'result=failed': 1 })
  }, 60_000)
})
