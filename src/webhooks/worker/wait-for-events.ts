/** How shards wait for the log. Owns that the wait leaves nothing behind when it ends. Refuses to read. */
import type { Reader } from '../../archive/reading/reader.ts'
import { type Clock, sleep } from '../../lifecycle/clock.ts'

/** What waiting needs. */
export interface WaitMeans {
  reader: Reader
  clock: Clock
}

/**
 * Resolves when the log has more than `position`, at the latest after `longestMs`: what else may change, such as its epoch,
 * tells nobody. Also when the signal aborts.
 */
export async function untilMore(
  { reader, clock }: WaitMeans,
  position: number,
  longestMs: number,
  signal: AbortSignal,
): Promise<void> {
  const enough = new AbortController()
  const either = AbortSignal.any([signal, enough.signal])
  await Promise.race([reader.waitBeyond(position, either), sleep(clock, longestMs, either)])
  enough.abort()
}
