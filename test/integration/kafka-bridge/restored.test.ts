/** Tests a log on Kafka that goes on in a new epoch, as after a fail-over to a mirror of its topics. */
import { afterEach, describe, expect, it } from 'vitest'
import { cursorOf } from '../../../src/core/event.ts'
import { eventRecord } from '../../../src/log-kafka/client/records.ts'
import type { KafkaLog, KafkaLogOptions } from '../../../src/log-kafka/log.ts'
import { claimed, followed, sampleEvent, sampleEvents, sequencesOf } from '../../log/samples.ts'
import {
  type BridgeProcess,
  bridgeEnv,
  runToEnd,
  startBridge,
  temporaryDirectory,
} from '../../support/bridge-process.ts'
import { type ApiEvent, bearer, eventually, getJson, pullAll } from '../../support/http/api-client.ts'
import { kafkaClient } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { createLogKeeper, kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'
import { readTopic } from '../../support/kafka/read-topic.ts'

const brokers = (await sharedBrokers()) ?? []
const logs = createLogKeeper()
afterEach(() => logs.closeAll())

const NO_UPSTREAM = { url: 'http://127.0.0.1:9/v2', key: 'none' }
const { signal } = new AbortController()

describe.skipIf(brokers.length === 0)('a log on Kafka with a new epoch', () => {
  it('keeps its events, continues their sequences, and says which epochs it had', async () => {
    const options = kafkaLogOptions(brokers)
    const log = logs.open(options)
    const before = await claimed(log)
    await before.commit({ events: sampleEvents(1, 5) })
    const epoch = await log.beginEpoch(() => new Map([['ledger/0', '{"poll":7}']]), signal)
    const old = before.state.head.epoch
    const earlier = { through: 5, epochs: { [old]: 5 } }
    expect(await log.end(signal)).toEqual({ epoch, sequence: 5, earlier })
    const writer = await claimed(logs.open(options))
    expect(writer.state).toMatchObject({ head: { epoch, sequence: 5 } })
    expect(writer.state.ledger.get(0)).toEqual({ poll: 7 })
    await writer.commit({ events: sampleEvents(6, 7) })
    expect(sequencesOf(await followed(log, 0, 7))).toEqual([1, 2, 3, 4, 5, 6, 7])
    const records = await readTopic(kafkaClient(brokers), `${options.topics.prefix}.all`, 7)
    expect(records.map(({ headers }) => headers.ce_epoch)).toEqual([...Array(5).fill(old), epoch, epoch])
    expect(records.map(({ headers }) => Number(headers.ce_topicsequence))).toEqual([1, 2, 3, 4, 5, 6, 7])
  })

  it('is refused where no log is', async () => {
    const log = logs.open(kafkaLogOptions(brokers))
    await expect(log.beginEpoch(() => new Map(), signal)).rejects.toMatchObject({ code: 'failed' })
  })
})

describe.skipIf(brokers.length === 0)('bridge restore with Kafka', () => {
  it('continues a mirror that lags, and gives a reader of the lost end a gap, so that it misses nothing', async () => {
    const lost = logs.open(kafkaLogOptions(brokers))
    const before = await claimed(lost)
    await before.commit({ events: sampleEvents(1, 8), head: { cursor: 'c' } })
    const mirror = await mirrorOf(lost, 8)
    await (await claimed(lost)).commit({ events: sampleEvents(101, 104) })
    const [last] = (await followed(lost, 0, 12)).slice(-1)
    using directory = temporaryDirectory()
    const kafka = { BRIDGE_KAFKA_BROKERS: brokers.join(','), BRIDGE_TOPIC_PREFIX: mirror.topics.prefix }
    const env = bridgeEnv(NO_UPSTREAM, directory.path, kafka)
    const restored = await runToEnd(['restore', '--json'], env)
    expect([restored.code, restored.stderr]).toEqual([0, expect.stringContaining('event 8 of epoch')])
    const writer = await claimed(logs.open(mirror))
    expect(writer.state.head).toMatchObject({ sequence: 8, cursor: 'c' })
    // The lost events come again in another order, and one that the lost log never had.
    await writer.commit({ events: [50, 104, 103, 102, 101].map(sampleEvent) })

    const bridge = await startBridge({ ...env, BRIDGE_ROLES: 'api' })
    await eventually(
      () => pullAll(bridge.ready.http),
      ({ length }) => length === 13,
    )
    const cursor = last === undefined ? '' : cursorOf(last)
    const url = `${bridge.ready.http}/v1/disclosures?limit=1000&after=${cursor}`
    const { data } = await getJson<{ data: ApiEvent[] }>(url, bearer)
    expect(data[0]).toMatchObject({ type: 'bridge.gap.opened.v1', data: { cause: 'epoch' } })
    const ids = data.slice(1).map(({ id }) => id)
    expect(ids.slice(-5)).toEqual([50, 104, 103, 102, 101].map((n) => sampleEvent(n).id))
    expect(await bridge.stop()).toBe(0)
  }, 60_000)

  it('is refused while a bridge leads, then begins an epoch that every reader gets with a gap', async () => {
    const options = kafkaLogOptions(brokers)
    const { prefix } = options.topics
    const log = logs.open(options)
    await (await claimed(log)).commit({ events: sampleEvents(1, 20) })
    using directory = temporaryDirectory()
    const kafka = { BRIDGE_KAFKA_BROKERS: brokers.join(','), BRIDGE_TOPIC_PREFIX: prefix }
    const env = bridgeEnv(NO_UPSTREAM, directory.path, kafka)
    const bridge = await startBridge(env)
    const before = await eventually(
      () => pullAll(bridge.ready.http),
      ({ length }) => length === 20,
    )
    await eventually(
      () => statusOf(bridge),
      ({ leader }) => leader.self,
    )
    const refused = await runToEnd(['restore'], env)
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('a bridge')])
    expect(await bridge.stop()).toBe(0)

    const restored = await runToEnd(['restore', '--json'], env)
    expect([restored.code, restored.stderr]).toEqual([0, expect.stringContaining('new epoch')])
    const result = JSON.parse(restored.stdout) as { epoch: string; previousEpoch: string; sequence: number }
    expect(result).toMatchObject({ restored: true, previousEpoch: before[0]?.epoch, sequence: 20 })
    await (await claimed(logs.open(options))).commit({ events: sampleEvents(21, 25) })

    const again = await startBridge(env)
    const after = await eventually(
      () => pullAll(again.ready.http),
      ({ length }) => length === 25,
    )
    expect(new Set(after.map(({ epoch }) => epoch))).toEqual(new Set([result.epoch]))
    const { cursor = '' } = before.at(-1) ?? {}
    const url = `${again.ready.http}/v1/disclosures?limit=1000&after=${cursor}`
    const { data } = await getJson<{ data: ApiEvent[] }>(url, bearer)
    expect(data[0]).toMatchObject({ type: 'bridge.gap.opened.v1', data: { cause: 'epoch' } })
    expect(
      data
        .slice(1)
        .map(({ sequence }) => Number(sequence))
        .at(-1),
    ).toBe(25)
    expect(data.slice(1).map(({ id }) => id)).toEqual(
      expect.arrayContaining(sampleEvents(21, 25).map(({ id }) => id)),
    )
    expect(await again.stop()).toBe(0)
  }, 120_000)
})

/** Copies the first `count` events of a log and the state after them to another prefix, as a mirror holds them. */
async function mirrorOf(log: KafkaLog, count: number): Promise<KafkaLogOptions> {
  const options = kafkaLogOptions(brokers)
  const { prefix } = options.topics
  const events = await followed(log, 0, count)
  const { epoch, sequence, rows } = await log.claim(await log.campaign(signal), signal)
  const state = [['head/epoch', JSON.stringify(epoch)], ['head/sequence', String(sequence)], ...rows]
  const mirror = logs.open(options)
  expect((await mirror.end(signal)).sequence).toBe(0)
  const producer = kafkaClient(brokers).producer()
  await producer.connect()
  await producer.send({
    topic: `${prefix}.all`,
    messages: events.map((event) => {
      const { key, value, headers } = eventRecord(event, event.sequence)
      return { key, value, headers: headers ?? {} }
    }),
  })
  await producer.send({
    topic: `${prefix}.internal.state`,
    messages: state.map(([key = '', value = '']) => ({ key, value })),
  })
  await producer.disconnect()
  return options
}

const statusOf = (bridge: BridgeProcess) =>
  getJson<{ leader: { self: boolean } }>(`${bridge.ready.http}/v1/status`)
