/** Waits until the log has more events than a reader has seen, and leaves no timer or listener behind. */
import type { Reader } from '../../archive/reading/reader.ts'
import { type Clock, sleep } from '../../lifecycle/clock.ts'

/** What waiting needs. */
export interface WaitMeans {
  reader: Reader
  clock: Clock
}

/**
 * Resolves when the log has more than `position`, when the signal aborts, or after `longestMs`: other changes, such as a new
 * epoch, wake nobody and must be looked for.
 */
export async function waitForEvents(
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
