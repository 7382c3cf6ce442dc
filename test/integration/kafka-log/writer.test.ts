/** Tests what a writer leaves in Kafka, as external readers see it, and how two writers affect each other. */

import { afterEach, describe, expect, it } from 'vitest'
import { readDisclosure } from '../../../src/core/disclosure.ts'
import { disclosureEvent, type NewEvent } from '../../../src/core/event.ts'
import type { FaultHooks } from '../../../src/log/fault-hooks.ts'
import {
  claimed,
  followed,
  gapOpened,
  idsOf,
  START_MS,
  sampleEvent,
  sampleEvents,
  sampleGap,
  sampleRejected,
} from '../../log/samples.ts'
import { kafkaClient, uniqueName } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { createLogKeeper, kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'
import { readTopic } from '../../support/kafka/read-topic.ts'
import { newestRejected } from '../../support/newest-rejected.ts'

const brokers = (await sharedBrokers()) ?? []
const logs = createLogKeeper()
afterEach(() => logs.closeAll())

/** The n-th item, with these FCA codes, native codes and text of this length. */
function itemWith(n: number, codes: { fca?: string[]; native?: string[]; filler?: string }): NewEvent {
  const tags = (kind: string, list: string[] = []) => list.map((code) => ({ kind, code }))
  const item = {
    guid: `urn:newsml:example:${n}`,
    timestamp: new Date(START_MS + n).toISOString(),
    headline: `Item ${n} ${codes.filler ?? ''}`,
    issuer: { lei: '213800EXAMPLE0000001' },
    category: [...tags('FCA', codes.fca), ...tags('Native', codes.native), { kind: 'RNS', code: 'X' }],
  }
  const read = readDisclosure(item)
  if (!read.ok) throw new Error(read.reason)
  const held = { data: JSON.stringify(item), revision: 1, recordedMs: START_MS, late: false }
  return disclosureEvent(read.disclosure, held)
}

describe.skipIf(brokers.length === 0)('the records of a commit', () => {
  it('carry every attribute as a header, the item as value, the issuer as key', async () => {
    const options = kafkaLogOptions(brokers)
    const log = logs.open(options)
    const writer = await claimed(log)
    const [event] = await writer.commit({
      events: [
        {
          ...itemWith(1, { fca: ['REN'] }),
          ...{ late: true, replacesid: 'urn:0', foundBy: 'fill', journey: 'sent=412 scan=fill' },
        },
      ],
    })
    const [record] = await readTopic(kafkaClient(brokers), `${options.topics.prefix}.all`, 1)
    expect(record).toMatchObject({ key: '213800EXAMPLE0000001', value: event?.data })
    expect(record?.headers).toEqual({
      'content-type': 'application/json',
      ce_specversion: '1.0',
      ce_id: 'urn:newsml:example:1',
      ce_source: '/disclosures/sources/rns',
      ce_type: 'disclosure.published.v1',
      ce_time: new Date(START_MS + 1).toISOString(),
      ce_subject: '213800EXAMPLE0000001',
      ce_sequence: '00000000000000000001',
      ce_epoch: writer.state.head.epoch,
      ce_cursor: expect.stringMatching(/^[A-Za-z0-9_-]{39}$/),
      ce_recordedtime: new Date(START_MS).toISOString(),
      ce_late: 'true',
      ce_replacesid: 'urn:0',
      ce_topicsequence: '1',
      foundby: 'fill',
      journey: 'sent=412 scan=fill',
      topics: 'fca.REN',
    })
    const [stored] = await followed(log, 0, 1)
    expect(stored).toMatchObject({ foundBy: 'fill', journey: 'sent=412 scan=fill', topics: ['fca.REN'] })
    expect(Math.abs((stored?.committedMs ?? 0) - Date.now())).toBeLessThan(60_000)
  })

  it('are in every topic of their categories, each topic numbered over claims without a gap', async () => {
    const options = { ...kafkaLogOptions(brokers), knownCodes: { fca: ['REN'], native: ['ME'] } }
    const { prefix } = options.topics
    const log = logs.open(options)
    const gap = sampleGap('one')
    const events = [
      itemWith(1, { fca: ['REN', 'NEW 1'], native: ['ME'] }),
      itemWith(2, { fca: ['REN'] }),
      gapOpened(gap),
    ]
    await (await claimed(log)).commit({ events, rejected: [sampleRejected(1)] })
    await (await claimed(log)).commit({ events: [itemWith(3, { fca: ['NEW.1'], native: ['ME'] })] })
    const kafka = kafkaClient(brokers)
    const seen = async (topic: string, count: number) =>
      (await readTopic(kafka, `${prefix}.${topic}`, count)).map(({ headers }) => [
        Number(headers.ce_sequence),
        Number(headers.ce_topicsequence),
      ])
    expect(await seen('all', 4)).toEqual([1, 2, 3, 4].map((n) => [n, n]))
    const [ren, fresh, native, gaps, [rejected]] = await Promise.all([
      seen('fca.REN', 2),
      seen('fca.NEW_1', 2),
      seen('native.ME', 2),
      seen('gaps', 1),
      readTopic(kafka, `${prefix}.rejected`, 1),
    ])
    expect(ren).toEqual([
      [1, 1],
      [2, 2],
    ])
    expect(fresh).toEqual([
      [1, 1],
      [4, 2],
    ])
    expect(native).toEqual([
      [1, 1],
      [4, 2],
    ])
    expect(gaps).toEqual([[3, 1]])
    const { raw, reason, recordedtime } = sampleRejected(1)
    expect(rejected).toMatchObject({ value: raw, headers: { reason, recordedtime } })
  })

  it('of a new code whose existing topic has several partitions go to the shared topic', async () => {
    const options = kafkaLogOptions(brokers)
    const { prefix } = options.topics
    const writer = await claimed(logs.open(options))
    const kafka = kafkaClient(brokers)
    const admin = kafka.admin()
    await admin.connect()
    const topics = [{ topic: `${prefix}.fca.ADM`, numPartitions: 3 }]
    await admin.createTopics({ topics, waitForLeaders: false })
    await admin.disconnect()
    const events = [itemWith(1, { fca: ['ADM', 'NEW'] }), itemWith(2, { fca: ['ADM'] })]
    await writer.commit({ events })
    const seen = async (topic: string, count: number) =>
      (await readTopic(kafka, `${prefix}.${topic}`, count)).map(({ headers }) => headers.ce_id)
    expect(await seen('fca.NEW', 1)).toEqual(['urn:newsml:example:1'])
    expect(await seen('fca._other', 2)).toEqual(['urn:newsml:example:1', 'urn:newsml:example:2'])
  })

  it('of codes beyond ten new ones an hour go to the shared topic, and stay there', async () => {
    const options = kafkaLogOptions(brokers)
    const log = logs.open(options)
    const codes = Array.from({ length: 12 }, (_, n) => `C${n}`)
    await (await claimed(log)).commit({ events: codes.map((code, n) => itemWith(n, { fca: [code] })) })
    await (await claimed(log)).commit({
      events: [itemWith(20, { fca: ['C0'] }), itemWith(21, { fca: ['C11'] })],
    })
    const kafka = kafkaClient(brokers)
    const idsIn = async (topic: string, count: number) =>
      (await readTopic(kafka, `${options.topics.prefix}.${topic}`, count)).map(({ headers }) => headers.ce_id)
    const named = (...numbers: number[]) => numbers.map((n) => `urn:newsml:example:${n}`)
    expect(await Promise.all([idsIn('fca.C0', 2), idsIn('fca._other', 3)])).toEqual([
      named(0, 20),
      named(10, 11, 21),
    ])
  })

  it('may exceed what a broker accepts in one batch', async () => {
    const log = logs.open(kafkaLogOptions(brokers))
    const filler = 'x'.repeat(3_000)
    const events = Array.from({ length: 1_000 }, (_, n) => itemWith(n, { filler }))
    const writer = await claimed(log)
    const largest = itemWith(1_001, { filler: 'y'.repeat(511 * 1024) })
    await writer.commit({ events })
    await writer.commit({ events: [largest, largest, largest] })
    expect(idsOf(await followed(log, 0, 1_003))).toEqual(idsOf([...events, largest, largest, largest]))
  })

  it('keep a rejected item of several MiB unchanged', async () => {
    const log = logs.open(kafkaLogOptions(brokers))
    const writer = await claimed(log)
    const huge = { ...sampleRejected(1), raw: 'z'.repeat(3 * 1024 * 1024) }
    await writer.commit({ events: [], rejected: [sampleRejected(0), huge, sampleRejected(2)] })
    expect(await newestRejected(log, 9)).toEqual([sampleRejected(0), huge, sampleRejected(2)])
  })
})

describe.skipIf(brokers.length === 0)('a commit', () => {
  it('does not begin while a topic has records of another open transaction, because ending it would end both', async () => {
    const options = kafkaLogOptions(brokers)
    const log = logs.open(options)
    const writer = await claimed(log)
    await writer.commit({ events: [sampleEvent(1)] })
    const topic = `${options.topics.prefix}.all`
    const other = kafkaClient(brokers).producer({
      transactionalId: uniqueName('other'),
      maxInFlightRequests: 1,
    })
    await other.connect()
    const open = await other.transaction()
    await open.send({ topic, messages: [{ value: 'undecided', partition: 0 }] })
    await expect(writer.commit({ events: [sampleEvent(2)] })).rejects.toMatchObject({
      code: 'log_unknown',
      message: expect.stringContaining(`${topic} has records of an unfinished transaction`),
    })
    await open.abort()
    await other.disconnect()
    const next = await claimed(log)
    expect(next.state.head.sequence).toBe(1)
    await next.commit({ events: [sampleEvent(3)] })
    expect(idsOf(await followed(log, 0, 2))).toEqual(idsOf([sampleEvent(1), sampleEvent(3)]))
  })
})

describe.skipIf(brokers.length === 0)('two processes', () => {
  it('one suspended in the middle of a commit: its records never become visible', async () => {
    const options = kafkaLogOptions(brokers)
    const { promise: goOn, resolve: wake } = Promise.withResolvers<void>()
    const { promise: written, resolve: stop } = Promise.withResolvers<void>()
    const faultHooks: FaultHooks = {}
    const zombie = await claimed(logs.open({ ...options, faultHooks }))
    faultHooks.afterSend = () => {
      stop()
      return goOn
    }
    const late = zombie.commit({ events: sampleEvents(1, 3), rejected: [sampleRejected(1)] })
    const fenced = expect(late).rejects.toMatchObject({ code: 'log_fenced' })
    await written
    const successor = logs.open(options)
    const writer = await claimed(successor)
    await writer.commit({ events: [sampleEvent(7)] })
    wake()
    await fenced
    await writer.commit({ events: [sampleEvent(8)] })
    const records = await readTopic(kafkaClient(brokers), `${options.topics.prefix}.all`, 2)
    expect(records.map(({ headers }) => headers.ce_id)).toEqual(idsOf([sampleEvent(7), sampleEvent(8)]))
    expect(await newestRejected(successor, 9)).toEqual([])
  })

  it('one leading and committing while the other claims: the first is fenced, and nothing is damaged', async () => {
    const faultHooks: FaultHooks = {}
    const options = kafkaLogOptions(brokers)
    const [slow, quick] = [logs.open({ ...options, faultHooks }), logs.open(options)]
    for (const n of [1, 2]) {
      faultHooks.afterFencingToken = async () => {
        await (await claimed(quick)).commit({ events: [sampleEvent(n)] })
      }
      await expect(claimed(slow)).rejects.toMatchObject({ code: 'log_fenced' })
    }
    delete faultHooks.afterFencingToken
    expect((await claimed(slow)).state.head.sequence).toBe(2)
  })

  it('see each other’s values in tables, and earlier ones', async () => {
    const options = kafkaLogOptions(brokers)
    const [one, other] = [logs.open(options), logs.open(options)]
    await one.table('t').put('a', 1)
    const table = other.table<number>('t')
    const ended = new AbortController()
    const changes = table.changes(ended.signal)
    expect(await table.load()).toEqual(new Map([['a', 1]]))
    await one.table('t').put('a', 2)
    for await (const batch of changes) {
      expect(batch).toEqual([{ key: 'a', value: 2 }])
      ended.abort()
    }
    expect(await table.load()).toEqual(new Map([['a', 2]]))
  })

  it('starting at the same moment create the topics once', async () => {
    const options = kafkaLogOptions(brokers, uniqueName('both'))
    const both = [logs.open(options), logs.open(options)]
    const { signal } = new AbortController()
    await Promise.all(both.map((log) => log.campaign(signal)))
    expect(both.map(({ waitingFor }) => waitingFor)).toEqual([null, null])
  })
})
