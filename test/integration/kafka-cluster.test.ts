/** Three brokers that replicate: what a moving coordinator is tested on. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createTopic,
  kafkaClient,
  leaderOf,
  readUntil,
  transact,
  uniqueName,
} from '../support/kafka/clients.ts'
import { type KafkaCluster, startCluster } from '../support/kafka/cluster.ts'
import { kafkaRuntime } from '../support/kafka/for-tests.ts'
import { namedBrokers } from '../support/kafka/metadata.ts'

const runtime = await kafkaRuntime()

describe.skipIf(runtime === null)('three brokers', () => {
  let cluster: KafkaCluster

  beforeAll(async () => {
    if (runtime !== null) cluster = await startCluster({ runtime, nodes: 3 })
  })
  afterAll(() => cluster?.stop())

  it('go on without the transaction coordinator, which comes back with its data', async () => {
    // Long enough for the controllers to miss a node: its session is three seconds.
    const retry = { retries: 60, initialRetryTime: 50, maxRetryTime: 300 }
    const kafka = kafkaClient(cluster.brokers, { retry })
    const topic = await createTopic(kafka, 3)
    const to = { topic, transactionalId: uniqueName('writer') }
    await transact(kafka, to, ['one'])
    const coordinator = await leaderOf(kafka, '__transaction_state')
    const node = cluster.nodes.find(({ nodeId }) => nodeId === coordinator)
    await node?.kill()
    await transact(kafka, to, ['two'])
    expect(await leaderOf(kafka, '__transaction_state')).not.toBe(coordinator)
    await node?.start()
    const named = await namedBrokers(node?.address ?? '')
    expect(named.map(({ nodeId }) => nodeId).sort()).toEqual([1, 2, 3])
    expect(await readUntil(kafka, topic, 'two')).toEqual(['one', 'two'])
  })
})
