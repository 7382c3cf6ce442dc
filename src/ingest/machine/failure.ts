/**
 * What a failed request means for the next ones: how long nothing is sent, what the status says, which units come
 * back. Owns the waits. Refuses to know what the request was for.
 */

import { backoffMs } from '../../core/backoff.ts'
import { MINUTE_MS } from '../../core/durations.ts'
import { retryAfterMs } from '../../core/retry-after.ts'
import { quotaAt } from '../../governor/quota/ledger.ts'
import { takeRetry } from '../../governor/quota/retry-allowance.ts'
import { afterSuccess, type Cause, classify429 } from '../../governor/quota/throttle-classifier.ts'
import type { Purpose } from '../../log/log.ts'
import type { PollResult } from '../../obs/metrics.ts'
import { type Failure, oneLine, type Timing } from '../../upstream/outcome.ts'
import type { Turn } from './state.ts'

/**
 * Waits after failures that upstream may get over by itself: 1, 2, 4 … s, up to the poll interval (at least 5 s), and
 * further while the trouble lasts.
 */
const TROUBLE = { baseMs: 1000, factor: 2, jitter: 0.1 }
const LONGEST_TROUBLE_MS = 5_000
/** Longest wait of a request that never leaves this machine, and so costs nothing. */
const LONGEST_UNSENT_MS = 15_000
/** Waits after a refused key: somebody has to act. */
const UNAUTHORISED = { baseMs: 10_000, factor: 2, jitter: 0.1 }
const LONGEST_UNAUTHORISED_MS = 15 * MINUTE_MS
/**
 * Trouble that has lasted long is asked about rarely: so its end is seen later by a tenth of its length at most, and by
 * no more than this. A week of errors then costs a quarter of the polls of the plan `advanced`.
 */
const SHARE_OF_TROUBLE = 0.1
const RAREST_TROUBLE_MS = 15 * MINUTE_MS
const RAREST_UNAUTHORISED_MS = 60 * MINUTE_MS
/** Of the weekly quota, and at least so many units: what may be spent a week on retries sooner than the next poll. */
const RETRY_SHARE = 0.01
const FEWEST_RETRIES = 10
/** As much after 429s: being refused again is what they cost. */
const RETRY_SHARE_429 = 0.001
const FEWEST_RETRIES_429 = 2
/** Upstream may be unable to answer an old page for good. */
const ANEW_EVERY = 3

/** True when a walk that has failed so often begins with its first page again, and not with the page it did not get. */
export function beginsAnew(failedTries: number): boolean {
  return failedTries % ANEW_EVERY === 0
}

/** What a failure asks for. */
interface Consequence {
  result: PollResult
  /** The verdict on a 429, else null. */
  cause: Cause | null
  waitMs: number
}

/**
 * Blocks further requests for as long as the failure asks for. `spentMs` is when its unit was counted. Only a request
 * that never left gives its unit back: a 429 that is judged to be the quota's may still be the throttle's, which counts.
 */
export function blockAfter(turn: Turn, failure: Failure & Timing, spentMs: number): void {
  const { state, nowMs } = turn
  const request = state.request
  if (request === null) throw new Error('a failure without a request')
  if (!failure.sent) state.refunds = [...state.refunds, { atMs: spentMs, units: 1, purpose: request.purpose }]
  const { result, cause, waitMs: wantedMs } = consequenceOf(turn, failure)
  const waitMs = failure.sent ? paidWaitMs(turn, wantedMs, cause !== null) : wantedMs
  state.blockedUntilMs = nowMs + waitMs
  reportFailure(turn, request.purpose, failure, { result, cause, waitMs })
}

/** Counts and logs a failed request; `waitMs` is how long nothing is sent because of it. */
export function reportFailure(
  turn: Turn,
  purpose: Purpose,
  failure: Failure,
  { result, cause, waitMs }: Consequence,
): void {
  turn.actions.push({ type: 'tally', purpose, result, ...(cause !== null && { cause }) })
  turn.actions.push({
    type: 'report',
    level: 'warn',
    event: 'upstream.request_failed',
    fields: {
      purpose,
      result,
      ...(cause !== null && { verdict: cause }),
      ...detailsOf(failure),
      waitMs: Math.round(waitMs),
    },
  })
}

