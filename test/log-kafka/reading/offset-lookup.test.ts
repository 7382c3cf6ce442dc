import { expect, test } from 'vitest'
import type { PartitionClient } from '../../../src/log-kafka/client/kafkajs-internals.ts'
import type { KafkaRecord } from '../../../src/log-kafka/client/partition-protocol.ts'
import { offsetAfter, oldestSequence } from '../../../src/log-kafka/reading/offset-lookup.ts'

const EVENT_BYTES = 1000

/** A topic whose record at each offset is an event of that sequence, or foreign where it is null. Counts the fetches. */
function topicOf(sequences: readonly (number | null)[]) {
  const records = sequences.map((sequence, offset): KafkaRecord => {
    const headers = sequence === null ? {} : { ce_sequence: Buffer.from(`${sequence}`) }
    return { offset, timestampMs: 0, key: null, value: Buffer.alloc(EVENT_BYTES), headers }
  })
  const counted = { fetches: 0 }
  const partitions = {
    offsets: async () => ({ earliest: 0, lastStable: records.length }),
    fetch: async (_topic: string, offset: number, { maxBytes = 0 }: { maxBytes?: number }) => {
      counted.fetches += 1
      const found = records.slice(offset, offset + Math.max(1, Math.floor(maxBytes / EVENT_BYTES)))
      return { errorCode: 0, records: found, nextOffset: offset + found.length }
    },
  } as unknown as PartitionClient
  return { counted, partitions }
}

test('ten thousand records of another program between two events cost some dozens of fetches, not one each', async () => {
  const events = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index)
  const foreign = Array<null>(10_000).fill(null)
  const { counted, partitions } = topicOf([...foreign, ...events(1, 5000), ...foreign, ...events(5001, 10)])
  expect(await oldestSequence(partitions, 'all')).toBe(1)
  const offset = await offsetAfter(partitions, 'all', 4990)
  expect(offset).toBeLessThanOrEqual(foreign.length + 4990)
  expect(counted.fetches).toBeLessThan(100)
})

test('an event is found where the oldest that is kept has a small offset, as a mirror copies them', async () => {
  const first = 1_000_001
  const { counted, partitions } = topicOf(Array.from({ length: 50_000 }, (_, offset) => first + offset))
  for (const index of [0, 1, 499, 49_998, 49_999]) {
    const offset = await offsetAfter(partitions, 'all', first + index - 1)
    expect(offset).toBeLessThanOrEqual(index)
    expect(offset).toBeGreaterThan(index - 500)
  }
  expect(counted.fetches).toBeLessThan(100)
})
