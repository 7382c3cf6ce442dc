/**
 * When a request that is not a poll may leave. Owns that polls find the throttle as full as without it. Refuses to wait and
 * to send.
 */
import type { IngestState } from '../machine/state.ts'

/**
 * True while nothing of the poller's is under way or due before a token is back (`refillMs` after it was taken), and
 * nothing is blocked; a refused key blocks only what needs it, so not `keyless` requests.
 */
export function isCalm(
  state: Pick<
    IngestState,
    'name' | 'request' | 'lastGoodPollMs' | 'upstream' | 'nextPollMs' | 'blockedUntilMs'
  >,
  { nowMs, refillMs, keyless }: { nowMs: number; refillMs: number; keyless: boolean },
): boolean {
  const { name, request, lastGoodPollMs, upstream, nextPollMs, blockedUntilMs } = state
  if (name !== 'polling' || request !== null || lastGoodPollMs === null) return false
  // Without quota the poller sends nothing; what goes without a key costs none.
  if (keyless && upstream === 'quota') return true
  const isBlocked = nowMs < blockedUntilMs && !(keyless && upstream === 'unauthorised')
  return !isBlocked && Math.max(nextPollMs, blockedUntilMs) - nowMs >= refillMs
}

/** Milliseconds in which a token surely comes back: the bucket leaves some of the plan's rate unused. */
export function refillOf({ ratePerSecond }: { ratePerSecond: number }): number {
  return 1_100 / ratePerSecond
}
