/** Tests that a shard's records decide its owner when the group's assignment, made by hand here, is out of date. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { aborted } from '../../../src/lifecycle/aborted.ts'
import { sleep, systemClock } from '../../../src/lifecycle/clock.ts'
import type { Log } from '../../../src/log/log.ts'
import type { Shard } from '../../../src/log/shards.ts'
import { type KafkaSession, kafkaSessions } from '../../../src/log-kafka/client/client.ts'
import type { KafkaRecord } from '../../../src/log-kafka/client/partition-protocol.ts'
import type { ShardAssignment } from '../../../src/log-kafka/shards/shard-group.ts'
import { NOTICE_MS } from '../../../src/log-kafka/shards/shard-lease.ts'
import { KafkaShards } from '../../../src/log-kafka/shards/shards.ts'
import { controlRecord, rowRecord, ShardFold } from '../../../src/log-kafka/shards/valid-records.ts'
import { ensureTopics } from '../../../src/log-kafka/topics/topic-setup.ts'
import { shardsPlan } from '../../../src/log-kafka/topics/topics.ts'
import { beginOwning, type Owner, putRow, puts, type Row } from '../../log/owning.ts'
import { eventually } from '../../support/http/api-client.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'

const brokers = await sharedBrokers()
const lost = expect.objectContaining({ code: 'shard_lost' })

describe.skipIf(brokers === null)('shards whose owner the group has removed', () => {
  let topic: string
  let session: KafkaSession
  let closing: AbortController
  const owners: Owner[] = []
  const { connection, logger, topics } = kafkaLogOptions(brokers ?? [])
  const openSession = kafkaSessions(connection, logger)
  let turn = 0

  beforeEach(async () => {
    closing = new AbortController()
    session = openSession()
    const plan = shardsPlan(`fence${turn++}`, 2)
    topic = `${topics.prefix}.${plan.topic}`
    const parts = { openSession, clock: systemClock, logger, settings: topics, named: 1 }
    await ensureTopics(parts, [plan], closing.signal)
  })
  afterEach(async () => {
    await Promise.all(owners.splice(0).map((owner) => owner.stop()))
    closing.abort()
    session.end()
  })

  /** Shards of a process whose assignment the test makes; both at first. */
  function shardsByHand() {
    let assignment: Pick<ShardAssignment, 'assigned' | 'expelled'> | null = null
    const kept = keepingLogger()
    const shards = new KafkaShards<Row>(
      {
        ...{ openSession, clock: systemClock, logger: kept.logger, closed: closing.signal },
        open: () => undefined,
        ready: async () => undefined,
        async assign(place, signal) {
          assignment = place
          place.assigned([0, 1])
          await aborted(signal)
        },
      },
      { topic, groupId: 'by hand', count: 2 },
    )
    return {
      shards,
      lines: kept.lines,
      give: (...given: number[]) => assignment?.assigned(given),
      expel: (heardMs: number) => assignment?.expelled('by hand', heardMs),
    }
  }
  /** Such a process, which keeps every assigned shard. */
  function begin() {
    const { shards, give } = shardsByHand()
    const owner = beginOwning({ shards: () => shards } as unknown as Log, 'by hand', 2)
    owners.push(owner)
    return { owner, give }
  }
  /** Every record of the first shard. */
  async function records(): Promise<KafkaRecord[]> {
    const [nodeId = ''] = (await session.partitions.leaders(topic, [0])).keys()
    const all: KafkaRecord[] = []
    for (let offset = 0; ; ) {
      const how = { maxWaitMs: 50, maxBytes: 1_000_000 }
      const fetched = (await session.partitions.fetchFrom(nodeId, topic, new Map([[0, offset]]), how)).get(0)
      if (fetched === undefined || fetched.nextOffset === offset) return all
      all.push(...fetched.records)
      offset = fetched.nextOffset
    }
  }
  const tokenNow = async (): Promise<string> => {
    const fold = new ShardFold()
    for (const record of await records()) fold.take(record)
    return String(fold.token)
  }
  /** Writes to the first shard as an owner with that fencing token would. */
  async function writeAs(token: string, number: number, rows: Record<string, string | null>): Promise<void> {
    const [nodeId = ''] = (await session.partitions.leaders(topic, [0])).keys()
    const late = Object.entries(rows).map(([key, text], n) => rowRecord(0, { key, text }, token, number + n))
    const results = await session.partitions.append(nodeId, topic, new Map([[0, late]]))
    expect([...results.values()]).toEqual([expect.any(Number)])
  }
  /** The rows that the next owner finds in the first shard. */
  async function found(): Promise<Record<string, Row>> {
    const next = begin()
    const { rows } = await next.owner.shard(0)
    await next.owner.stop()
    return Object.fromEntries(rows)
  }
  /** Waits until every invalid record is followed by a valid one for its key. */
  async function answered(): Promise<void> {
    await eventually(
      async () => {
        const fold = new ShardFold()
        for (const record of await records()) fold.take(record)
        return fold.staleKeys.size
      },
      (late) => late === 0,
    )
  }

  it('are lost to the next owner, and a late write throws and changes nothing', async () => {
    const first = begin()
    const shard = await first.owner.shard(0)
    await putRow(shard, 'a', 1)
    const second = begin()
    const taken = await second.owner.shard(0)
    expect(Object.fromEntries(taken.rows)).toEqual({ a: 1 })
    const writes = [1, 2, 3].map((n) => putRow(shard, 'a', `late ${n}`))
    for (const result of await Promise.allSettled(writes)) expect(result).toMatchObject({ reason: lost })
    await aborted(shard.lost)
    first.give()
    await putRow(taken, 'b', 2)
    expect([taken.lost.aborted, await found()]).toEqual([false, { a: 1, b: 2 }])
  })

  it('move to the next owner after the old one has finished, with all its last writes', async () => {
    const first = shardsByHand()
    const [stopping, ended] = [new AbortController(), Promise.withResolvers<void>()]
    const held: Shard<Row>[] = []
    const owning = first.shards.own(async (shard) => {
      held.push(shard)
      await aborted(AbortSignal.any([shard.releasing, stopping.signal]))
      await ended.promise
      await putRow(shard, 'last', shard.number)
    }, stopping.signal)
    await eventually(
      () => held.length,
      (count) => count === 2,
    )
    const second = begin()
    first.give()
    // A silent owner would have lost them by then.
    await sleep(systemClock, 2 * NOTICE_MS)
    expect(second.owner.held.size).toBe(0)
    expect(held.map(({ lost }) => lost.aborted)).toEqual([false, false])
    ended.resolve()
    const shard = await second.owner.shard(1)
    expect(Object.fromEntries(shard.rows)).toEqual({ last: 1 })
    stopping.abort()
    await owning
  })

  it('count as not loaded from the owner’s last contact with its group', async () => {
    const { shards, lines, give, expel } = shardsByHand()
    const owner = beginOwning({ shards: () => shards } as unknown as Log, 'by hand', 2)
    owners.push(owner)
    await owner.holds(2)
    const [one, other] = [...owner.held.values()]
    expect(shards.loadingSinceMs).toBeNull()
    expel(123)
    expect([shards.loadingSinceMs, one?.lost.aborted, other?.lost.aborted]).toEqual([123, true, true])
    const said = { level: 'warn', event: 'shards.lost', fields: { changed: 2, reason: 'by hand' } }
    expect(lines.at(-1)).toMatchObject(said)
    give(0, 1)
    await eventually(
      () => owner.came.length,
      (count) => count === 4,
    )
    expect(shards.loadingSinceMs).toBeNull()
  })

  it('keep their rows despite late writes of a lost owner: changed rows, unchanged ones, deleted ones', async () => {
    const first = begin()
    await (await first.owner.shard(0)).write(puts({ changed: 1, left: 1, deleted: 1, gone: 1 }))
    const token = await tokenNow()
    const second = begin()
    const shard: Shard<Row> = await second.owner.shard(0)
    first.give()
    await shard.write([...puts({ changed: 2 }), { key: 'deleted', value: null }])
    await writeAs(token, 5, {
      changed: '"late"',
      left: '"late"',
      deleted: '"late"',
      gone: null,
      new: '"late"',
    })
    await putRow(shard, 'after', 1)
    await answered()
    await writeAs(token, 20, { left: '"later"' })
    await second.owner.stop()
    const rows = { changed: 2, left: 1, gone: 1, after: 1 }
    expect(await found()).toEqual(rows)
    // While the shard had no owner; the next owner rewrites the rows, and the third finds the same.
    await writeAs(token, 30, { changed: null, deleted: '"latest"' })
    expect(await found()).toEqual(rows)
    const last = begin()
    await last.owner.shard(0)
    await answered()
  })

  it('do not change when a request is duplicated and arrives late', async () => {
    const first = begin()
    const shard = await first.owner.shard(0)
    await shard.write(puts({ a: 'old', b: 'old' }))
    await shard.write(puts({ a: 'new' }))
    await writeAs(await tokenNow(), 1, { a: '"old"', b: '"old"' })
    await answered()
    expect(shard.lost.aborted).toBe(false)
    expect(await found()).toEqual({ a: 'new', b: 'old' })
  })

  it('are reloaded by an owner that the group still lists, after another acquired them by mistake', async () => {
    const first = begin()
    const shard = await first.owner.shard(0)
    await putRow(shard, 'a', 1)
    const [nodeId = ''] = (await session.partitions.leaders(topic, [0])).keys()
    const stray = new Map([[0, [controlRecord(0, 'epoch', 'stray')]]])
    await session.partitions.append(nodeId, topic, stray)
    await aborted(shard.lost)
    await expect(putRow(shard, 'a', 2)).rejects.toEqual(lost)
    await writeAs('stray', 1, { a: '"stray"' })
    await first.owner.holds(2)
    const again = await first.owner.shard(0)
    expect([again === shard, again.rows.get('a')]).toEqual([false, 'stray'])
    await putRow(again, 'a', 3)
    expect(await found()).toEqual({ a: 3 })
  })

  it('end the ownership when they contain a foreign record', async () => {
    await writeAs('', 1, { a: '1' })
    const owner = begin().owner
    owners.splice(0)
    await expect(owner.ended).rejects.toMatchObject({ code: 'log_damaged' })
  })
})
