/** Tests sessions with a cluster of which one broker hangs: it accepts connections and never answers. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { kafkaSessions } from '../../../src/log-kafka/client/client.ts'
import { createTopic, kafkaClient } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'

const brokers = (await sharedBrokers()) ?? []
const stack = new AsyncDisposableStack()
afterEach(() => stack.disposeAsync())

describe.skipIf(brokers.length === 0)('a broker that hangs', () => {
  it('is tried last by later sessions, so that it delays none of them', async () => {
    const held = new Set<Socket>()
    const server = createServer((socket) => held.add(socket)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    stack.defer(() => {
      for (const socket of held) socket.destroy()
      server.close()
    })
    const hanging = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const topic = await createTopic(kafkaClient(brokers))
    const connection = { brokers: [...brokers, hanging], clientId: 'test', tls: null, sasl: null }
    const openSession = kafkaSessions(connection, keepingLogger().logger)
    const outcomes: string[] = []
    for (let opened = 0; opened < 6; opened++) {
      const session = openSession()
      const asked = session.partitions.offsets(topic)
      outcomes.push(
        await asked.then(
          () => 'answered',
          () => 'failed',
        ),
      )
      session.end()
    }
    expect(held.size).toBe(1)
    expect(outcomes.filter((outcome) => outcome === 'failed')).toHaveLength(1)
  }, 60_000)
})
