/** Plans when the next poll is made. */
import { MINUTE_MS } from '../../core/durations.ts'
import type { Situation } from '../../governor/schedule/planner.ts'
import { skewsMs } from './present.ts'
import type { StepContext } from './state.ts'

/** The input for planning the next poll. */
export function situationOf(context: StepContext): Situation {
  const { state, nowMs } = context
  return { ledger: state.ledger, profile: state.profile, nowMs, skewMs: skewsMs(context)[0] }
}

/** Plans the poll after one that was made then: the soonest by any clock that may be right. Returns when it is due. */
export function planNextPoll(context: StepContext, polledMs: number): number {
  const { state, config } = context
  const nowMs = Math.min(context.nowMs, polledMs)
  state.plannedSkewsMs = skewsMs(context)
  const plans = state.plannedSkewsMs.map((skewMs) =>
    config.pacing.plan({ ...situationOf(context), nowMs, skewMs }),
  )
  state.plan = plans.reduce((soonest, plan) => (plan.intervalMs < soonest.intervalMs ? plan : soonest))
  state.nextPollMs = nowMs + state.plan.intervalMs
  return state.nextPollMs
}

/**
 * Plans again where the answer to a poll shows another clock than those it was planned by: before the first one ours. The poll
 * that was planned is never put off.
 */
export function correctNextPoll(context: StepContext, polledMs: number): void {
  const { nextPollMs, plannedSkewsMs } = context.state
  const isPlanned = (skewMs: number): boolean =>
    plannedSkewsMs.some((plannedMs) => Math.abs(plannedMs - skewMs) <= MINUTE_MS)
  if (skewsMs(context).every(isPlanned)) return
  context.state.nextPollMs = Math.min(nextPollMs, planNextPoll(context, polledMs))
}
