/** Tests topics of category codes that came while a bridge ran, and that are missing or unusable at a later claim. */
import { afterEach, describe, expect, it } from 'vitest'
import { inspectKafka } from '../../../src/log-kafka/inspect.ts'
import { claimed, sampleOfCode } from '../../log/samples.ts'
import { kafkaClient, withAdmin } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { createLogKeeper, kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'
import { readTopic } from '../../support/kafka/read-topic.ts'
import { removeTopics } from '../../support/kafka/remove-topics.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'

const brokers = (await sharedBrokers()) ?? []
const logs = createLogKeeper()
afterEach(() => logs.closeAll())

/** The n-th item, with the FCA code ADM, which no list names. */
const unlisted = (n: number) => sampleOfCode(n, 'ADM')

describe.skipIf(brokers.length === 0)('the topic of a code that is on no list', () => {
  const kafka = kafkaClient(brokers)

  /** A log that has learnt the code, with one event of it; then its topic was deleted. */
  async function withoutItsTopic() {
    const { logger, lines } = keepingLogger()
    const options = { ...kafkaLogOptions(brokers), logger }
    const log = logs.open(options)
    await (await claimed(log)).commit({ events: [unlisted(1)] })
    const topic = `${options.topics.prefix}.fca.ADM`
    await removeTopics(options, [topic])
    return { options, log, topic, lines, shared: `${options.topics.prefix}.fca._other` }
  }

  const seen = async (topic: string, count: number) =>
    (await readTopic(kafka, topic, count)).map(({ headers }) => [
      Number(headers.ce_sequence),
      Number(headers.ce_topicsequence),
    ])

  it('is created again by the next claim, and its numbers continue', async () => {
    const { log, topic } = await withoutItsTopic()
    await (await claimed(log)).commit({ events: [unlisted(2)] })
    expect(await seen(topic, 1)).toEqual([[2, 2]])
  })

  it('does not stop a claim where it cannot be had: the shared topic gets its events, and it counts them', async () => {
    const { options, log, topic, shared, lines } = await withoutItsTopic()
    await withAdmin(kafka, (admin) =>
      admin.createTopics({ topics: [{ topic, numPartitions: 3 }], waitForLeaders: false }),
    )
    await (await claimed(log)).commit({ events: [unlisted(2)] })
    expect(await seen(shared, 1)).toEqual([[2, 1]])
    expect(lines.filter(({ level }) => level === 'warn')).toContainEqual({
      level: 'warn',
      event: 'topic.create_refused',
      fields: { topic, error: expect.objectContaining({ code: 'kafka' }) },
    })
    await removeTopics(options, [topic])
    await (await claimed(log)).commit({ events: [unlisted(3)] })
    // A hole: number 2 is only in the shared topic.
    expect(await seen(topic, 1)).toEqual([[3, 3]])
  })

  it('is among those that the doctor examines', async () => {
    const { options, log, topic } = await withoutItsTopic()
    const inspect = () => inspectKafka({ ...options, polls: true }, AbortSignal.timeout(20_000))
    expect(await inspect()).toMatchObject({ missing: [topic], refused: [] })
    const config = [{ name: 'retention.ms', value: '1000' }]
    const own = { topic, numPartitions: 1, replicationFactor: 1, configEntries: config }
    await withAdmin(kafka, (admin) => admin.createTopics({ topics: [own], waitForLeaders: false }))
    await claimed(log)
    const { missing, present, others } = await inspect()
    expect(missing).toEqual([])
    expect(present).toContainEqual(expect.objectContaining({ topic, partitions: 1 }))
    expect(others).toContainEqual(expect.objectContaining({ topic, name: 'retention.ms', found: '1000' }))
  })
})
