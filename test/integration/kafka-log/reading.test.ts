/** Tests reading the Kafka log from any position, and the damage that a claim refuses. */
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import type { FaultHooks } from '../../../src/log/fault-hooks.ts'
import type { Log } from '../../../src/log/log.ts'
import { kafkaSessions } from '../../../src/log-kafka/client/client.ts'
import { eventRecord } from '../../../src/log-kafka/client/records.ts'
import { readPartition } from '../../../src/log-kafka/reading/partition-reader.ts'
import { claimed, followed, idsOf, sampleEvent, sampleEvents, sequencesOf } from '../../log/samples.ts'
import { kafkaClient } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { createLogKeeper, kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'

const brokers = (await sharedBrokers()) ?? []
const logs = createLogKeeper()
const damaged = expect.objectContaining({ code: 'log_damaged', hint: expect.any(String) })
afterEach(() => logs.closeAll())

/** A log with `commits` commits of `size` events each, and an aborted commit before each of them. */
async function logWithAborted(commits: number, size: number): Promise<{ log: Log; prefix: string }> {
  const faultHooks: FaultHooks = {}
  const options = { ...kafkaLogOptions(brokers), faultHooks }
  const log = logs.open(options)
  for (let n = 0; n < commits; n++) {
    const doomed = await claimed(log)
    faultHooks.beforeCommit = () => {
      throw new Error('the machine stopped here')
    }
    await doomed.commit({ events: sampleEvents(1, size) }).catch(() => undefined)
    delete faultHooks.beforeCommit
    await (await claimed(log)).commit({ events: sampleEvents(1 + n * size, size + n * size) })
  }
  return { log, prefix: options.topics.prefix }
}

describe.skipIf(brokers.length === 0)('reading events', () => {
  it('finds any sequence among aborted commits and markers', async () => {
    const { log } = await logWithAborted(4, 150)
    for (const after of [0, 1, 149, 150, 151, 299, 300, 420, 598, 599]) {
      const [first] = await followed(log, after, 1)
      expect(first?.sequence).toBe(after + 1)
    }
    expect(sequencesOf(await followed(log, 0, 600))).toEqual(Array.from({ length: 600 }, (_, n) => n + 1))
  })

  it('skips records of another program wherever they lie, and says so once', async () => {
    const { logger, lines } = keepingLogger()
    const options = { ...kafkaLogOptions(brokers), logger }
    const topic = `${options.topics.prefix}.all`
    const log = logs.open(options)
    const writer = await claimed(log)
    await sendForeign(topic, 1)
    await writer.commit({ events: sampleEvents(1, 3) })
    // More than are read in one go, so that the search for an offset meets them.
    await sendForeign(topic, 600)
    expect((await claimed(log)).state.head.sequence).toBe(3)
    await (await claimed(log)).commit({ events: sampleEvents(4, 250) })
    await sendForeign(topic, 20)
    expect(await log.oldest(AbortSignal.timeout(20_000))).toBe(1)
    expect(await log.end(AbortSignal.timeout(20_000))).toMatchObject({ sequence: 250 })
    expect((await claimed(log)).state.head.sequence).toBe(250)
    for (const after of [1, 2, 3, 4, 249]) {
      const [first] = await followed(log, after, 1)
      expect(first?.sequence).toBe(after + 1)
    }
    lines.length = 0
    expect(sequencesOf(await followed(log, 0, 250))).toEqual(Array.from({ length: 250 }, (_, n) => n + 1))
    const said = lines.filter(({ event }) => event === 'log.foreign_event')
    expect(said).toMatchObject([{ level: 'error', fields: { topic, name: 'foreign' } }])
  })

  it('begins with the earliest retained event', async () => {
    const options = kafkaLogOptions(brokers)
    const log = logs.open(options)
    await (await claimed(log)).commit({ events: sampleEvents(1, 20) })
    await dropBefore(`${options.topics.prefix}.all`, 15)
    expect(sequencesOf(await followed(log, 3, 5))).toEqual([16, 17, 18, 19, 20])
    expect(await log.oldest(AbortSignal.timeout(20_000))).toBe(16)
    expect((await claimed(log)).state.head.sequence).toBe(20)
  })

  it('finds any sequence in a topic whose first offsets hold late events, as a mirror has them', async () => {
    const options = kafkaLogOptions(brokers)
    const log = logs.open(options)
    await log.campaign(new AbortController().signal)
    const first = 1_000_001
    const sequences = Array.from({ length: 600 }, (_, n) => first + n)
    await writeEvents(options.topics.prefix, ...sequences)
    for (const after of [first, first + 250, first + 598]) {
      const [next] = await followed(log, after, 1)
      expect(next?.sequence).toBe(after + 1)
    }
    expect(sequencesOf(await followed(log, 0, 600))).toEqual(sequences)
  })

  it('refuses a hole that no retention made, also right behind its position', async () => {
    const options = kafkaLogOptions(brokers)
    const log = logs.open(options)
    await log.campaign(new AbortController().signal)
    await writeEvents(options.topics.prefix, 1, 2, 3, 5)
    for (const after of [0, 2, 3]) await expect(followed(log, after, 4 - after)).rejects.toEqual(damaged)
    expect(sequencesOf(await followed(log, 4, 1))).toEqual([5])
  })

  it('after the last event waits for the next', async () => {
    const log = logs.open(kafkaLogOptions(brokers))
    const writer = await claimed(log)
    await writer.commit({ events: sampleEvents(1, 3) })
    const next = followed(log, 3, 1)
    await writer.commit({ events: [sampleEvent(4)] })
    expect(idsOf(await next)).toEqual(idsOf([sampleEvent(4)]))
  })
})

describe.skipIf(brokers.length === 0)('a reader of a partition', () => {
  it('reports when its position is beyond retention, and continues with the retained records', async () => {
    const { prefix } = await logWithAborted(1, 5)
    const topic = `${prefix}.all`
    await dropBefore(topic, 8)
    const { logger } = keepingLogger()
    const parts = {
      openSession: kafkaSessions(kafkaLogOptions(brokers).connection, logger),
      clock: systemClock,
      logger,
    }
    const ended = new AbortController()
    for await (const { records, rewound, atEnd } of readPartition(parts, topic, 2, ended.signal)) {
      expect(rewound).toMatchObject({ asked: 2, earliest: 8 })
      expect(records.map(({ offset }) => offset)).toEqual([8, 9, 10])
      expect(atEnd).toBe(true)
      ended.abort()
    }
  })
})

describe.skipIf(brokers.length === 0)('a claim', () => {
  it('refuses to begin a log that has events but no state', async () => {
    const options = kafkaLogOptions(brokers)
    const log = logs.open(options)
    await log.campaign(new AbortController().signal)
    await writeEvents(options.topics.prefix, 1)
    await expect(claimed(log)).rejects.toEqual(damaged)
  })

  it('refuses a state that counts fewer events than exist, or more', async () => {
    const options = kafkaLogOptions(brokers)
    const log = logs.open(options)
    await (await claimed(log)).commit({ events: sampleEvents(1, 2) })
    await writeEvents(options.topics.prefix, 9)
    await expect(claimed(log)).rejects.toEqual(damaged)
  })

  it('of a log whose events are all beyond retention reports none before its end, and continues after it', async () => {
    const options = kafkaLogOptions(brokers)
    const log = logs.open(options)
    await (await claimed(log)).commit({ events: sampleEvents(1, 2) })
    const signal = AbortSignal.timeout(20_000)
    expect(await log.end(signal)).toEqual({ epoch: expect.any(String), sequence: 2 })
    // Two events and the end of their transaction.
    await dropBefore(`${options.topics.prefix}.all`, 3)
    expect(await log.end(signal)).toEqual({ epoch: expect.any(String), sequence: 2, allDropped: true })
    expect(await log.oldest(signal)).toBe(null)
    expect(await (await claimed(log)).commit({ events: sampleEvents(3, 3) })).toMatchObject([{ sequence: 3 }])
  })

  it('stops when its signal aborts during a Kafka outage', async () => {
    const log = logs.open(kafkaLogOptions(['127.0.0.1:1']))
    const ended = new AbortController()
    const campaign = log.campaign(ended.signal)
    const reason = new Error('stopping')
    ended.abort(reason)
    await expect(campaign).rejects.toBe(reason)
  })
})

/** Deletes the records before that offset, as retention does. */
async function dropBefore(topic: string, offset: number): Promise<void> {
  const admin = kafkaClient(brokers).admin()
  await admin.connect()
  await admin.fetchTopicMetadata({ topics: [topic] })
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(offset) }] })
  await admin.disconnect()
}

/** Events that the product's writer did not write, as a mirror copies them. */
async function writeEvents(prefix: string, ...sequences: readonly number[]): Promise<void> {
  const producer = kafkaClient(brokers).producer()
  await producer.connect()
  const messages = sequences.map((sequence) => {
    const event = { ...sampleEvent(sequence), sequence, epoch: 'AAAAAAAA' }
    return eventRecord(event, sequence)
  })
  await producer.send({ topic: `${prefix}.all`, messages })
  await producer.disconnect()
}

/** Sends records to the topic as another program does. */
async function sendForeign(topic: string, count: number): Promise<void> {
  const producer = kafkaClient(brokers).producer()
  await producer.connect()
  for (let n = 0; n < count; n++)
    await producer.send({ topic, messages: [{ key: 'foreign', value: 'hello', partition: 0 }] })
  await producer.disconnect()
}
