/**
 * What a 429 means. Upstream sends the same status for its throttle and for a spent weekly quota, and nothing that a
 * machine can rely on; this weighs what there is. Owns the verdict and the wait. Refuses to send probes.
 */
import { backoffMs } from '../core/backoff.ts'
import type { Chance } from '../lifecycle/clock.ts'
import type { Quota } from './ledger.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** A throttle clears within seconds (burst over rate is 2 s on every plan), so a longer Retry-After hints at the quota. */
const LONGEST_THROTTLE_MS = 2 * MINUTE_MS
/** A week is the longest that a quota can ask for; what is longer means nothing. */
const LONGEST_QUOTA_MS = 7 * 24 * HOUR_MS
/** Such a hint is believed when it comes the third time in a row: Retry-After is not promised. */
const PROBES = 2
/** Without a hint, after so many 429s in a row with growing waits, a throttle is no longer believable. */
const PATIENCE = 6

export interface Evidence {
  /** From the Retry-After header, or null where it is absent or senseless. */
  retryAfterMs: number | null
  /** 429s without a good answer between them, this one included. */
  inARow: number
  /** Those of them, up to this one and without another between, whose Retry-After hints at the quota. */
  hintsInARow: number
  /** Our own count. */
  quota: Quota
  nowMs: number
}

export interface Verdict {
  kind: 'throttle' | 'quota'
  /** How long to send nothing. */
  waitMs: number
}

/** True when so long a Retry-After can only mean the weekly quota. */
export function hintsAtQuota(retryAfterMs: number | null): boolean {
  return retryAfterMs !== null && retryAfterMs > LONGEST_THROTTLE_MS && retryAfterMs <= LONGEST_QUOTA_MS
}

/**
 * Judges one 429. A throttle waits 1, 2, 4 … 60 s, or Retry-After where that is longer and believable. A spent quota
 * waits for its reset, with rare probes (which it does not count) after 1, 2, 4 min … 6 h, so that a wrong verdict
 * heals by itself.
 */
export function judge429(evidence: Evidence, chance: Chance): Verdict {
  const { retryAfterMs, inARow, hintsInARow, quota, nowMs } = evidence
  const sure = quota.remaining === 0 ? inARow : Math.max(hintsInARow - PROBES, inARow - PATIENCE)
  if (sure > 0) {
    const growing = { baseMs: MINUTE_MS, factor: 2, maxMs: 6 * HOUR_MS, jitter: 0.1 }
    const probeMs = backoffMs(sure, growing, chance)
    return { kind: 'quota', waitMs: Math.min(probeMs, Math.max(MINUTE_MS, quota.resetMs - nowMs)) }
  }
  const growing = { baseMs: 1000, factor: 2, maxMs: MINUTE_MS, jitter: 0.1 }
  const believedMs = retryAfterMs !== null && retryAfterMs <= LONGEST_THROTTLE_MS ? retryAfterMs : 0
  return { kind: 'throttle', waitMs: Math.max(backoffMs(inARow, growing, chance), believedMs) }
}
