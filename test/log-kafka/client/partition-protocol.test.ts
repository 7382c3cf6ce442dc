/**
 * Tests how a fetch decodes the bytes of a broker's response. On real brokers:
 * `test/integration/kafka-log/reading.test.ts`.
 */
import Encoder from 'kafkajs/src/protocol/encoder.js'
import encodeRecord from 'kafkajs/src/protocol/recordBatch/record/v0/index.js'
import { RecordBatch } from 'kafkajs/src/protocol/recordBatch/v0/index.js'
import { describe, expect, it } from 'vitest'
import {
  type BrokerConnection,
  type Fetched,
  fetchPartitions,
} from '../../../src/log-kafka/client/partition-protocol.ts'

const CONTROL_BIT = 0x20
const ATTRIBUTES_AT = 21

/** A batch of producer 1 with records of these keys, at these offsets after `firstOffset`. */
async function batchOf(firstOffset: number, records: Record<string, number>, lastOffsetDelta = 9, how = {}) {
  const headers = { twice: [Buffer.from('a'), Buffer.from('b')] }
  const encoded = Object.entries(records).map(([key, offsetDelta]) =>
    encodeRecord({ key: Buffer.from(key, 'latin1'), value: null, headers, offsetDelta, timestampDelta: 0 }),
  )
  const times = { firstTimestamp: 1, maxTimestamp: 1 }
  const head = { firstOffset, lastOffsetDelta, producerId: 1, transactional: false, compression: 0 }
  return (await RecordBatch({ ...head, ...times, ...how, records: encoded })).buffer as Buffer
}

/** The end of a transaction of producer 1. */
async function markerOf(offset: number, type: 'abort' | 'commit'): Promise<Buffer> {
  const key = Buffer.from([0, 0, 0, type === 'abort' ? 0 : 1])
  const batch = await batchOf(offset, { [key.toString('latin1')]: 0 }, 0, { transactional: true })
  batch.writeInt16BE(batch.readInt16BE(ATTRIBUTES_AT) | CONTROL_BIT, ATTRIBUTES_AT)
  return batch
}

/** The result of a fetch from offset 5 when the broker responds with these batches. */
async function fetched(
  batches: Buffer[],
  aborted: [producerId: number, first: number][] = [],
): Promise<Fetched> {
  const bytes = Buffer.concat(batches)
  const response = new Encoder().writeInt32(0).writeInt16(0).writeInt32(0).writeInt32(1).writeString('t')
  response.writeInt32(1).writeInt32(0).writeInt16(0).writeInt64(100).writeInt64(90).writeInt64(0)
  response.writeInt32(aborted.length)
  for (const [producerId, first] of aborted) response.writeInt64(producerId).writeInt64(first)
  response.writeInt32(-1).writeInt32(bytes.length).writeBufferInternal(bytes)
  const broker: BrokerConnection = {
    connectionPool: {
      send: async (call) => call.response.parse(await call.response.decode(response.buffer)),
    },
  }
  const found = await fetchPartitions(broker, 't', new Map([[0, 5]]), { maxWaitMs: 0, maxBytes: 1 })
  return found.get(0) as Fetched
}

const keysOf = ({ records }: Fetched): string[] => records.map(({ offset, key }) => `${offset}:${key}`)

describe('a fetch', () => {
  it('returns the records from the requested offset on, with every value of a header', async () => {
    const read = await fetched([await batchOf(4, { early: 0, a: 1, b: 3 })])
    expect(keysOf(read)).toEqual(['5:a', '7:b'])
    expect(read.records[0]?.headers.twice).toEqual([Buffer.from('a'), Buffer.from('b')])
    expect([read.nextOffset, read.lastStableOffset]).toEqual([14, 90])
  })

  it('continues after records that compaction has removed, also a whole batch', async () => {
    expect(await fetched([await batchOf(5, {}, 4)])).toMatchObject({ records: [], nextOffset: 10 })
  })

  it('leaves a last batch that is cut off to the next fetch', async () => {
    const cut = (await batchOf(15, { b: 0 })).subarray(0, -1)
    const read = await fetched([await batchOf(5, { a: 0 }), cut])
    expect([keysOf(read), read.nextOffset]).toEqual([['5:a'], 15])
    expect(await fetched([cut.subarray(0, 7)])).toMatchObject({ records: [], nextOffset: 5 })
  })

  it('reads compressed batches', async () => {
    expect(keysOf(await fetched([await batchOf(5, { a: 0, b: 1 }, 1, { compression: 1 })]))).toEqual([
      '5:a',
      '6:b',
    ])
  })

  it('leaves out aborted transactions and every marker, and nothing else', async () => {
    const sent = (offset: number, key: string) => batchOf(offset, { [key]: 0 }, 0, { transactional: true })
    const read = await fetched(
      [
        await sent(5, 'aborted'),
        await batchOf(6, { plain: 0 }, 0),
        await markerOf(7, 'abort'),
        await sent(8, 'committed'),
        await markerOf(9, 'commit'),
      ],
      [[1, 5]],
    )
    expect(keysOf(read)).toEqual(['6:plain', '8:committed'])
    expect(read.nextOffset).toBe(10)
  })

  it('fails on bytes that are no batch', async () => {
    const noise = await batchOf(5, { a: 0 })
    noise.writeInt32BE(-12, 8)
    await expect(fetched([noise])).rejects.toThrow()
    await expect(fetched([Buffer.alloc(100)])).rejects.toThrow()
  })
})
