/** Tests the tables of a process that was cut off for so long that the records it missed are gone. */
import kafkajs from 'kafkajs'
import { describe, expect, it } from 'vitest'
import { DAY_MS } from '../../../src/core/durations.ts'
import { type Clock, systemClock } from '../../../src/lifecycle/clock.ts'
import type { Log } from '../../../src/log/log.ts'
import type { Change } from '../../../src/log/tables.ts'
import { boundedRead } from '../../../src/log-kafka/client/bounded-read.ts'
import { kafkaSessions } from '../../../src/log-kafka/client/client.ts'
import { newest } from '../../../src/log-kafka/reading/offset-lookup.ts'
import { eventually } from '../../support/http/api-client.ts'
import { kafkaClient } from '../../support/kafka/clients.ts'
import { kafkaRuntime } from '../../support/kafka/for-tests.ts'
import { kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'
import { useProxiedCluster } from '../../support/kafka/proxy/proxied-cluster.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'

const runtime = await kafkaRuntime()

describe.skipIf(runtime === null)('a table of a process that was disconnected', () => {
  const kafka = useProxiedCluster(runtime, { 'log.cleaner.backoff.ms': '100' })

  /** Two processes; the first is disconnected with `a` and `b` in its table, and `told` collects its later changes. */
  async function cutOff(clock: Clock = systemClock) {
    const options = { ...kafkaLogOptions(kafka.behindProxy), clock }
    const { prefix } = options.topics
    const cut = kafka.logs.open(options)
    const other = kafka.logs.open(kafkaLogOptions(kafka.cluster.brokers, prefix))
    await cut.table('t').put('a', 1)
    await cut.table('t').put('b', 1)
    const told = listen(cut)
    const away = kafka.proxy.refuse()
    kafka.proxy.cut()
    await away.caught()
    return { cut, other: other.table<number>('t'), told, away, topic: `${prefix}.internal.tables` }
  }

  it('after a deleted part of the topic reports only the differences, and no existing row as deleted', async () => {
    const { cut, other, told, away, topic } = await cutOff()
    await other.delete('a')
    await other.put('b', 2)
    await other.put('c', 3)
    await dropBefore(topic, 3)
    expect(await cut.table('t').load()).toEqual(new Map(Object.entries({ a: 1, b: 1 })))
    away.lift()
    await eventually(
      () => told.length,
      (count) => count >= 3,
    )
    expect(told.map(({ key, value }) => [key, value])).toEqual([
      ['a', null],
      ['b', 2],
      ['c', 3],
    ])
    expect(await cut.table('t').load()).toEqual(new Map(Object.entries({ b: 2, c: 3 })))
    await cut.table('t').put('d', 4)
    expect((await cut.table('t').load()).get('d')).toBe(4)
  })

  it('for longer than tombstones are kept still reports the deleted rows', async () => {
    let aheadMs = 0
    const clock: Clock = { now: () => systemClock.now() + aheadMs, after: systemClock.after }
    const { cut, other, told, away, topic } = await cutOff(clock)
    await other.delete('a')
    await forgetDeletions(topic)
    let turn = 0
    await eventually(
      async () => {
        await other.put('filler', turn++)
        return keysIn(topic)
      },
      (keys) => !keys.includes('t/a'),
    )
    aheadMs = DAY_MS
    away.lift()
    await other.put('end', 1)
    await eventually(
      () => told.some(({ key }) => key === 'end'),
      (isThere) => isThere,
    )
    expect(told).toContainEqual({ key: 'a', value: null })
    expect((await cut.table('t').load()).has('a')).toBe(false)
    expect((await cut.table('t').load()).get('b')).toBe(1)
  })

  /** The keys of all retained records, tombstones included. */
  function keysIn(topic: string): Promise<string[]> {
    const { logger } = keepingLogger()
    const connection = { brokers: kafka.cluster.brokers, clientId: 'test', tls: null, sasl: null }
    const parts = { openSession: kafkaSessions(connection, logger), clock: systemClock }
    const all = { limit: Number.POSITIVE_INFINITY }
    return boundedRead(parts, 'reading', AbortSignal.timeout(30_000), (partitions) =>
      newest(partitions, topic, all, ({ key }) => String(key)),
    )
  }

  /** Deletes the records before that offset, as retention does; a compacted topic needs a setting for it. */
  async function dropBefore(topic: string, offset: number): Promise<void> {
    const admin = kafkaClient(kafka.cluster.brokers).admin()
    await admin.connect()
    await setConfig(topic, { 'cleanup.policy': 'compact,delete' })
    await admin.fetchTopicMetadata({ topics: [topic] })
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(offset) }] })
    await admin.disconnect()
  }

  /** Makes the broker delete tombstones as soon as it can. */
  const forgetDeletions = (topic: string): Promise<void> =>
    setConfig(topic, {
      'cleanup.policy': 'compact',
      'delete.retention.ms': '0',
      'min.cleanable.dirty.ratio': '0',
      'segment.ms': '50',
    })

  async function setConfig(topic: string, config: Record<string, string>): Promise<void> {
    const admin = kafkaClient(kafka.cluster.brokers).admin()
    await admin.connect()
    const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }))
    const resources = [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configEntries }]
    await admin.alterConfigs({ validateOnly: false, resources })
    await admin.disconnect()
  }
})

/** Every change of the table `t` reported from now on. */
function listen(log: Log): Change<unknown>[] {
  const told: Change<unknown>[] = []
  const changes = log.table('t').changes(new AbortController().signal)
  void (async () => {
    for await (const batch of changes) told.push(...batch)
  })()
  return told
}
