/** Provides kafkajs as tests use it: quiet, quick to fail, one transaction, one committed read. */
import { randomBytes } from 'node:crypto'
import { type Admin, Kafka, type KafkaConfig, logLevel } from 'kafkajs'
import { eventually } from '../http/api-client.ts'

/** A topic on a healthy broker gets a leader within a tenth of that. */
const LED_TIMEOUT_MS = 10_000

/** A name that no other test uses: a prefix for topics, groups and transactional ids on the shared broker. */
export function uniqueName(word: string): string {
  return `${word}-${randomBytes(4).toString('hex')}`
}

/** A client of those brokers. Without retries worth the name, so that a refusal is seen at once. */
export function kafkaClient(brokers: readonly string[], options: Partial<KafkaConfig> = {}): Kafka {
  return new Kafka({
    clientId: uniqueName('test'),
    brokers: [...brokers],
    logLevel: logLevel.NOTHING,
    connectionTimeout: 5_000,
    retry: { retries: 5, initialRetryTime: 50, maxRetryTime: 1_000 },
    ...options,
  })
}

/** Does the work with an admin client of its own. */
export async function withAdmin<T>(kafka: Kafka, work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin()
  await admin.connect()
  try {
    return await work(admin)
  } finally {
    await admin.disconnect()
  }
}

/** Creates a topic with one partition and resolves with its name when it has a leader. */
export async function createTopic(kafka: Kafka, replicationFactor = 1): Promise<string> {
  const topic = uniqueName('topic')
  await withAdmin(kafka, async (admin) => {
    // kafkajs's own waiting fails on a topic that is a moment old: poll instead.
    await admin.createTopics({
      topics: [{ topic, numPartitions: 1, replicationFactor }],
      waitForLeaders: false,
    })
    await untilLed(topic, () => admin.fetchTopicMetadata({ topics: [topic] }))
  })
  return topic
}

/** A topic that was just made is unknown for a moment, then without a leader for another. */
async function untilLed(
  topic: string,
  ask: () => Promise<{ topics: { partitions: { leader: number }[] }[] }>,
): Promise<void> {
  const deadline = performance.now() + LED_TIMEOUT_MS
  for (;;) {
    const found = await ask().catch((error: Error) => error)
    const led = !(found instanceof Error) && found.topics[0]?.partitions.some(({ leader }) => leader >= 0)
    if (led) return
    if (performance.now() > deadline) throw new Error(`${topic} has no leader`, { cause: found })
  }
}

/** The node that leads the only partition of a topic: for `__transaction_state`, the transaction coordinator. */
export async function leaderOf(kafka: Kafka, topic: string): Promise<number> {
  const { topics } = await withAdmin(kafka, (admin) => admin.fetchTopicMetadata({ topics: [topic] }))
  return topics[0]?.partitions[0]?.leader ?? -1
}

/** The offset after the last record of the topic's first partition; 0 where there is no such topic. */
export function endOf(kafka: Kafka, topic: string): Promise<number> {
  return withAdmin(kafka, async (admin) => {
    if (!(await admin.listTopics()).includes(topic)) return 0
    // A broker that was just made the leader may not know it yet; kafkajs does not ask again.
    const offsets = () =>
      admin.fetchTopicOffsets(topic).catch((error: Error & { type?: string }) => {
        if (error.type !== 'NOT_LEADER_FOR_PARTITION') throw error
        return null
      })
    const partitions = await eventually(offsets, (found) => found !== null, LED_TIMEOUT_MS)
    return Number(partitions?.find(({ partition }) => partition === 0)?.high ?? 0)
  })
}

/** Sends the values to the topic in one transaction of `transactionalId` and ends it. */
export async function transact(
  kafka: Kafka,
  to: { topic: string; transactionalId: string },
  values: readonly string[],
  end: 'commit' | 'abort' = 'commit',
): Promise<void> {
  const producer = kafka.producer({ transactionalId: to.transactionalId, maxInFlightRequests: 1 })
  await producer.connect()
  try {
    const transaction = await producer.transaction()
    const messages = values.map((value) => ({ value, partition: 0 }))
    await transaction.send({ topic: to.topic, messages })
    await transaction[end]()
  } finally {
    await producer.disconnect()
  }
}

/** What a `read_committed` reader finds from the start of the topic up to and with the value `last`. */
export async function readUntil(kafka: Kafka, topic: string, last: string): Promise<string[]> {
  const consumer = kafka.consumer({ groupId: uniqueName('reader'), maxWaitTimeInMs: 100 })
  await consumer.connect()
  try {
    await consumer.subscribe({ topic, fromBeginning: true })
    const values: string[] = []
    await new Promise<void>((resolve, reject) => {
      consumer.on('consumer.crash', ({ payload }) => !payload.restart && reject(payload.error))
      const eachMessage = async ({ message }: { message: { value: Buffer | null } }): Promise<void> => {
        values.push(String(message.value))
        if (String(message.value) === last) resolve()
      }
      consumer.run({ eachMessage }).catch(reject)
    })
    return values
  } finally {
    await consumer.disconnect()
  }
}
