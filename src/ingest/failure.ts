/**
 * What a failed request means for the next ones: how long nothing is sent, what the status says, which units come
 * back. Owns the waits. Refuses to know what the request was for.
 */
import { backoffMs } from '../core/backoff.ts'
import { hintsAtQuota, judge429 } from '../governor/judge.ts'
import { quotaAt } from '../governor/ledger.ts'
import type { PollResult } from '../obs/metrics.ts'
import type { Failure, Timing } from '../upstream/outcome.ts'
import { retryAfterMs } from '../upstream/retry-after.ts'
import type { Turn } from './state.ts'

/** Waits after failures that upstream may get over by itself: 1, 2, 4 … s, up to the poll interval (at least 5 s). */
const TROUBLE = { baseMs: 1000, factor: 2, jitter: 0.1 }
const LONGEST_TROUBLE_MS = 5_000
/** Waits after a refused key: somebody has to act. */
const UNAUTHORISED = { baseMs: 10_000, factor: 2, maxMs: 15 * 60_000, jitter: 0.1 }

/**
 * Blocks further requests for as long as the failure asks for. `spentMs` is when its unit was counted. Only a request
 * that never left gives its unit back: a 429 that is judged to be the quota's may still be the throttle's, which counts.
 */
export function blockAfter(turn: Turn, failure: Failure & Timing, spentMs: number): void {
  const { state, config, nowMs } = turn
  const request = state.request
  if (request === null) throw new Error('a failure without a request')
  if (!failure.sent) state.refunds = [...state.refunds, { atMs: spentMs, units: 1, purpose: request.purpose }]
  if (failure.kind !== 'too_many') state.failuresInARow += 1
  let result: PollResult
  let waitMs: number
  if (failure.kind === 'too_many') {
    state.tooManyInARow += 1
    const quota = quotaAt(state.ledger, config.weeklyQuota, config.quotaReset, nowMs)
    const askedMs = retryAfterMs(failure.retryAfter, failure.serverMs ?? nowMs)
    state.hintsInARow = hintsAtQuota(askedMs) ? state.hintsInARow + 1 : 0
    const evidence = {
      retryAfterMs: askedMs,
      inARow: state.tooManyInARow,
      hintsInARow: state.hintsInARow,
      quota,
      nowMs,
    }
    const verdict = judge429(evidence, config.chance)
    state.upstream = verdict.kind === 'quota' ? 'quota' : 'throttled'
    result = verdict.kind === 'quota' ? 'quota' : 'throttled'
    waitMs = verdict.waitMs
  } else if (failure.kind === 'unauthorised') {
    state.upstream = 'unauthorised'
    result = 'client_error'
    state.keyRefusalsInARow += 1
    waitMs = backoffMs(state.keyRefusalsInARow, UNAUTHORISED, config.chance)
  } else {
    state.upstream = 'failing'
    result = failure.kind === 'refused' ? 'client_error' : failure.kind
    const maxMs = Math.max(LONGEST_TROUBLE_MS, config.pacing.pollIntervalMs())
    waitMs = backoffMs(state.failuresInARow, { ...TROUBLE, maxMs }, config.chance)
  }
  state.blockedUntilMs = nowMs + waitMs
  turn.actions.push({ type: 'tally', purpose: request.purpose, result })
  turn.actions.push({
    type: 'report',
    level: 'warn',
    event: 'poll.failed',
    fields: { purpose: request.purpose, result, ...detailsOf(failure), waitMs: Math.round(waitMs) },
  })
}

/** A good answer ends every row of failures. */
export function unblock(turn: Turn): void {
  turn.state.failuresInARow = 0
  turn.state.keyRefusalsInARow = 0
  turn.state.tooManyInARow = 0
  turn.state.hintsInARow = 0
  turn.state.blockedUntilMs = 0
  turn.state.upstream = 'ok'
}

function detailsOf(failure: Failure): Record<string, unknown> {
  if (failure.kind === 'too_many') return { retryAfter: failure.retryAfter }
  if (failure.kind === 'timeout') return { phase: failure.phase }
  if (failure.kind === 'invalid') return { reason: failure.reason }
  if (failure.kind === 'network') return { reason: failure.message }
  if (failure.kind === 'refused') return { status: failure.status, reason: failure.message }
  return { status: failure.status }
}
