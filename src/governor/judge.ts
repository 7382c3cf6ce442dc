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
/** Such a hint is believed from the third 429 on: Retry-After is not promised, and absurd values were met. */
const PROBES = 2
/** Without a hint, after so many 429s in a row with growing waits, a throttle is no longer believable. */
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
 * Judges one 429. A throttle waits 1, 2, 4 … 60 s, or Retry-After where that is longer and believable. A spent quota
 * waits for its reset, with rare probes (which it does not count) after 1, 2, 4 min … 6 h, so that a wrong verdict
 * heals by itself.
 */
export function judge429(evidence: Evidence, chance: Chance): Verdict {
  const { inARow, quota, nowMs } = evidence
  const hinted = evidence.retryAfterMs !== null && evidence.retryAfterMs > LONGEST_THROTTLE_MS
  const doubts = quota.remaining === 0 ? 0 : hinted ? PROBES : PATIENCE
  if (inARow > doubts) {
    const growing = { baseMs: MINUTE_MS, factor: 2, maxMs: 6 * HOUR_MS, jitter: 0.1 }
    const probeMs = backoffMs(inARow - doubts, growing, chance)
    return { kind: 'quota', waitMs: Math.min(probeMs, Math.max(MINUTE_MS, quota.resetMs - nowMs)) }
  }
  const growing = { baseMs: 1000, factor: 2, maxMs: MINUTE_MS, jitter: 0.1 }
  const believedMs = hinted ? 0 : (evidence.retryAfterMs ?? 0)
  return { kind: 'throttle', waitMs: Math.max(backoffMs(inARow, growing, chance), believedMs) }
}
