/**
 * `Log.rejected` and `Log.rejectedHashes` over their topic. Owns which are the newest, and how little of them is in
 * memory. Refuses to keep items.
 */
import type { Clock } from '../../lifecycle/clock.ts'
import type { RejectedItem } from '../../log/log.ts'
import { type RejectedWindow, rejectedHash } from '../../log/rejected-window.ts'
import { shortRead } from '../client/bounded-read.ts'
import type { OpenSession } from '../client/client.ts'
import type { PartitionClient } from '../client/kafkajs-internals.ts'
import { rejectedOf } from '../client/records.ts'
import { eachBetween, latestRecords } from './offset-lookup.ts'
import { untilDecided } from './stable-offset.ts'

/**
 * The newest rejected items, newest last, at most `limit`. What is written and not decided is waited for a little.
 * @throws BridgeError `log_unavailable`
 */
export async function readRejected(
  parts: { openSession: OpenSession; clock: Clock; closed: AbortSignal },
  topic: string,
  limit: number,
): Promise<RejectedItem[]> {
  if (limit <= 0) return []
  return shortRead(parts, 'reading rejected items', parts.closed, async (partitions) => {
    await untilDecided(partitions, topic, parts.clock)
    return (await latestRecords(partitions, topic, limit)).map(rejectedOf)
  })
}

/** Offsets looked at first; each further look goes twice as far back. */
const FIRST_LOOK = 16

/**
 * The hashes of the newest rejected items, newest last, as far as the window goes. What is written and not decided is
 * waited for a little.
 * @throws BridgeError `log_unavailable`
 */
export async function readRejectedHashes(
  parts: { openSession: OpenSession; clock: Clock; closed: AbortSignal },
  topic: string,
  window: RejectedWindow,
): Promise<string[]> {
  if (window.limit <= 0) return []
  return shortRead(parts, 'reading rejected items', parts.closed, async (partitions) => {
    await untilDecided(partitions, topic, parts.clock)
    return newestHashes(partitions, topic, window)
  })
}

/** As `readRejectedHashes`, of what is decided. The first look is always ended; a later one that passes the window is dropped. */
export async function newestHashes(
  partitions: PartitionClient,
  topic: string,
  { limit, mostBytes }: RejectedWindow,
): Promise<string[]> {
  const { earliest, lastStable } = await partitions.offsets(topic)
  let hashes: string[] = []
  let bytes = 0
  let to = lastStable
  for (let step = FIRST_LOOK; to > earliest && hashes.length < limit; step *= 2) {
    const from = Math.max(earliest, to - step)
    const seen: string[] = []
    const whole = await eachBetween(partitions, topic, from, to, (record) => {
      seen.push(rejectedHash(rejectedOf(record).raw))
      bytes += record.value?.length ?? 0
      return bytes < mostBytes || to === lastStable
    })
    if (whole) hashes = [...seen, ...hashes]
    if (bytes >= mostBytes) break
    to = from
  }
  return hashes.slice(-limit)
}
