/** Reads the newest rejected items (upstream items that could not be read), or only their hashes, from their Kafka topic. */
import { type KeptRejected, REJECTED_WINDOW_BYTES, type RejectedPage } from '../../log/events.ts'
import { boundedRead } from '../client/bounded-read.ts'
import type { LogParts } from '../client/connection.ts'
import type { KafkaRecord } from '../client/partition-protocol.ts'
import { rejectedHashOf, rejectedOf } from '../client/records.ts'
import { type NewestWindow, newest } from './offset-lookup.ts'
import { waitForStableOffset } from './stable-offset.ts'

/**
 * Rejected items before a place, the newest first. A place is an offset. Waits up to 2 s for open transactions.
 * @throws BridgeError `log_unavailable`
 */
export async function readRejectedPageOf(
  parts: LogParts,
  topic: string,
  { before, ...window }: RejectedPage,
): Promise<KeptRejected[]> {
  const read = (record: KafkaRecord): KeptRejected => ({ ...rejectedOf(record), place: record.offset })
  const found = await readNewest(parts, topic, { ...window, ...(before !== null && { before }) }, read)
  return found.reverse()
}

/** As `readRejectedPageOf`, the hashes of the newest items, newest last, of no more than REJECTED_WINDOW_BYTES. Keeps no texts in memory. */
export function readRejectedHashes(parts: LogParts, topic: string, limit: number): Promise<string[]> {
  return readNewest(parts, topic, { limit, mostBytes: REJECTED_WINDOW_BYTES }, rejectedHashOf)
}

async function readNewest<T>(
  parts: LogParts,
  topic: string,
  window: NewestWindow,
  read: (record: KafkaRecord) => T,
): Promise<T[]> {
  if (window.limit <= 0) return []
  return boundedRead(parts, 'reading rejected items', parts.closed, async (partitions) => {
    await waitForStableOffset(partitions, topic, parts.clock)
    return newest(partitions, topic, window, read)
  })
}