/** A good answer ends every row of failures. */
export function unblock(turn: Turn): void {
  const { state, config, nowMs } = turn
  state.failuresInARow = 0
  state.keyRefusalsInARow = 0
  state.failingSinceMs = null
  state.classifier = afterSuccess(state.classifier, config.breathMs, nowMs)
  state.blockedUntilMs = 0
  state.upstream = 'ok'
}

function consequenceOf(turn: Turn, failure: Failure & Timing): Consequence {
  if (failure.kind === 'too_many') return judged(turn, failure)
  const { state, config, nowMs } = turn
  state.failuresInARow += 1
  state.failingSinceMs ??= nowMs
  const lastingMs = Math.max(0, nowMs - state.failingSinceMs) * SHARE_OF_TROUBLE
  if (failure.kind === 'unauthorised') {
    state.upstream = 'unauthorised'
    state.keyRefusalsInARow += 1
    const maxMs = Math.max(LONGEST_UNAUTHORISED_MS, Math.min(RAREST_UNAUTHORISED_MS, lastingMs))
    const waitMs = backoffMs(state.keyRefusalsInARow, { ...UNAUTHORISED, maxMs }, config.chance)
    return { result: 'client_error', cause: null, waitMs }
  }
  state.upstream = 'failing'
  const usualMs = Math.max(LONGEST_TROUBLE_MS, config.pacing.meanIntervalMs)
  const maxMs = failure.sent ? Math.max(usualMs, Math.min(RAREST_TROUBLE_MS, lastingMs)) : LONGEST_UNSENT_MS
  const waitMs = backoffMs(state.failuresInARow, { ...TROUBLE, maxMs }, config.chance)
  return { result: failure.kind === 'refused' ? 'client_error' : failure.kind, cause: null, waitMs }
}

/** The verdict on a 429, which the state remembers. */
export function judged(
  turn: Turn,
  failure: Extract<Failure, { kind: 'too_many' }> & Timing,
): Consequence & { cause: Cause } {
  const { state, config, nowMs } = turn
  const quota = quotaAt(state.ledger, config.weeklyQuota, config.quotaReset, nowMs)
  const { state: classifier, verdict } = classify429(
    state.classifier,
    {
      retryAfterMs: retryAfterMs(failure.retryAfter, failure.serverMs ?? nowMs),
      leftShare: quota.remaining / quota.limit,
      resetMs: config.quotaReset === 'rolling' ? null : quota.resetMs,
      refillMs: config.breathMs,
      nowMs,
    },
    config.chance,
  )
  state.classifier = classifier
  state.upstream = verdict.kind === 'quota' ? 'quota' : 'throttled'
  const result = verdict.kind === 'quota' ? 'quota' : 'throttled'
  return { result, cause: verdict.kind, waitMs: verdict.waitMs }
}

/** The wait, or the time to the next poll of the plan where no unit is left for a request before it. */
function paidWaitMs(turn: Turn, waitMs: number, is429: boolean): number {
  const { state, config, nowMs } = turn
  const intervalMs = config.pacing.meanIntervalMs
  if (waitMs >= intervalMs) return waitMs
  const unitsAWeek = is429
    ? Math.max(FEWEST_RETRIES_429, config.weeklyQuota * RETRY_SHARE_429)
    : Math.max(FEWEST_RETRIES, config.weeklyQuota * RETRY_SHARE)
  const which = is429 ? 'refused' : 'failed'
  const left = takeRetry(state.retries[which], unitsAWeek, nowMs)
  if (left === null) return intervalMs
  state.retries = { ...state.retries, [which]: left }
  return waitMs
}

function detailsOf(failure: Failure): Record<string, unknown> {
  if (failure.kind === 'too_many') return { retryAfter: failure.retryAfter }
  if (failure.kind === 'timeout') return { phase: failure.phase }
  if (failure.kind === 'invalid') return { reason: failure.reason }
  if (failure.kind === 'network') return { reason: failure.message }
  if (failure.kind === 'refused') return { status: failure.status, reason: oneLine(failure) }
  return { status: failure.status }
}
