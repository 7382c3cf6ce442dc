/**
 * Where things lie in a topic, found by asking the broker. Owns the search of an offset by sequence, so that no process
 * has to store offsets. Refuses to tail: `partition-reader.ts` does.
 */
import { BridgeError } from '../../errors.ts'
import { requireNoError } from '../client/fetch-errors.ts'
import type { PartitionClient } from '../client/kafkajs-internals.ts'
import type { KafkaRecord } from '../client/record-batch.ts'
import { sequenceOf } from '../client/records.ts'

/** Fewer offsets than this are read rather than searched. */
const NEAR = 200
/** A search looks at one record; a broker answers with at least one batch of records, whatever the limit. */
const PROBE_BYTES = 1
const READ_BYTES = 1024 * 1024
/** Offsets looked at first for the end of a topic. */
const FIRST_STEP = 16

/**
 * An offset at or before the first event whose sequence is greater than `after`, and near it. Each event takes an
 * offset, and markers and aborted ones take more: sequence s never lies before offset s − 1.
 */
export async function offsetAfter(
  partitions: PartitionClient,
  topic: string,
  after: number,
): Promise<number> {
  const { earliest, lastStable } = await partitions.offsets(topic)
  let low = Math.min(Math.max(earliest, after), lastStable)
  let high = lastStable
  while (high - low > NEAR) {
    const middle = Math.floor((low + high) / 2)
    const record = await firstRecord(partitions, topic, middle, high)
    if (record === null || sequenceOf(record) > after) high = middle
    else low = record.offset + 1
  }
  return low
}

/** The last sequence in the topic; 0 when it was never written, null when everything written is dropped. */
export async function latestSequence(partitions: PartitionClient, topic: string): Promise<number | null> {
  const [last] = await latestRecords(partitions, topic, 1)
  if (last !== undefined) return sequenceOf(last)
  return (await partitions.offsets(topic)).earliest === 0 ? 0 : null
}

/** The sequence of the first event that the topic keeps; null where it keeps none. */
export async function oldestSequence(partitions: PartitionClient, topic: string): Promise<number | null> {
  const { earliest, lastStable } = await partitions.offsets(topic)
  const first = await firstRecord(partitions, topic, earliest, lastStable)
  return first === null ? null : sequenceOf(first)
}

/** The newest committed records, oldest first, at most `limit`. */
export async function latestRecords(
  partitions: PartitionClient,
  topic: string,
  limit: number,
): Promise<KafkaRecord[]> {
  const { earliest, lastStable } = await partitions.offsets(topic)
  for (let step = Math.max(FIRST_STEP, 2 * limit); ; step *= 4) {
    const from = Math.max(earliest, lastStable - step)
    const records: KafkaRecord[] = []
    await eachBetween(partitions, topic, from, lastStable, (record) => records.push(record) > 0)
    if (records.length >= limit || from === earliest) return records.slice(-limit)
  }
}

/** Every committed record that is kept. For small topics. */
export async function committedRecords(partitions: PartitionClient, topic: string): Promise<KafkaRecord[]> {
  const { earliest, lastStable } = await partitions.offsets(topic)
  const records: KafkaRecord[] = []
  await eachBetween(partitions, topic, earliest, lastStable, (record) => records.push(record) > 0)
  return records
}

async function firstRecord(
  partitions: PartitionClient,
  topic: string,
  from: number,
  to: number,
): Promise<KafkaRecord | null> {
  for (let offset = from; offset < to; ) {
    const fetched = await partitions.fetch(topic, offset, { maxWaitMs: 0, maxBytes: PROBE_BYTES })
    requireNoError(topic, fetched)
    const [record] = fetched.records
    if (record !== undefined) return record.offset < to ? record : null
    if (fetched.nextOffset === offset) throw stuck(topic, offset, to)
    offset = fetched.nextOffset
  }
  return null
}

/** A broker that has just taken a partition over may know its end before it gives its records. */
function stuck(topic: string, offset: number, end: number): BridgeError {
  return new BridgeError(
    'log_unavailable',
    `${topic} gives nothing at offset ${offset} though it goes on to ${end}`,
  )
}

/**
 * Hands over every committed record from `from` on that lies before `to`, one after the other, until `take` answers
 * false. Keeps none. True when all were taken.
 */
export async function eachBetween(
  partitions: PartitionClient,
  topic: string,
  from: number,
  to: number,
  take: (record: KafkaRecord) => boolean,
): Promise<boolean> {
  for (let offset = from; offset < to; ) {
    const fetched = await partitions.fetch(topic, offset, { maxWaitMs: 0, maxBytes: READ_BYTES })
    requireNoError(topic, fetched)
    for (const record of fetched.records) if (record.offset < to && !take(record)) return false
    if (fetched.nextOffset === offset) throw stuck(topic, offset, to)
    offset = fetched.nextOffset
  }
  return true
}
