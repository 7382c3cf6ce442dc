/**
 * What the end of a request that was passed through means for the poller: one judge hears of every 429. Owns that.
 * Refuses to let anything else that such a request meets hold polls back: upstream may treat funds otherwise.
 */
import { afterGoodAnswer } from '../../governor/quota/throttle-classifier.ts'
import type { PollResult } from '../../obs/metrics.ts'
import type { FundOutcome } from '../../upstream/fund-client.ts'
import { judged } from './failure.ts'
import { compareQuota } from './quota-drift.ts'
import type { Turn } from './state.ts'

/** Takes the outcome to heart. `spentMs` is when its unit was counted; one that never left gives it back. */
export function heedPassed(turn: Turn, outcome: FundOutcome, spentMs: number): void {
  const { state, config, nowMs } = turn
  compareQuota(turn, outcome)
  if (!outcome.sent) state.refunds = [...state.refunds, { atMs: spentMs, units: 1, purpose: 'gateway' }]
  if (outcome.kind !== 'too_many') {
    const isGood = outcome.kind === 'ok' || outcome.kind === 'not_found'
    if (isGood && state.upstream === 'ok') state.judge = afterGoodAnswer(state.judge, config.breathMs, nowMs)
    turn.actions.push({ type: 'tally', purpose: 'gateway', result: resultOf(outcome) })
    return
  }
  const { result, cause, waitMs } = judged(turn, outcome)
  state.blockedUntilMs = Math.max(state.blockedUntilMs, nowMs + waitMs)
  turn.actions.push({ type: 'tally', purpose: 'gateway', result, cause })
  turn.actions.push({
    type: 'report',
    level: 'warn',
    event: 'poll.failed',
    fields: {
      ...{ purpose: 'gateway', result, verdict: cause },
      ...{ retryAfter: outcome.retryAfter, waitMs: Math.round(waitMs) },
    },
  })
}

function resultOf({ kind }: Exclude<FundOutcome, { kind: 'too_many' }>): PollResult {
  if (kind === 'ok') return 'new'
  if (kind === 'not_found') return 'empty'
  return kind === 'refused' || kind === 'unauthorised' ? 'client_error' : kind
}
