/** Tests the proxy before a real broker: faults in the last step of a transaction, as a direct reader sees them. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createTopic, kafkaClient, readUntil, transact, uniqueName } from '../../support/kafka/clients.ts'
import { type KafkaCluster, startCluster } from '../../support/kafka/cluster.ts'
import { kafkaRuntime } from '../../support/kafka/for-tests.ts'
import { apiKeys } from '../../support/kafka/proxy/frames.ts'
import { type KafkaProxy, PROXIED, startProxies } from '../../support/kafka/proxy/proxy.ts'

const runtime = await kafkaRuntime()

describe.skipIf(runtime === null)('a proxy before a broker', () => {
  let cluster: KafkaCluster
  let proxy: KafkaProxy

  beforeAll(async () => {
    if (runtime !== null) cluster = await startCluster({ runtime, listeners: [PROXIED] })
  })
  afterAll(() => cluster?.stop())
  afterEach(() => proxy.close())

  /**
   * Opens the proxy; returns a writer behind it, a reader around it, and a topic. The writer's request timeout is
   * `requestTimeoutMs`; kafkajs sends a commit once.
   */
  async function opened(requestTimeoutMs = 30_000) {
    const [first] = await startProxies(cluster)
    if (first === undefined) throw new Error('there is no node')
    proxy = first
    const writer = kafkaClient(cluster.addresses(PROXIED.name), { requestTimeout: requestTimeoutMs })
    const reader = kafkaClient(cluster.brokers)
    const topic = await createTopic(reader)
    return { writer, reader, topic, to: { topic, transactionalId: uniqueName('writer') } }
  }

  it('serves a client that follows the broker’s advertised address', async () => {
    const { writer, reader, topic, to } = await opened()
    await transact(writer, to, ['one', 'end'])
    expect(await readUntil(reader, topic, 'end')).toEqual(['one', 'end'])
    expect(proxy.seen(apiKeys.endTxn)).toBe(1)
    expect(proxy.seen(apiKeys.produce)).toBe(1)
  })

  it('holds a commit back until it is released', async () => {
    const { writer, reader, topic, to } = await opened()
    const hold = proxy.hold(apiKeys.endTxn)
    let committed = false
    const commit = transact(writer, to, ['held']).then(() => {
      committed = true
    })
    await hold.caught()
    // Another writer around the proxy finishes meanwhile.
    await transact(reader, { topic: await createTopic(reader), transactionalId: uniqueName('other') }, ['x'])
    expect(committed).toBe(false)
    expect(hold.release()).toBe(1)
    await commit
    expect(await readUntil(reader, topic, 'held')).toEqual(['held'])
  })

  it('delivers a held commit to the broker after its writer has lost the connection', async () => {
    const { writer, reader, topic, to } = await opened()
    const hold = proxy.hold(apiKeys.endTxn)
    const commit = transact(writer, to, ['on its way'])
    const lost = expect(commit).rejects.toThrow()
    await hold.caught()
    proxy.cut()
    await lost
    expect(hold.release()).toBe(1)
    expect(await readUntil(reader, topic, 'on its way')).toEqual(['on its way'])
  })

  it('drops the response of a commit that took place', async () => {
    const { writer, reader, topic, to } = await opened(2_000)
    const drop = proxy.dropReplies(apiKeys.endTxn)
    await expect(transact(writer, to, ['unknown'])).rejects.toThrow()
    await drop.caught()
    expect(await readUntil(reader, topic, 'unknown')).toEqual(['unknown'])
  })
})
