/**
 * Handles the order of an operator to poll at once: refused while polling is paused, while no unit is left, and while upstream
 * wants to be left alone after a 429. Waits after other failures, such as a refused key, are cut short.
 */
import { quotaAt } from '../../governor/quota/ledger.ts'
import type { IngestConfig, IngestState } from './state.ts'

/** Why no poll may leave now; `untilMs`: when one may, ms since 1970. */
export type PollRefusal = { why: 'paused' } | { why: 'quota' | 'throttled'; untilMs: number }

/** The refusal; null where a poll may leave. */
export function pollRefusal(
  { pausedSinceMs, ledger, upstream, blockedUntilMs }: IngestState,
  { pacing, weeklyQuota, quotaReset }: Pick<IngestConfig, 'pacing' | 'weeklyQuota' | 'quotaReset'>,
  nowMs: number,
): PollRefusal | null {
  if (pausedSinceMs !== null) return { why: 'paused' }
  if (!pacing.mayRequest(ledger, nowMs)) {
    return { why: 'quota', untilMs: quotaAt(ledger, weeklyQuota, quotaReset, nowMs).resetMs }
  }
  const isAfter429 = upstream === 'throttled' || upstream === 'quota'
  if (isAfter429 && nowMs < blockedUntilMs) return { why: 'throttled', untilMs: blockedUntilMs }
  return null
}

/** The state in which a poll is due at once; the same where it is refused. */
export function pollingNow(state: IngestState, config: IngestConfig, nowMs: number): IngestState {
  if (pollRefusal(state, config, nowMs) !== null) return state
  return { ...state, nextPollMs: nowMs, blockedUntilMs: Math.min(state.blockedUntilMs, nowMs) }
}
