import fc from 'fast-check'
import Decoder from 'kafkajs/src/protocol/decoder.js'
import encodeRecord from 'kafkajs/src/protocol/recordBatch/record/v0/index.js'
import decodeRecordBatch from 'kafkajs/src/protocol/recordBatch/v0/decoder.js'
import { RecordBatch } from 'kafkajs/src/protocol/recordBatch/v0/index.js'
import { describe, expect, it } from 'vitest'
import { readBatch } from '../../../src/log-kafka/client/record-batch.ts'

/** Lengths around those at which a length takes one more byte. */
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 20 }).map((array) => Buffer.from(array)),
  fc.constantFrom(63, 64, 8191, 8192).map((length) => Buffer.alloc(length, 'x')),
)
const someRecord = fc.record({
  key: fc.option(bytes),
  value: fc.option(bytes),
  headers: fc.dictionary(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 }).filter((name) => name !== '__proto__'),
    fc.oneof(bytes, fc.array(bytes, { minLength: 2, maxLength: 3 })),
    { maxKeys: 3 },
  ),
  offsetDelta: fc.nat(100_000),
  timestampDelta: fc.nat(100_000),
})
const someBatch = fc.record({
  firstOffset: fc.maxSafeNat(),
  producerId: fc.integer({ min: -1, max: 1e12 }),
  transactional: fc.boolean(),
  latestMs: fc.integer({ min: 0, max: 4e12 }),
  records: fc.array(someRecord, { maxLength: 8 }),
})

type Batch = typeof someBatch extends fc.Arbitrary<infer B> ? B : never

async function encoded({ latestMs, records, ...rest }: Batch, compression = 0): Promise<Buffer> {
  const { buffer } = await RecordBatch({
    ...rest,
    compression,
    firstTimestamp: latestMs,
    maxTimestamp: latestMs,
    lastOffsetDelta: 100_000,
    records: records.map(encodeRecord),
  })
  return buffer
}

describe('a batch of records', () => {
  it('is read as kafkajs wrote it, and as kafkajs reads it', async () => {
    await fc.assert(
      fc.asyncProperty(someBatch, fc.nat(50), async (given, before) => {
        const written = await encoded(given)
        const all = Buffer.concat([Buffer.alloc(before), written, Buffer.from('more')])
        const read = readBatch(all, before)
        expect(read?.end).toBe(before + written.length)
        const { records, ...head } = read?.batch ?? { records: [] }
        expect(head).toEqual({
          firstOffset: given.firstOffset,
          lastOffset: given.firstOffset + 100_000,
          latestMs: given.latestMs,
          producerId: given.producerId,
          inTransaction: given.transactional,
          isControl: false,
          isCompressed: false,
        })
        const { records: expected } = await decodeRecordBatch(new Decoder(written))
        expect(records).toEqual(
          expected.map(({ offset, key, value, headers }) => ({
            offset: Number(offset),
            key,
            value,
            headers,
          })),
        )
      }),
      { numRuns: 100 },
    )
  })

  it('is left to kafkajs where it is compressed', async () => {
    const [given] = fc.sample(someBatch, 1)
    if (given === undefined) throw new Error('no sample')
    const read = readBatch(await encoded(given, 1), 0)
    expect(read?.batch).toMatchObject({ isCompressed: true, records: [], firstOffset: given.firstOffset })
  })

  it('is not there before its last byte is', async () => {
    await fc.assert(
      fc.asyncProperty(
        someBatch,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        async (given, share) => {
          const written = await encoded(given)
          expect(readBatch(written.subarray(0, Math.floor(share * written.length)), 0)).toBeNull()
        },
      ),
      { numRuns: 50 },
    )
  })

  it('never runs past its end, whatever its bytes say', async () => {
    const noise = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(someBatch, noise, async (given, changes) => {
        const written = await encoded(given)
        // Its length stays, so that it is looked into.
        for (const [at, byte] of changes) written[12 + (at % (written.length - 12))] = byte
        const all = Buffer.concat([written, Buffer.alloc(1000, 0xff)])
        try {
          const read = readBatch(all, 0)
          for (const { key, value } of read?.batch.records ?? [])
            for (const part of [key, value])
              expect((part?.byteOffset ?? 0) + (part?.length ?? 0)).toBeLessThanOrEqual(
                all.byteOffset + written.length,
              )
        } catch (error) {
          expect(String(error)).toContain('cannot be read')
        }
      }),
      { numRuns: 100 },
    )
  })

  it('says so where its length is none', async () => {
    expect(() => readBatch(Buffer.alloc(100), 0)).toThrow('cannot be read')
  })
})
