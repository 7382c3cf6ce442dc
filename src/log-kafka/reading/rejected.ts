/** Reads the newest rejected items (upstream items that could not be read), or only their hashes, from their Kafka topic. */
import { REJECTED_WINDOW_BYTES, type RejectedItem } from '../../log/events.ts'
import { boundedRead } from '../client/bounded-read.ts'
import type { LogParts } from '../client/connection.ts'
import type { KafkaRecord } from '../client/partition-protocol.ts'
import { rejectedHashOf, rejectedOf } from '../client/records.ts'
import { newest } from './offset-lookup.ts'
import { waitForStableOffset } from './stable-offset.ts'

/**
 * The newest rejected items, newest last, at most `limit`. Waits up to 2 s for open transactions.
 * @throws BridgeError `log_unavailable`
 */
export function readRejectedRecords(parts: LogParts, topic: string, limit: number): Promise<RejectedItem[]> {
  return readNewest(parts, topic, { limit }, rejectedOf)
}

/** As `readRejectedRecords`, the hashes, of no more than REJECTED_WINDOW_BYTES. Keeps no texts in memory. */
export function readRejectedHashes(parts: LogParts, topic: string, limit: number): Promise<string[]> {
  return readNewest(parts, topic, { limit, mostBytes: REJECTED_WINDOW_BYTES }, rejectedHashOf)
}

async function readNewest<T>(
  parts: LogParts,
  topic: string,
  window: { limit: number; mostBytes?: number },
  read: (record: KafkaRecord) => T,
): Promise<T[]> {
  if (window.limit <= 0) return []
  return boundedRead(parts, 'reading rejected items', parts.closed, async (partitions) => {
    await waitForStableOffset(partitions, topic, parts.clock)
    return newest(partitions, topic, window, read)
  })
}
