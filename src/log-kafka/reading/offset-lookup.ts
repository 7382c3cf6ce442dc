/**
 * Finds the offset of an event in a topic by bisection over the events' sequences, so that no process stores offsets. Also
 * reads the newest records, or those of a range of offsets.
 */
import { BridgeError } from '../../errors.ts'
import type { PartitionClient } from '../client/kafkajs-internals.ts'
import type { KafkaRecord } from '../client/partition-protocol.ts'
import { type FetchOptions, requireNoError } from '../client/partition-protocol.ts'
import { sequenceOf } from '../client/records.ts'

/** A range of fewer offsets is read rather than bisected further. */
const NEAR = 200
/** A broker answers with at least one batch of records, whatever the limit. */
const PROBE_BYTES = 1
const READ_BYTES = 1024 * 1024
/** Offsets in the first range of a read from the end; each further range is twice as long. */
const FIRST_RANGE = 16

/**
 * An offset at or shortly before the first event whose sequence is greater than `after`. Offsets do not tell sequences: in a
 * mirrored or restored topic the oldest kept event has offset 0, whatever its sequence.
 */
export async function offsetAfter(
  partitions: PartitionClient,
  topic: string,
  after: number,
): Promise<number> {
  const { earliest, lastStable } = await partitions.offsets(topic)
  let low = earliest
  let high = lastStable
  while (high - low > NEAR) {
    const middle = Math.floor((low + high) / 2)
    const event = await firstEvent(partitions, topic, middle, high)
    if (event === null || event.sequence > after) high = middle
    else low = event.offset + 1
  }
  return low
}

/** The last sequence in the topic; 0 when no event was ever written, null when every one was dropped by age. */
export async function latestSequence(partitions: PartitionClient, topic: string): Promise<number | null> {
  const [last] = await newest(partitions, topic, { limit: 1 }, sequenceOf)
  if (last !== undefined) return last
  return (await partitions.offsets(topic)).earliest === 0 ? 0 : null
}

/** The sequence of the first event that the topic keeps; null where it keeps none. */
export async function oldestSequence(partitions: PartitionClient, topic: string): Promise<number | null> {
  const { earliest, lastStable } = await partitions.offsets(topic)
  return (await firstEvent(partitions, topic, earliest, lastStable))?.sequence ?? null
}

/** As `firstRecord`, of the records that are events. */
function firstEvent(
  partitions: PartitionClient,
  topic: string,
  from: number,
  to: number,
): Promise<{ offset: number; sequence: number } | null> {
  return firstOf(partitions, topic, { from, to }, (record) => {
    const sequence = sequenceOf(record)
    return sequence === null ? null : { offset: record.offset, sequence }
  })
}

/** Which of the newest records to read. */
export interface NewestWindow {
  /** Only records of a smaller offset. */
  before?: number
  limit: number
  /** Bytes of values after which no further record is read. */
  mostBytes?: number
}

/**
 * What `read` makes of the newest committed records, oldest first; without those of which it makes null. At most `limit`, and
 * none further once `mostBytes` of values were read. Reads ranges backwards from the end: the first in full, and drops a later
 * one that exceeds the limit.
 */
export async function newest<T>(
  partitions: PartitionClient,
  topic: string,
  { before: end = Number.POSITIVE_INFINITY, limit, mostBytes = Number.POSITIVE_INFINITY }: NewestWindow,
  read: (record: KafkaRecord) => T | null,
): Promise<T[]> {
  const { earliest, lastStable } = await partitions.offsets(topic)
  let found: T[] = []
  let bytes = 0
  const last = Math.min(lastStable, end)
  let to = last
  for (let range = FIRST_RANGE; to > earliest && found.length < limit; range *= 2) {
    const from = Math.max(earliest, to - range)
    const before: T[] = []
    const isComplete = await eachBetween(partitions, topic, from, to, (record) => {
      const one = read(record)
      if (one !== null) before.push(one)
      bytes += record.value?.length ?? 0
      return bytes < mostBytes || to === last
    })
    if (isComplete) found = [...before, ...found]
    if (bytes >= mostBytes) break
    to = from
  }
  return found.slice(-limit)
}

/**
 * Passes every committed record with `from` ≤ offset < `to` to `take`, until that returns false; with `readUncommitted`
 * every record. True when all were taken.
 */
export async function eachBetween(
  partitions: PartitionClient,
  topic: string,
  from: number,
  to: number,
  take: (record: KafkaRecord) => boolean,
  readUncommitted = false,
): Promise<boolean> {
  for (let offset = from; offset < to; ) {
    const how = { maxBytes: READ_BYTES, readUncommitted }
    const { records, nextOffset } = await fetchOnce(partitions, topic, { offset, to }, how)
    for (const record of records) if (record.offset < to && !take(record)) return false
    offset = nextOffset
  }
  return true
}

/** The first committed record with `from` ≤ offset < `to`; null where there is none. */
export function firstRecord(
  partitions: PartitionClient,
  topic: string,
  from: number,
  to: number,
): Promise<KafkaRecord | null> {
  return firstOf(partitions, topic, { from, to }, (record) => record)
}

/** What `read` makes of the first committed record of that range of which it does not make null; null where there is none. */
async function firstOf<T>(
  partitions: PartitionClient,
  topic: string,
  { from, to }: { from: number; to: number },
  read: (record: KafkaRecord) => T | null,
): Promise<T | null> {
  let maxBytes = PROBE_BYTES
  for (let offset = from; offset < to; ) {
    const { records, nextOffset } = await fetchOnce(partitions, topic, { offset, to }, { maxBytes })
    for (const record of records) {
      const found = record.offset < to ? read(record) : null
      if (found !== null) return found
    }
    // Many that are not wanted may follow: they are not asked for one batch at a time.
    maxBytes = READ_BYTES
    offset = nextOffset
  }
  return null
}

async function fetchOnce(
  partitions: PartitionClient,
  topic: string,
  { offset, to }: { offset: number; to: number },
  how: Omit<FetchOptions, 'maxWaitMs'>,
): Promise<{ records: KafkaRecord[]; nextOffset: number }> {
  const fetched = await partitions.fetch(topic, offset, { ...how, maxWaitMs: 0 })
  requireNoError(topic, fetched)
  // A new leader of the partition may know its end before it serves its records.
  if (fetched.records.length === 0 && fetched.nextOffset === offset) {
    const what = `${topic} returns no record at offset ${offset}, though its end is ${to}`
    throw new BridgeError('log_unavailable', what)
  }
  return fetched
}
