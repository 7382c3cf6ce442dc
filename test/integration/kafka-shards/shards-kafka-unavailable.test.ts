/** Tests the shards of a process whose connection to Kafka fails, for a moment and for longer than a session. */
import { describe, expect, it } from 'vitest'
import { aborted } from '../../../src/lifecycle/aborted.ts'
import { beginOwning, foundBy, putRow } from '../../log/owning.ts'
import { eventually } from '../../support/http/api-client.ts'
import { kafkaRuntime } from '../../support/kafka/for-tests.ts'
import { kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'
import { useProxiedCluster } from '../../support/kafka/proxy/proxied-cluster.ts'

const runtime = await kafkaRuntime()
/** Kafka's number for Produce. */
const PRODUCE = 0

describe.skipIf(runtime === null)('shards behind an unreliable connection', () => {
  const kafka = useProxiedCluster(runtime)

  it('keep their owner when the connection is cut, and writes during the cut arrive in order', async () => {
    const log = kafka.logs.open(kafkaLogOptions(kafka.behindProxy))
    const owner = beginOwning(log, 'words', 2)
    await owner.holds(2)
    const shard = await owner.shard(1)
    await putRow(shard, 'before', 1)
    const writes = Array.from({ length: 50 }, (_, n) => putRow(shard, 'last', n))
    kafka.proxy.cut()
    writes.push(...Array.from({ length: 50 }, (_, n) => putRow(shard, 'last', 50 + n)))
    await Promise.all(writes)
    expect(shard.lost.aborted).toBe(false)
    await owner.stop()
    expect((await foundBy(log, 'words', 2))[1]).toEqual({ before: 1, last: 99 })
  })

  it('are lost once the group may reassign them, move to another owner, and return by themselves', async () => {
    const options = kafkaLogOptions(kafka.behindProxy)
    const owner = beginOwning(kafka.logs.open(options), 'words', 2)
    await owner.holds(2)
    const shard = await owner.shard(0)
    await putRow(shard, 'a', 1)
    const away = kafka.proxy.refuse()
    kafka.proxy.cut()
    const write = putRow(shard, 'a', 2)
    await aborted(shard.lost)
    await expect(write).rejects.toMatchObject({ code: 'shard_lost' })
    const other = beginOwning(
      kafka.logs.open(kafkaLogOptions(kafka.cluster.brokers, options.topics.prefix)),
      'words',
      2,
    )
    const taken = await other.shard(0)
    expect(taken.rows.get('a')).toBe(1)
    await putRow(taken, 'a', 3)
    away.lift()
    await owner.holds(1)
    await other.stop()
    await owner.holds(2)
    expect((await owner.shard(0)).rows.get('a')).toBe(3)
    await owner.stop()
  })

  it('are reported as not loaded while acquiring them fails', async () => {
    const shards = kafka.logs.open(kafkaLogOptions(kafka.behindProxy)).shards<number>('words', 2)
    expect(shards.loadingSinceMs).toBeNull()
    const held = kafka.proxy.hold(PRODUCE)
    const stop = new AbortController()
    let loaded = 0
    const owning = shards.own(async () => {
      loaded += 1
      await aborted(stop.signal)
    }, stop.signal)
    await held.caught()
    const sinceMs = shards.loadingSinceMs ?? Number.NaN
    expect(Date.now() - sinceMs).toBeGreaterThanOrEqual(0)
    expect(loaded).toBe(0)
    held.release()
    await eventually(
      () => loaded,
      (count) => count === 2,
    )
    expect(shards.loadingSinceMs).toBeNull()
    stop.abort()
    await owning
  })
})
