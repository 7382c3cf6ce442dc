/**
 * Builds the permit for an upstream request that costs quota: its unit is recorded, the rate limit allows it, and this
 * process recently proved its leadership.
 */
import type { Purpose } from '../../core/purpose.ts'
import type { TokenBucket } from '../../governor/quota/token-bucket.ts'
import { type Clock, sleep } from '../../lifecycle/clock.ts'
import type { SendPermit } from '../../upstream/client.ts'
import type { PollerWriter } from '../writer-state/poller-writer.ts'

/** What a permit is built from. */
export interface SendPermitParts {
  writer: Pick<PollerWriter, 'spend'>
  bucket: TokenBucket
  clock: Clock
  /** Ends the wait; the request is then not sent. */
  signal: AbortSignal
}

/**
 * Oldest proof of leadership with which a request may leave, ms; after it the process proves leadership again, because
 * it may have been frozen since the unit was counted. Half of the shortest session after which another process can lead
 * (6 s), and far above what a throttle wait or a transaction normally takes.
 */
const MAX_PROOF_AGE_MS = 3_000

/** The permit of one request; `spentMs` is when its unit was counted, for a refund. Rejects with what the writer throws. */
export function createSendPermit({
  writer,
  bucket,
  clock,
  signal,
}: SendPermitParts): SendPermit & { readonly spentMs: number } {
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
      // A proof dates from before its call: the process may have been frozen before it read the result.
      while (!signal.aborted && clock.now() - provenMs > MAX_PROOF_AGE_MS) {
        provenMs = clock.now()
        await writer.spend(0, purpose, spentMs)
      }
    },
  }
}
