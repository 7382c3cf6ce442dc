/**
 * `Log.rejected` over its topic. Owns which are the newest. Refuses to keep items.
 */
import type { Clock } from '../../lifecycle/clock.ts'
import type { RejectedItem } from '../log.ts'
import type { OpenSession } from './client.ts'
import { untilDecided } from './decided.ts'
import { latestRecords } from './find.ts'
import { rejectedOf } from './records.ts'
import { shortRead } from './short-read.ts'

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
