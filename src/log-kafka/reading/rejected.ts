/** Reads the newest rejected items, or their hashes, from the topic of rejected items. */
import type { Clock } from '../../lifecycle/clock.ts'
import { type RejectedItem, rejectedHash } from '../../log/events.ts'
import type { RejectedWindow } from '../../log-shared/rejected-window.ts'
import { boundedRead } from '../client/bounded-read.ts'
import type { OpenSession } from '../client/client.ts'
import type { PartitionClient } from '../client/kafkajs-internals.ts'
import { rejectedOf } from '../client/records.ts'
import { eachBetween, latestRecords } from './offset-lookup.ts'
import { waitForStableOffset } from './stable-offset.ts'

/** What reading needs; `closed` aborts when the log is closed. */
export interface RejectedParts {
  openSession: OpenSession
  clock: Clock
  closed: AbortSignal
}

/**
 * The newest rejected items, newest last, at most `limit`. Waits up to 2 s for open transactions.
 * @throws BridgeError `log_unavailable`
 */
export async function readRejectedRecords(
  parts: RejectedParts,
  topic: string,
  limit: number,
): Promise<RejectedItem[]> {
  if (limit <= 0) return []
  return readStable(parts, topic, async (partitions) =>
    (await latestRecords(partitions, topic, limit)).map(rejectedOf),
  )
}

/**
 * The hashes of the newest rejected items inside the window, newest last. Waits up to 2 s for open transactions.
 * @throws BridgeError `log_unavailable`
 */
export async function readRejectedHashes(
  parts: RejectedParts,
  topic: string,
  window: RejectedWindow,
): Promise<string[]> {
  if (window.limit <= 0) return []
  return readStable(parts, topic, (partitions) => newestHashes(partitions, topic, window))
}

function readStable<T>(
  parts: RejectedParts,
  topic: string,
  read: (partitions: PartitionClient) => Promise<T>,
): Promise<T> {
  return boundedRead(parts, 'reading rejected items', parts.closed, async (partitions) => {
    await waitForStableOffset(partitions, topic, parts.clock)
    return read(partitions)
  })
}

/** Offsets in the first range; each further range is twice as long. */
const FIRST_RANGE = 16

/**
 * As `readRejectedHashes`, of committed items. Reads ranges backwards from the end: the first range in full, and drops a
 * later one that exceeds the window.
 */
export async function newestHashes(
  partitions: PartitionClient,
  topic: string,
  { limit, mostBytes }: RejectedWindow,
): Promise<string[]> {
  const { earliest, lastStable } = await partitions.offsets(topic)
  let hashes: string[] = []
  let bytes = 0
  let to = lastStable
  for (let range = FIRST_RANGE; to > earliest && hashes.length < limit; range *= 2) {
    const from = Math.max(earliest, to - range)
    const found: string[] = []
    const isComplete = await eachBetween(partitions, topic, from, to, (record) => {
      found.push(rejectedHash(rejectedOf(record).raw))
      bytes += record.value?.length ?? 0
      return bytes < mostBytes || to === lastStable
    })
    if (isComplete) hashes = [...found, ...hashes]
    if (bytes >= mostBytes) break
    to = from
  }
  return hashes.slice(-limit)
}
