/**
 * Applies the outcome of a proxied request to the poller's state: a 429 blocks polls as one of their own would. Other
 * failures do not, because upstream may handle fund requests separately.
 */
import { afterSuccess } from '../../governor/quota/throttle-classifier.ts'
import type { PollResult } from '../../obs/metrics.ts'
import type { FundOutcome } from '../../upstream/fund-client.ts'
import { judged, reportFailure } from './failure.ts'
import { compareQuota } from './quota-drift.ts'
import type { StepContext } from './state.ts'

/** `spentMs` is when the unit of the request was counted; a request that never left gets it back. */
export function onProxied(context: StepContext, outcome: FundOutcome, spentMs: number): void {
  const { state, config, nowMs } = context
  compareQuota(context, outcome)
  if (!outcome.sent) state.refunds = [...state.refunds, { atMs: spentMs, units: 1, purpose: 'gateway' }]
  if (outcome.kind !== 'too_many') {
    const isGood = outcome.kind === 'ok' || outcome.kind === 'not_found'
    if (isGood && state.upstream === 'ok')
      state.classifier = afterSuccess(state.classifier, config.breathMs, nowMs)
    context.actions.push({ type: 'tally', purpose: 'gateway', result: resultOf(outcome) })
    return
  }
  const consequence = judged(context, outcome)
  state.blockedUntilMs = Math.max(state.blockedUntilMs, nowMs + consequence.waitMs)
  reportFailure(context, 'gateway', outcome, consequence)
}

function resultOf({ kind }: Exclude<FundOutcome, { kind: 'too_many' }>): PollResult {
  if (kind === 'ok') return 'new'
  if (kind === 'not_found') return 'empty'
  return kind === 'refused' || kind === 'unauthorised' ? 'client_error' : kind
}
