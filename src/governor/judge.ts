/**
 * What a 429 means. Upstream sends the same status for its throttle and for a spent weekly quota, and nothing that a
 * machine can rely on; this weighs what there is. Owns the verdict and the wait. Refuses to send probes.
 */
import { backoffMs } from '../core/backoff.ts'
import type { Chance } from '../lifecycle/clock.ts'
import type { Quota } from './ledger.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** A throttle clears within seconds (burst over rate is 2 s on every plan), so a longer Retry-After means the quota. */
const LONGEST_THROTTLE_MS = 10 * MINUTE_MS
/** After so many 429s in a row with growing waits between them, a throttle is no longer believable. */
const PATIENCE = 6

export interface Evidence {
  /** From the Retry-After header, or null where it is absent or senseless. */
  retryAfterMs: number | null
  /** 429s without a good answer between them, this one included. */
  inARow: number
  /** Our own count. */
  quota: Quota
  nowMs: number
}

export interface Verdict {
  kind: 'throttle' | 'quota'
  /** How long to send nothing. */
  waitMs: number
}

/**
 * Judges one 429. A throttle waits 1, 2, 4 … 60 s (or Retry-After where it is longer); a spent quota waits for its
 * reset, but at most from ten minutes growing to six hours, so that a wrong verdict heals by itself.
 */
export function judge429(evidence: Evidence, chance: Chance): Verdict {
  const { retryAfterMs, inARow, quota, nowMs } = evidence
  const longWait = retryAfterMs !== null && retryAfterMs > LONGEST_THROTTLE_MS
  if (quota.remaining === 0 || longWait || inARow > PATIENCE) {
    const quotaRow = Math.max(1, inARow > PATIENCE ? inARow - PATIENCE : inARow)
    const probeMs = backoffMs(
      quotaRow,
      { baseMs: 10 * MINUTE_MS, factor: 2, maxMs: 6 * HOUR_MS, jitter: 0.1 },
      chance,
    )
    return { kind: 'quota', waitMs: Math.min(probeMs, Math.max(MINUTE_MS, quota.resetMs - nowMs)) }
  }
  const growingMs = backoffMs(inARow, { baseMs: 1000, factor: 2, maxMs: MINUTE_MS, jitter: 0.1 }, chance)
  return { kind: 'throttle', waitMs: Math.max(growingMs, retryAfterMs ?? 0) }
}
