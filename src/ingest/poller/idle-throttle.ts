/** Decides when a request other than a poll may be sent: only if it will not make the next poll wait for the rate limit. */
import type { IngestState } from '../machine/state.ts'

/**
 * True while the poller has no request in flight, none due before a token is back (`refillMs` after it was taken), and
 * nothing is blocked. `keyless` requests need no key and no quota, so only other blocks hold them back.
 */
export function isIdle(
  state: Pick<
    IngestState,
    'name' | 'request' | 'lastGoodPollMs' | 'upstream' | 'nextPollMs' | 'blockedUntilMs'
  >,
  { nowMs, refillMs, keyless }: { nowMs: number; refillMs: number; keyless: boolean },
): boolean {
  const { name, request, lastGoodPollMs, upstream, nextPollMs, blockedUntilMs } = state
  if (name !== 'polling' || request !== null || lastGoodPollMs === null) return false
  if (keyless && upstream === 'quota') return true
  const isBlocked = nowMs < blockedUntilMs && !(keyless && upstream === 'unauthorised')
  return !isBlocked && Math.max(nextPollMs, blockedUntilMs) - nowMs >= refillMs
}

/** Milliseconds after which a taken token is certainly back; the bucket uses a little less than the plan's rate. */
export function refillOf({ ratePerSecond }: { ratePerSecond: number }): number {
  return 1_100 / ratePerSecond
}
