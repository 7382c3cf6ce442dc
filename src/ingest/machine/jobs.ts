/**
 * Chooses what the poller does next when no request is in flight. The order is: commit, poll, page scan in progress,
 * backfill, retry of a gap (a span of time in which items may be missing), re-scan. A re-scan reads past time again: after
 * a burst (overlap), a whole day (daily reconciliation), or at intervals (scheduled).
 */
import { isoMillis } from '../../core/dates.ts'
import { DAY_MS } from '../../core/durations.ts'
import type { Purpose } from '../../core/purpose.ts'
import { quotaAt } from '../../governor/quota/ledger.ts'
import { type OpenGap, timesOf } from '../writer-state/head.ts'
import { dueReconciliation } from './daily-reconciliation.ts'
import { nextBackfillDay } from './first-start.ts'
import { abandonPage, endHold, publishHeld, requestPage, startScan } from './page-scan.ts'
import { poll } from './poll.ts'
import { enqueue } from './publish.ts'
import { HOLD_MS, type IngestState, type PageScan, type StepContext } from './state.ts'

/** Longest time to the next wake-up: the clock of the machine may be changed meanwhile. */
const LONGEST_SLEEP_MS = 60_000

/**
 * A page of a scan may keep a due poll waiting for this share of the planned interval, unless the page before it failed, and
 * where upstream answers slowly for this many times its last answers, up to a second.
 */
const PATIENCE_SHARE = 0.4
const PATIENCE_ANSWERS = 1.5
const MOST_PATIENCE_MS = 1000

/** Sends the first queued commit when none is in flight. */
export function flushQueue({ state, actions }: StepContext): void {
  const [queued] = state.queue
  if (state.committing || queued === undefined) return
  state.committing = true
  actions.push({ type: 'commit', queued })
}

/** True for a request that is a poll, or asks for a new cursor; false for a page of a scan. */
export function isPoll(purpose: Purpose): boolean {
  return purpose === 'poll' || purpose === 'probe'
}

/** Starts the next job, or sets the timer for the moment when one is due. */
export function nextJob(context: StepContext): void {
  const { state, nowMs, config } = context
  if (state.refunds.length > 0) enqueue(context, 'poll', { events: [] })
  flushQueue(context)
  if (state.committing) return
  // What a scan has fetched is published; it goes on when polling is resumed.
  if (state.pausedSinceMs !== null) return waitFor(context, Number.POSITIVE_INFINITY)
  if (nowMs < state.blockedUntilMs) return waitFor(context, state.blockedUntilMs)
  if (!config.pacing.mayRequest(state.ledger, nowMs)) {
    // The page of a scan cannot be paid either: asking for it postpones the scan.
    return state.scan === null ? waitForQuota(context) : nextPage(context, state.scan)
  }
  state.spentUntilMs = 0
  if (pollGoesFirst(context)) return poll(context)
  if (state.scan !== null) continueScan(context, state.scan)
  else if (!startDueScan(context)) wake(context, nextDueMs(context))
}

/**
 * Sets the timer while a request is in flight: for the end of the hold of a fill, and for a poll that is due. A page that
 * keeps a poll waiting is abandoned.
 */
export function wakeDuringRequest(context: StepContext): void {
  const { state, nowMs } = context
  const { scan, request, nextPollMs } = state
  if (scan === null || request === null) return
  const abandonAtMs =
    isPoll(request.purpose) || state.pausedSinceMs !== null
      ? Number.POSITIVE_INFINITY
      : Math.max(nextPollMs, request.startedMs) + patienceMs(state)
  if (nowMs < abandonAtMs) return wake(context, Math.min(abandonAtMs, holdEndMs(state)))
  endHold(context, scan)
  abandonPage(context, state.scan ?? scan)
  nextJob(context)
}

/** How long the page of a scan may keep a due poll waiting. */
function patienceMs({ plan, tookMs, failedPagesInARow }: IngestState): number {
  const usualMs = Math.min(MOST_PATIENCE_MS, PATIENCE_ANSWERS * Math.max(tookMs.poll, tookMs.page))
  return failedPagesInARow > 0 ? usualMs : Math.max(plan.intervalMs * PATIENCE_SHARE, usualMs)
}

/** A due poll goes before the pages of a scan, in turn with them. It waits for a fill whose items are not published yet. */
function pollGoesFirst({ state, nowMs }: StepContext): boolean {
  const { scan, nextPollMs, cursorRefused, wasPoll, scansBlockedUntilMs } = state
  if (nowMs < nextPollMs && !cursorRefused) return false
  if (scan === null) return true
  return scan.firstHead === null && !(wasPoll && nowMs >= scansBlockedUntilMs)
}

