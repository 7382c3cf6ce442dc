/**
 * What a counted request waits for before it leaves: its unit durable, the plan's throttle, and a proof of leadership
 * that is not old. Owns how old it may be. Refuses to send, and to judge a fenced writer: its error goes up.
 */
import type { TokenBucket } from '../../governor/quota/token-bucket.ts'
import { type Clock, sleep } from '../../lifecycle/clock.ts'
import type { Purpose, Writer } from '../../log/log.ts'
import type { Gate } from '../../upstream/client.ts'

/** What a gate is made of. */
export interface GateParts {
  writer: Pick<Writer, 'spend'>
  bucket: TokenBucket
  clock: Clock
  /** Ends the wait; the request is not sent then. */
  signal: AbortSignal
}

/**
 * A request that leaves later than planned by more than this, ms, follows a new proof: its process may have been frozen
 * since its unit was written down. Half of what another process needs at least to lead after a silence (a session of
 * 6 s), and far above what a wait or a transaction takes in health.
 */
const LATE_MS = 3_000

/** The gate of one request, and when its unit was spent, for the refund. */
export function createGate({
  writer,
  bucket,
  clock,
  signal,
}: GateParts): Gate & { readonly spentMs: number } {
  let spentMs = clock.now()
  let purpose: Purpose = 'poll'
  return {
    get spentMs() {
      return spentMs
    },
    async spend(spender, atMs) {
      purpose = spender
      spentMs = atMs
      await writer.spend(1, purpose, atMs)
    },
    async throttle() {
      const nowMs = clock.now()
      const waitMs = bucket.take(nowMs) - nowMs
      await sleep(clock, waitMs, signal)
      let provenMs = spentMs + waitMs
      // A proof is as old as its question: the process may have been frozen before it read the answer.
      while (!signal.aborted && clock.now() - provenMs > LATE_MS) {
        provenMs = clock.now()
        await writer.spend(0, purpose, spentMs)
      }
    },
  }
}
