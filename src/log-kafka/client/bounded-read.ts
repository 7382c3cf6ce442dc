/**
 * Runs a read of a limited range of a topic, and retries it for ten seconds or, if the caller wants, until it succeeds. A
 * new topic, or one whose leader moves, returns errors for a while.
 */
import { isBridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { sleep } from '../../lifecycle/clock.ts'
import type { OpenSession } from './client.ts'
import type { ReaderParts } from './connection.ts'
import { unavailable } from './faults.ts'
import type { PartitionClient } from './kafkajs-internals.ts'
import { TimeoutError, withTimeout } from './with-timeout.ts'

const LIMIT_MS = 10_000
const RETRY_MS = 20

/**
 * The result of `read`, which runs on a session of its own. `doing` names the read in the error, e.g. "reading the state".
 * @throws the signal's reason; BridgeError `log_unavailable` when it fails for 10 s; `log_damaged`
 */
export async function boundedRead<T>(
  { openSession, clock }: { openSession: OpenSession; clock: Clock },
  doing: string,
  signal: AbortSignal,
  read: (partitions: PartitionClient) => Promise<T>,
): Promise<T> {
  const untilMs = clock.now() + LIMIT_MS
  let reason: unknown = null
  for (;;) {
    const session = openSession()
    try {
      return await withTimeout(clock, Math.max(0, untilMs - clock.now()), signal, read(session.partitions))
    } catch (error) {
      signal.throwIfAborted()
      if (isBridgeError(error, 'log_damaged')) throw error
      // What Kafka has answered says more than that the time of a further try was over.
      if (reason === null || !(error instanceof TimeoutError)) reason = error
      if (clock.now() + RETRY_MS >= untilMs) throw unavailable(doing, reason)
    } finally {
      session.end()
    }
    await sleep(clock, RETRY_MS, signal)
  }
}

/**
 * As `boundedRead`, repeated until it succeeds; every failure is logged. `topic` names what cannot be read.
 * @throws the signal's reason; BridgeError `log_damaged`
 */
export async function patientRead<T>(
  parts: ReaderParts & { topic: string },
  doing: string,
  signal: AbortSignal,
  read: (partitions: PartitionClient) => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await boundedRead(parts, doing, signal, read)
    } catch (error) {
      signal.throwIfAborted()
      if (isBridgeError(error, 'log_damaged')) throw error
      parts.logger.warn('log.reader_unavailable', { topic: parts.topic, error })
    }
  }
}
