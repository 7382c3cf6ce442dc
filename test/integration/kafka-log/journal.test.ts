/** Tests journals on a real broker: the port's contract, several writers, dropped records, and unavailable brokers. */
import kafkajs from 'kafkajs'
import { afterEach, describe, expect, it } from 'vitest'
import { DAY_MS } from '../../../src/core/durations.ts'
import { openKafkaLog } from '../../../src/log-kafka/log.ts'
import { describeJournals, journalled } from '../../log/journals.ts'
import { kafkaClient } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { createLogKeeper, kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createFastClock } from '../../support/time/fast-clock.ts'

const brokers = await sharedBrokers()

describe.skipIf(brokers === null)('on the shared broker', () => {
  describeJournals('Kafka', () => openKafkaLog(kafkaLogOptions(brokers ?? [])))

  const logs = createLogKeeper()
  afterEach(() => logs.closeAll())

  it('holds the records of every process, each process’s in order, in one order for all readers', async () => {
    const options = kafkaLogOptions(brokers ?? [])
    const [one, other] = [logs.open(options), logs.open(options)].map((log) =>
      log.journal<string>('tries', DAY_MS),
    )
    if (one === undefined || other === undefined) throw new Error('two were opened')
    const append = async (name: string, journal: typeof one): Promise<void> => {
      for (let n = 0; n < 30; n++) await journal.append([`${name} ${n}`])
    }
    await Promise.all([append('a', one), append('b', other)])
    const { records } = await journalled(one, null, 60)
    expect((await journalled(other, null, 60)).records).toEqual(records)
    for (const name of ['a', 'b']) {
      const own = records.filter((record) => record.startsWith(name))
      expect(own).toEqual(Array.from({ length: 30 }, (_, n) => `${name} ${n}`))
    }
  })

  it('leaves records of another program out, with one warning, and goes on behind them', async () => {
    const { logger, lines } = keepingLogger()
    const options = { ...kafkaLogOptions(brokers ?? []), logger }
    const journal = logs.open(options).journal<number>('tries', DAY_MS)
    await journal.append([1])
    const topic = `${options.topics.prefix}.internal.journal.tries`
    const producer = kafkaClient(brokers ?? []).producer()
    await producer.connect()
    const messages = ['hello', '{"cut":'].map((value) => ({ key: 'foreign', value, partition: 0 }))
    await producer.send({ topic, messages })
    await producer.disconnect()
    await journal.append([2])
    const { records, batches } = await journalled(journal, null, 2)
    expect(records).toEqual([1, 2])
    expect(batches.at(-1)?.position).toBe('4')
    const fields = { topic, offset: 1, name: 'foreign' }
    expect(lines.filter(({ event }) => event === 'log.foreign_record')).toEqual([
      { level: 'warn', event: 'log.foreign_record', fields },
    ])
  })

  it('is kept for its retention time, and read from its oldest record if the position is older', async () => {
    const options = kafkaLogOptions(brokers ?? [])
    const journal = logs.open(options).journal<number>('tries', 3 * DAY_MS)
    await journal.append([1])
    const { batches } = await journalled(journal, null, 1)
    await journal.append([2, 3, 4])
    const topic = `${options.topics.prefix}.internal.journal.tries`
    const admin = kafkaClient(brokers ?? []).admin()
    await admin.connect()
    try {
      const { TOPIC: type } = kafkajs.ConfigResourceTypes
      const configNames = ['cleanup.policy', 'retention.ms', 'segment.ms']
      const { resources } = await admin.describeConfigs({
        includeSynonyms: false,
        resources: [{ type, name: topic, configNames }],
      })
      const found = resources[0]?.configEntries.map(({ configName, configValue }) => [
        configName,
        configValue,
      ])
      expect(Object.fromEntries(found ?? [])).toMatchObject({
        'cleanup.policy': 'delete',
        'retention.ms': String(3 * DAY_MS),
        'segment.ms': String((3 * DAY_MS) / 20),
      })
      // As Kafka does when a segment is beyond retention.
      await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '2' }] })
    } finally {
      await admin.disconnect()
    }
    expect((await journalled(journal, batches[0]?.position ?? null, 2)).records).toEqual([3, 4])
    expect((await journalled(journal, null, 2)).records).toEqual([3, 4])
  })
})

describe('a journal without Kafka', () => {
  it('rejects appends within seconds with an unavailable error', async () => {
    const log = openKafkaLog({ ...kafkaLogOptions(['127.0.0.1:1']), clock: createFastClock(20) })
    try {
      await expect(log.journal('tries', DAY_MS).append([1])).rejects.toMatchObject({
        code: 'log_unavailable',
      })
    } finally {
      await log.close()
    }
  })
})
