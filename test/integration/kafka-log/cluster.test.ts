/** Tests three replicating brokers: a moving coordinator, and a broker that stays unavailable. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inspectKafka } from '../../../src/log-kafka/inspect.ts'
import { openKafkaLog } from '../../../src/log-kafka/log.ts'
import { sampleOfCode } from '../../log/samples.ts'
import {
  createTopic,
  kafkaClient,
  leaderOf,
  readUntil,
  transact,
  uniqueName,
} from '../../support/kafka/clients.ts'
import { type KafkaCluster, startCluster } from '../../support/kafka/cluster.ts'
import { kafkaRuntime, sharedBrokers } from '../../support/kafka/for-tests.ts'
import { kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'
import { namedBrokers } from '../../support/kafka/metadata.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'

const runtime = await kafkaRuntime()
const shared = (await sharedBrokers()) ?? []

describe.skipIf(runtime === null)('three brokers', () => {
  let cluster: KafkaCluster

  beforeAll(async () => {
    if (runtime !== null) cluster = await startCluster({ runtime, nodes: 3 })
  })
  afterAll(() => cluster?.stop())

  it('continue without the transaction coordinator, which recovers with its data', async () => {
    // Long enough for the controllers to notice a missing node: its session is three seconds.
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

  /** How many brokers hold the topic. */
  async function replicasOf(topic: string): Promise<number | undefined> {
    const admin = kafkaClient(cluster.brokers).admin()
    await admin.connect()
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    await admin.disconnect()
    return topics[0]?.partitions[0]?.replicas.length
  }

  it('carry a log that begins without one of them, while foreign topics have no leader', async () => {
    const kafka = kafkaClient(cluster.brokers)
    const [, , away] = cluster.nodes
    if (away === undefined) throw new Error('three nodes were asked for')
    const foreign = uniqueName('foreign')
    const admin = kafka.admin()
    await admin.connect()
    const replicaAssignment = [{ partition: 0, replicas: [away.nodeId] }]
    await admin.createTopics({ topics: [{ topic: foreign, replicaAssignment }], waitForLeaders: false })
    const options = kafkaLogOptions(cluster.brokers)
    const before = openKafkaLog(options)
    await before.end(AbortSignal.timeout(20_000))
    await before.close()
    await away.kill()
    const isLed = (): Promise<boolean> =>
      admin.fetchTopicMetadata({ topics: [foreign] }).then(
        () => true,
        () => false,
      )
    await expect.poll(isLed, { timeout: 20_000 }).toBe(false)
    await admin.disconnect()

    const log = openKafkaLog(options)
    try {
      const signal = AbortSignal.timeout(30_000)
      const writer = await log.claim(await log.campaign(signal), signal)
      const events = [sampleOfCode(1, 'NEVER_SEEN')]
      expect(await writer.commit({ events })).toMatchObject([{ sequence: 1 }])
      // The unavailable broker counts: topics keep the replication factor they were created with.
      const made = `${options.topics.prefix}.fca.NEVER_SEEN`
      expect(await replicasOf(made)).toBe(3)
      const report = await inspectKafka({ ...options, polls: true }, AbortSignal.timeout(20_000))
      expect(report).toMatchObject({ brokers: 2, silent: [away.nodeId] })
    } finally {
      await log.close()
      await away.start()
    }
  })
})

describe.skipIf(shared.length !== 1)('one running broker', () => {
  it('of three configured ones gets no topics with fewer replicas: the log waits and names the remedy', async () => {
    const options = kafkaLogOptions([...shared, '127.0.0.1:1', '127.0.0.1:2'])
    const { logger, lines } = keepingLogger()
    const log = openKafkaLog({ ...options, logger })
    await expect.poll(() => log.waitingFor, { timeout: 20_000 }).toContain('creating topics failed')
    const logged = lines.find(({ event }) => event === 'log.unavailable')
    expect(logged?.fields.error).toMatchObject({ hint: expect.stringContaining('BRIDGE_TOPIC_REPLICATION') })
    await log.close()
  })

  it('that is the only configured one is used, with a warning', async () => {
    const { logger, lines } = keepingLogger()
    const log = openKafkaLog({ ...kafkaLogOptions(shared), logger })
    await log.end(AbortSignal.timeout(20_000))
    expect(lines.filter(({ event }) => event === 'log.low_replication')).toMatchObject([
      { level: 'warn', fields: { warning: expect.stringContaining('one replica') } },
    ])
    await log.close()
  })
})
