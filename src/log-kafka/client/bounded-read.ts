/**
 * Reads that end, beside those that tail for ever. Owns their session and trying again: a topic that is a moment old,
 * or whose leader moves, answers errors for a while. Refuses to know what is read.
 */
import { isBridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { sleep } from '../../lifecycle/clock.ts'
import type { OpenSession } from './client.ts'
import { unavailable } from './faults.ts'
import type { PartitionClient } from './kafkajs-internals.ts'
import { within } from './with-timeout.ts'

/** How long a read is tried, ms. */
const LIMIT_MS = 10_000
const PAUSE_MS = 20

/**
 * What `read` gives, on a session of its own.
 * @throws the signal's reason; BridgeError `log_unavailable` saying what was done, when it fails for 10 s; `log_damaged`
 */
export async function shortRead<T>(
  { openSession, clock }: { openSession: OpenSession; clock: Clock },
  doing: string,
  signal: AbortSignal,
  read: (partitions: PartitionClient) => Promise<T>,
): Promise<T> {
  const untilMs = clock.now() + LIMIT_MS
  for (;;) {
    const session = openSession()
    try {
      return await within(clock, Math.max(0, untilMs - clock.now()), signal, read(session.partitions))
    } catch (error) {
      signal.throwIfAborted()
      if (isBridgeError(error, 'log_damaged')) throw error
      if (clock.now() >= untilMs) throw unavailable(doing, error)
    } finally {
      session.end()
    }
    await sleep(clock, PAUSE_MS, signal)
  }
}
