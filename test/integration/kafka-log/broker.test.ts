/** Tests the test brokers themselves, on which the Kafka tests depend. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTopic, kafkaClient, readUntil, transact, uniqueName } from '../../support/kafka/clients.ts'
import { type KafkaCluster, startCluster } from '../../support/kafka/cluster.ts'
import { kafkaRuntime, sharedBrokers } from '../../support/kafka/for-tests.ts'
import { namedBrokers } from '../../support/kafka/metadata.ts'

const brokers = await sharedBrokers()
const runtime = await kafkaRuntime()

describe.skipIf(brokers === null)('the shared broker', () => {
  const shared = brokers ?? []

  it('returns its address to a Metadata request', async () => {
    const [address = ''] = shared
    const named = await namedBrokers(address)
    expect(named.map(({ host, port }) => `${host}:${port}`)).toContain(address)
  })

  it('shows committed transactions to a read_committed reader, and aborted ones never', async () => {
    const kafka = kafkaClient(shared)
    const topic = await createTopic(kafka)
    const to = { topic, transactionalId: uniqueName('writer') }
    await transact(kafka, to, ['one', 'two'])
    await transact(kafka, to, ['never'], 'abort')
    await transact(kafka, to, ['three', 'end'])
    expect(await readUntil(kafka, topic, 'end')).toEqual(['one', 'two', 'three', 'end'])
  })
})

describe.skipIf(runtime === null)('a dedicated broker', () => {
  let cluster: KafkaCluster

  beforeAll(async () => {
    if (runtime !== null) cluster = await startCluster({ runtime })
  })
  afterAll(() => cluster?.stop())

  it('keeps committed records over kill -9, and restarts on the same address', async () => {
    const [node] = cluster.nodes
    const kafka = kafkaClient(cluster.brokers)
    const topic = await createTopic(kafka)
    const to = { topic, transactionalId: uniqueName('writer') }
    await transact(kafka, to, ['before'])
    await node?.kill()
    await expect(namedBrokers(cluster.brokers[0] ?? '')).rejects.toThrow()
    await node?.start()
    await transact(kafka, to, ['after'])
    expect(await readUntil(kafka, topic, 'after')).toEqual(['before', 'after'])
  })
})
