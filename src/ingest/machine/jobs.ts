/**
 * Chooses what the poller does next when no request is in flight. The order is: commit, poll, backfill, retry of a gap (a
 * span of time in which items may be missing), re-scan. A re-scan reads past time again: after a burst (overlap), a whole
 * day (daily reconciliation), or at intervals (scheduled).
 */
import { isoMillis, parseTimestamp } from '../../core/dates.ts'
import { DAY_MS } from '../../core/durations.ts'
import { quotaAt } from '../../governor/quota/ledger.ts'
import type { OpenGap } from '../writer-state/head.ts'
import { dueReconciliation } from './daily-reconciliation.ts'
import { startScan } from './page-scan.ts'
import { poll } from './poll.ts'
import { enqueue } from './publish.ts'
import type { StepContext } from './state.ts'

/** Longest time to the next wake-up: the clock of the machine may be changed meanwhile. */
const LONGEST_SLEEP_MS = 60_000

/** Sends the first queued commit when none is in flight. */
export function flushQueue({ state, actions }: StepContext): void {
  const [queued] = state.queue
  if (state.committing || queued === undefined) return
  state.committing = true
  actions.push({ type: 'commit', queued })
}

/** Starts the next job, or sets the timer for the moment when one is due. */
export function nextJob(context: StepContext): void {
  const { state, nowMs, config } = context
  if (state.refunds.length > 0) enqueue(context, 'poll', { events: [] })
  flushQueue(context)
  if (state.committing) return
  if (nowMs < state.blockedUntilMs) return wake(context, state.blockedUntilMs)
  if (!config.pacing.mayRequest(state.ledger, nowMs)) return waitForQuota(context)
  if (nowMs >= state.nextPollMs || state.cursorRefused) return poll(context)
  if (!startDueScan(context)) wake(context, nextDueMs(context))
}

/** False where no scan is due. */
function startDueScan(context: StepContext): boolean {
  const { state, nowMs, config } = context
  const { backfill, openGaps, sweep, round, lastCleanPollMs } = state.head
  const coveredToMs = lastCleanPollMs ?? nowMs
  const start = (scan: Parameters<typeof startScan>[1]): true => {
    startScan(context, scan)
    return true
  }
  if (backfill !== null && nowMs >= state.backfillRetryMs) {
    return start({ kind: 'backfill', ...nextBackfillDay(backfill) })
  }
  const gap = openGaps.find((open) => nowMs >= open.retryAtMs)
  if (gap !== undefined) {
    return start({ kind: 'gap_retry', gapId: gap.id, cause: gap.cause, ...rangeOf(gap), ...gap.next })
  }
  if (sweep !== null) {
    // Until the overlap re-scan is done, nothing else reads the same range again.
    if (nowMs < sweep.dueAtMs) return false
    return start({ kind: 'overlap_rescan', fromMs: sweep.fromMs, toMs: null, coveredToMs })
  }
  const due = dueReconciliation(context)
  if (due !== null) {
    const { date, pageCursor, ...range } = due
    const day = { date, isResumed: pageCursor !== null }
    return start({ kind: 'daily_reconciliation', ...range, pageCursor, coveredToMs, day })
  }
  const { rounds } = config
  if (rounds === null || round === null || round.dueAtMs === null || nowMs < round.dueAtMs) return false
  const fromMs = round.fromMs - rounds.reachMs
  return start({ kind: 'scheduled_rescan', fromMs, toMs: null, coveredToMs })
}

/** When the next poll or scan is due, ms since 1970. */
function nextDueMs({ state, config }: StepContext): number {
  const { backfill, openGaps, sweep, round } = state.head
  const due = [state.nextPollMs, ...openGaps.map((open) => open.retryAtMs)]
  if (sweep !== null) due.push(sweep.dueAtMs)
  else if (config.rounds !== null && round !== null && round.dueAtMs !== null) due.push(round.dueAtMs)
  if (backfill !== null) due.push(state.backfillRetryMs)
  return Math.min(...due)
}

/** What is left of a gap, at most a day of it: so a long gap is filled day by day, between other work. */
function rangeOf(gap: OpenGap): { fromMs: number; toMs: number } {
  const fromMs = gap.doneToMs ?? parseTimestamp(gap.from) ?? 0
  return { fromMs, toMs: Math.min(fromMs + DAY_MS, parseTimestamp(gap.to) ?? 0) }
}

function waitForQuota(context: StepContext): void {
  const { state, config, nowMs } = context
  const { limit, used, resetMs } = quotaAt(state.ledger, config.weeklyQuota, config.quotaReset, nowMs)
  if (state.upstream !== 'quota') {
    const fields = { limit, used, reset: isoMillis(resetMs) }
    context.actions.push({ type: 'report', level: 'warn', event: 'quota.spent', fields })
  }
  state.upstream = 'quota'
  wake(context, resetMs)
}

function wake({ actions, nowMs }: StepContext, atMs: number): void {
  actions.push({ type: 'wake', atMs: Math.min(atMs, nowMs + LONGEST_SLEEP_MS) })
}

/** The next day of the backfill, oldest first: up to midnight UTC or to its end. */
function nextBackfillDay({ doneToMs, untilMs }: { doneToMs: number; untilMs: number }): {
  fromMs: number
  toMs: number
} {
  const midnightMs = (Math.floor(doneToMs / DAY_MS) + 1) * DAY_MS
  return { fromMs: doneToMs, toMs: Math.min(midnightMs, untilMs) }
}
