import { expect, test } from 'vitest'
import { rejectedHash } from '../../../src/log/events.ts'
import type { PartitionClient } from '../../../src/log-kafka/client/kafkajs-internals.ts'
import { rejectedHashOf } from '../../../src/log-kafka/client/records.ts'
import { newest as newestRecords } from '../../../src/log-kafka/reading/offset-lookup.ts'

/** A topic of these texts, two per fetch, and the number of texts read. */
function topicOf(texts: readonly string[]): { partitions: PartitionClient; readCount: () => number } {
  let read = 0
  const client: Pick<PartitionClient, 'fetch' | 'offsets'> = {
    async fetch(_, offset) {
      const slice = texts.slice(offset, offset + 2)
      read += slice.length
      const records = slice.map((text, index) => ({
        offset: offset + index,
        timestampMs: 0,
        key: null,
        value: Buffer.from(text),
        headers: {},
      }))
      return {
        errorCode: 0,
        records,
        nextOffset: offset + slice.length,
        lastStableOffset: texts.length,
      }
    },
    offsets: async () => ({ earliest: 0, lastStable: texts.length, end: texts.length }),
  }
  return { partitions: client as PartitionClient, readCount: () => read }
}

const small = (count: number): string[] => Array.from({ length: count }, (_, n) => `small ${n}`)

test('all records inside the window are loaded, newest last', async () => {
  const texts = small(100)
  const { partitions } = topicOf(texts)
  const window = { limit: 1_000, mostBytes: 1_000_000 }
  expect(await newestRecords(partitions, 't', window, rejectedHashOf)).toEqual(texts.map(rejectedHash))
})

test('the newest are loaded up to the limit, and little more is read', async () => {
  const texts = small(10_000)
  const { partitions, readCount } = topicOf(texts)
  const hashes = await newestRecords(partitions, 't', { limit: 20, mostBytes: 1_000_000 }, rejectedHashOf)
  expect(hashes).toEqual(texts.slice(-20).map(rejectedHash))
  expect(readCount()).toBeLessThan(60)
})

test('large older items are not read to their end, and the newest are loaded without a hole', async () => {
  const newest = small(30)
  const texts = [...Array.from({ length: 1_000 }, (_, n) => `${n}`.padEnd(10_000, 'x')), ...newest]
  const { partitions, readCount } = topicOf(texts)
  const hashes = await newestRecords(partitions, 't', { limit: 1_000, mostBytes: 100_000 }, rejectedHashOf)
  const known = texts.map(rejectedHash).slice(-hashes.length)
  expect(hashes).toEqual(known)
  expect(hashes.length).toBeGreaterThanOrEqual(16)
  expect(readCount()).toBeLessThan(60)
})

test('the newest few are loaded however large they are', async () => {
  const texts = Array.from({ length: 5 }, (_, n) => `${n}`.padEnd(10_000, 'x'))
  const { partitions } = topicOf(texts)
  expect(await newestRecords(partitions, 't', { limit: 9, mostBytes: 1 }, rejectedHashOf)).toEqual(
    texts.map(rejectedHash),
  )
})
