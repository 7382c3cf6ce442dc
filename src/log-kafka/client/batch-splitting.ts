/** Splits records into batches and produce calls that stay below the size limits of a broker. */
import type { NewRecord } from './records.ts'

/** The records of one topic. */
export interface TopicRecords {
  /** The topic's name in the cluster. */
  topic: string
  messages: NewRecord[]
}

/** All of a partition's records in one send become one batch, and a broker refuses a batch above 1 MiB. */
export const LARGEST_BATCH_BYTES = 512 * 1024

/** Most bytes that Kafka adds to each record and to each header. */
const RECORD_OVERHEAD = 32
const HEADER_OVERHEAD = 10

/**
 * The sends of one transaction, in order: each topic's records stay in order, and no topic has more than
 * LARGEST_BATCH_BYTES in one send, unless a single record is larger.
 */
export function splitIntoSends(records: ReadonlyMap<string, readonly NewRecord[]>): TopicRecords[][] {
  const sends: TopicRecords[][] = []
  for (const [topic, all] of records) {
    for (const [index, messages] of splitIntoBatches(all).entries()) {
      sends[index] = [...(sends[index] ?? []), { topic, messages }]
    }
  }
  return sends
}

/** Size of a record in its batch, bytes; an upper bound. */
export function recordBytes({ key, value, headers = {} }: NewRecord): number {
  const inHeaders = Object.entries(headers).reduce(
    (sum, [name, text]) => sum + Buffer.byteLength(name) + Buffer.byteLength(text) + HEADER_OVERHEAD,
    0,
  )
  return Buffer.byteLength(key ?? '') + Buffer.byteLength(value ?? '') + inHeaders + RECORD_OVERHEAD
}

/** Records in order, in batches of at most LARGEST_BATCH_BYTES, unless a single record is larger. */
export function splitIntoBatches(records: readonly NewRecord[]): NewRecord[][] {
  const batches: NewRecord[][] = []
  let room = 0
  for (const record of records) {
    const size = recordBytes(record)
    const batch = batches.at(-1)
    if (batch === undefined || size > room) {
      batches.push([record])
      room = LARGEST_BATCH_BYTES - size
    } else {
      batch.push(record)
      room -= size
    }
  }
  return batches
}
