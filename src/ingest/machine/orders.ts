/**
 * Handles orders of an operator: to pause and resume polling, and to poll, to retry a gap, or to read a day again at once. What
 * is to be done at once is refused while polling is paused, while its units cannot be paid, and while upstream wants no requests
 * after a 429. Other waits are cut short.
 */
import { quotaAt } from '../../governor/quota/ledger.ts'
import { dayRefusal, readDayAgain } from './daily-reconciliation.ts'
import { PROBED_KEY_REFUSAL } from './poll.ts'
import { enqueue } from './publish.ts'
import type { IngestConfig, IngestState, Order, OrderRefusal, StepContext } from './state.ts'

/** The refusal; null where the order may be carried out. */
export function orderRefusal(
  context: Pick<StepContext, 'state' | 'config' | 'nowMs'>,
  order: Order,
): OrderRefusal | null {
  const { state, config, nowMs } = context
  const refusal = requestRefusal(state, config, nowMs)
  if (order.what === 'poll' || refusal !== null) return refusal
  if (order.what === 'day') return dayRefusal(context, order.date)
  if (!state.head.openGaps.some(({ id }) => id === order.id)) return { why: 'unknown' }
  return config.pacing.mayRetryGap(state.ledger, nowMs) ? null : { why: 'over_budget' }
}

/** Makes due at once what the order is about; nothing where it is refused. */
export function obey(context: StepContext, order: Order): void {
  const { state, nowMs } = context
  if (orderRefusal(context, order) !== null) return
  state.blockedUntilMs = Math.min(state.blockedUntilMs, nowMs)
  if (state.upstream === 'unauthorised' && state.request === null) keepCursor(state)
  if (order.what === 'poll') {
    state.nextPollMs = nowMs
    return
  }
  state.scansBlockedUntilMs = Math.min(state.scansBlockedUntilMs, nowMs)
  if (order.what === 'day') readDayAgain(context, order.date)
  else retryGap(context, order.id)
}

/** Notes since when polling is paused, null at the end of a pause. The last one is kept to explain waits. */
export function notePause(
  { state, nowMs }: Pick<StepContext, 'state' | 'nowMs'>,
  sinceMs: number | null,
): void {
  const { pausedSinceMs: fromMs, holds } = state
  if (fromMs !== null) state.holds = { ...holds, pause: { fromMs, toMs: nowMs } }
  state.pausedSinceMs = sinceMs
}

/** The same for a leader: the end of a pause is an order to poll, too. */
export function pauseOrResume(context: StepContext, sinceMs: number | null): void {
  const isResumed = context.state.pausedSinceMs !== null && sinceMs === null
  notePause(context, sinceMs)
  if (isResumed) obey(context, { what: 'poll' })
}

/**
 * After a refused key an order means a key that was put right. So the next poll goes on with its cursor: without it a good answer
 * would be taken for a refusal of the cursor, and readers would get a gap. If it is refused too, the next one is without.
 */
function keepCursor(state: IngestState): void {
  state.cursorRefused = false
  state.keyRefusalsInARow = Math.min(state.keyRefusalsInARow, PROBED_KEY_REFUSAL - 1)
}

/** Its tries count from the first one again, so that a further failure is tried again soon. */
function retryGap(context: StepContext, id: string): void {
  const openGaps = context.state.head.openGaps.map((gap) =>
    gap.id === id ? { ...gap, attempts: 0, retryAtMs: context.nowMs } : gap,
  )
  enqueue(context, 'fill', { events: [], head: { openGaps } })
}

/** Why no request may leave now. */
function requestRefusal(
  { pausedSinceMs, ledger, upstream, blockedUntilMs }: IngestState,
  { pacing, weeklyQuota, quotaReset }: Pick<IngestConfig, 'pacing' | 'weeklyQuota' | 'quotaReset'>,
  nowMs: number,
): OrderRefusal | null {
  if (pausedSinceMs !== null) return { why: 'paused' }
  if (!pacing.mayRequest(ledger, nowMs)) {
    return { why: 'quota', untilMs: quotaAt(ledger, weeklyQuota, quotaReset, nowMs).resetMs }
  }
  const isAfter429 = upstream === 'throttled' || upstream === 'quota'
  if (isAfter429 && nowMs < blockedUntilMs) return { why: 'throttled', untilMs: blockedUntilMs }
  return null
}
