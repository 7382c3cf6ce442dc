/** Plans and says when the next poll is made. */
import { MINUTE_MS } from '../../core/durations.ts'
import type { Situation } from '../../governor/schedule/planner.ts'
import { skewsMs } from './present.ts'
import type { IngestState, StepContext } from './state.ts'

/** The input for planning the next poll. */
export function situationOf(context: StepContext): Situation {
  const { state, nowMs } = context
  return { ledger: state.ledger, profile: state.profile, nowMs, skewMs: skewsMs(state)[0] }
}

/** Plans the poll after one that was made then: the soonest by any clock that may be right. Returns when it is due. */
export function planNextPoll(context: StepContext, polledMs: number): number {
  const { state, config } = context
  const nowMs = Math.min(context.nowMs, polledMs)
  state.plannedSkewsMs = skewsMs(state)
  const plans = state.plannedSkewsMs.map((skewMs) =>
    config.pacing.plan({ ...situationOf(context), nowMs, skewMs }),
  )
  state.plan = plans.reduce((soonest, plan) => (plan.intervalMs < soonest.intervalMs ? plan : soonest))
  state.nextPollMs = nowMs + state.plan.intervalMs
  return state.nextPollMs
}

/** True where the answer to a poll showed another clock than those the next poll was planned by: before the first one ours. */
export function isOtherClock({ state }: StepContext): boolean {
  const isPlanned = (skewMs: number): boolean =>
    state.plannedSkewsMs.some((plannedMs) => Math.abs(plannedMs - skewMs) <= MINUTE_MS)
  return !skewsMs(state).every(isPlanned)
}

/** Plans the next poll again. The one that was planned is never put off. */
export function correctNextPoll(context: StepContext, polledMs: number): void {
  const { nextPollMs } = context.state
  context.state.nextPollMs = Math.min(nextPollMs, planNextPoll(context, polledMs))
}

/**
 * When the next poll is due, ms since 1970; null where this process does not poll, or polling is paused. A page scan may
 * delay it.
 */
export function nextPollAtMs({
  nextPollMs,
  blockedUntilMs,
  spentUntilMs,
  pausedSinceMs,
}: Pick<IngestState, 'nextPollMs' | 'blockedUntilMs' | 'spentUntilMs' | 'pausedSinceMs'>): number | null {
  if (nextPollMs === 0 || pausedSinceMs !== null) return null
  return Math.max(nextPollMs, blockedUntilMs, spentUntilMs)
}
