/**
 * `Log.rejected` over its topic. Owns the wait for what is written and not decided yet. Refuses to keep items.
 */
import type { Clock } from '../../lifecycle/clock.ts'
import { sleep } from '../../lifecycle/clock.ts'
import type { RejectedItem } from '../log.ts'
import type { OpenSession } from './client.ts'
import { latestRecords } from './find.ts'
import type { PartitionClient } from './internals.ts'
import { rejectedOf } from './records.ts'
import { shortRead } from './short-read.ts'

/** A commit is answered some ms before its markers are written; a dead writer's transaction may stay open for 10 s. */
const UNDECIDED_MS = 2_000
const POLL_MS = 5

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
    await decided(partitions, topic, parts.clock)
    return (await latestRecords(partitions, topic, limit)).map(rejectedOf)
  })
}

async function decided(partitions: PartitionClient, topic: string, clock: Clock): Promise<void> {
  const { end } = await partitions.offsets(topic)
  const untilMs = clock.now() + UNDECIDED_MS
  while (clock.now() < untilMs) {
    const { lastStable } = await partitions.offsets(topic)
    if (lastStable >= end) return
    await sleep(clock, POLL_MS)
  }
}