/** Requests the next page of the scan, or sets the timer for it. */
function continueScan(context: StepContext, scan: PageScan): void {
  const { state, nowMs } = context
  const pageMs = Math.max(state.scansBlockedUntilMs, isTooSlowNow(context) ? state.nextPollMs : 0)
  if (nowMs >= pageMs) return nextPage(context, scan)
  const pollMs = state.nextPollMs + (scan.firstHead === null ? 0 : patienceMs(state))
  if (nowMs < pollMs) return waitFor(context, Math.min(pageMs, pollMs))
  endHold(context, scan)
  flushQueue(context)
}

/** True where the next page would end too late for the next poll, if it took as long as the last one. */
function isTooSlowNow({ state, nowMs }: StepContext): boolean {
  const { wasPoll, nextPollMs, tookMs } = state
  return !wasPoll && nowMs < nextPollMs && nowMs + tookMs.page > nextPollMs + patienceMs(state)
}

/** Requests the next page of the scan; where the quota does not allow it, the scan is postponed. */
function nextPage(context: StepContext, scan: PageScan): void {
  const { state } = context
  requestPage(context, scan)
  if (state.request === null) flushQueue(context)
  if (state.request === null && !state.committing) wake(context, nextDueMs(context))
}

/** Sets the timer. What a scan has fetched is published before a long wait, and that of a fill when its hold is over. */
function waitFor(context: StepContext, untilMs: number): void {
  const { state, nowMs } = context
  if (state.scan !== null && untilMs > nowMs + HOLD_MS) publishHeld(context, state.scan)
  flushQueue(context)
  if (!state.committing) wake(context, Math.min(untilMs, holdEndMs(state)))
}

/** When the items of an unpublished fill are published at the latest. */
function holdEndMs({ scan }: IngestState): number {
  return scan === null || scan.firstHead === null ? Number.POSITIVE_INFINITY : scan.startedMs + HOLD_MS
}

/** False where no scan is due. */
function startDueScan(context: StepContext): boolean {
  const { state, nowMs, config } = context
  const { backfill, openGaps, sweep, round, lastCleanPollMs } = state.head
  if (nowMs < state.scansBlockedUntilMs) return false
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
    const range = rangeOf(gap)
    // A page to go on with is one behind those items, and a day of a longer gap has not all of them.
    const isWhole = gap.next === undefined && gap.doneToMs === undefined && range.toMs === timesOf(gap).toMs
    const proof = isWhole ? (gap.proof ?? []) : []
    return start({ kind: 'gap_retry', gapId: gap.id, cause: gap.cause, ...range, ...gap.next, proof })
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
  // The clock that dated it may have been shown to be wrong since.
  const fromMs = Math.min(round.fromMs, coveredToMs) - rounds.reachMs
  return start({ kind: 'scheduled_rescan', fromMs, toMs: null, coveredToMs })
}

/** When the next poll or scan is due, ms since 1970. */
function nextDueMs({ state, config }: StepContext): number {
  const { backfill, openGaps, sweep, round } = state.head
  const due = openGaps.map((open) => open.retryAtMs)
  if (sweep !== null) due.push(sweep.dueAtMs)
  else if (config.rounds !== null && round !== null && round.dueAtMs !== null) due.push(round.dueAtMs)
  if (backfill !== null) due.push(state.backfillRetryMs)
  return Math.min(state.nextPollMs, Math.max(state.scansBlockedUntilMs, Math.min(...due)))
}

/** What is left of a gap, at most a day of it: so a long gap is filled day by day, between other work. */
function rangeOf(gap: OpenGap): { fromMs: number; toMs: number } {
  const { fromMs: firstMs, toMs } = timesOf(gap)
  const fromMs = gap.doneToMs ?? firstMs
  return { fromMs, toMs: Math.min(fromMs + DAY_MS, toMs) }
}

function waitForQuota(context: StepContext): void {
  const { state, config, nowMs } = context
  const { limit, used, resetMs } = quotaAt(state.ledger, config.weeklyQuota, config.quotaReset, nowMs)
  if (state.upstream !== 'quota') {
    const fields = { limit, used, reset: isoMillis(resetMs) }
    context.actions.push({ type: 'report', level: 'warn', event: 'quota.spent', fields })
  }
  state.upstream = 'quota'
  state.spentUntilMs = resetMs
  wake(context, resetMs)
}

function wake({ actions, nowMs }: StepContext, atMs: number): void {
  actions.push({ type: 'wake', atMs: Math.min(atMs, nowMs + LONGEST_SLEEP_MS) })
}
