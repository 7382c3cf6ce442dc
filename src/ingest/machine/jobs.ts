/**
 * What the poller does next when nothing is in flight. Owns the order: commits first, then polls that are due, the
 * backfill, gaps, the sweep, the walk over a day that is over, the round. Refuses to look at answers.
 */

import { isoMillis, parseTimestamp } from '../../core/dates.ts'
import { DAY_MS } from '../../core/durations.ts'
import { quotaAt } from '../../governor/quota/ledger.ts'
import type { OpenGap } from '../../log/log.ts'
import { dueDayWalk } from './daily-reconciliation.ts'
import { startWalk } from './page-scan.ts'
import { nextBackfillDay, poll } from './poll.ts'
import { enqueue } from './publish.ts'
import type { Turn } from './state.ts'

/** Longest sleep without looking again: the clock of the machine may be set. */
const LONGEST_SLEEP_MS = 60_000

/** Sends the first queued commit when none is in flight. */
export function flushQueue(turn: Turn): void {
  const { state } = turn
  const [queued] = state.queue
  if (state.committing || queued === undefined) return
  state.committing = true
  turn.actions.push({ type: 'commit', queued })
}

/** Starts the next job, or asks to be woken when there is one. */
export function nextJob(turn: Turn): void {
  const { state, nowMs } = turn
  if (state.refunds.length > 0) enqueue(turn, 'poll', { events: [] })
  flushQueue(turn)
  if (state.committing) return
  if (nowMs < state.blockedUntilMs) return wake(turn, state.blockedUntilMs)
  if (!turn.config.pacing.mayRequest(state.ledger, nowMs)) return waitForQuota(turn)
  if (nowMs >= state.nextPollMs || state.cursorRefused) return poll(turn)
  const { backfill, sweep, round, lastCleanPollMs } = state.head
  if (backfill !== null && nowMs >= state.backfillRetryMs) {
    return startWalk(turn, { kind: 'backfill', ...nextBackfillDay(backfill) })
  }
  const gap = state.head.openGaps.find((open) => nowMs >= open.retryAtMs)
  if (gap !== undefined)
    return startWalk(turn, {
      kind: 'gap',
      gapId: gap.id,
      cause: gap.cause,
      ...rangeOf(gap),
      ...gap.next,
    })
  if (sweep !== null && nowMs >= sweep.dueAtMs) {
    return startWalk(turn, {
      kind: 'sweep',
      fromMs: sweep.fromMs,
      toMs: null,
      upToMs: lastCleanPollMs ?? nowMs,
    })
  }
  // While a burst goes on, its sweep stands; what reads more comes after it.
  const day = sweep === null ? dueDayWalk(turn) : null
  if (day !== null) {
    const { date, pageCursor, ...range } = day
    return startWalk(turn, {
      kind: 'day',
      ...range,
      pageCursor,
      upToMs: lastCleanPollMs ?? nowMs,
      day: { date, isResumed: pageCursor !== null },
    })
  }
  const { rounds } = turn.config
  const roundAtMs = rounds === null || sweep !== null ? null : (round?.dueAtMs ?? null)
  if (rounds !== null && round !== null && roundAtMs !== null && nowMs >= roundAtMs) {
    const fromMs = round.fromMs - rounds.reachMs
    return startWalk(turn, { kind: 'round', fromMs, toMs: null, upToMs: lastCleanPollMs ?? nowMs })
  }
  const later = [state.nextPollMs, ...state.head.openGaps.map((open) => open.retryAtMs)]
  if (sweep !== null) later.push(sweep.dueAtMs)
  if (roundAtMs !== null) later.push(roundAtMs)
  if (backfill !== null) later.push(state.backfillRetryMs)
  wake(turn, Math.min(...later))
}

/** What is left of a gap, at most a day of it: so that a long one is paid for day by day, whatever comes between. */
function rangeOf(gap: OpenGap): { fromMs: number; toMs: number } {
  const fromMs = gap.doneToMs ?? parseTimestamp(gap.from) ?? 0
  return { fromMs, toMs: Math.min(fromMs + DAY_MS, parseTimestamp(gap.to) ?? 0) }
}

function waitForQuota(turn: Turn): void {
  const { weeklyQuota, quotaReset } = turn.config
  const { limit, used, resetMs } = quotaAt(turn.state.ledger, weeklyQuota, quotaReset, turn.nowMs)
  if (turn.state.upstream !== 'quota') {
    const fields = { limit, used, reset: isoMillis(resetMs) }
    turn.actions.push({ type: 'report', level: 'warn', event: 'quota.spent', fields })
  }
  turn.state.upstream = 'quota'
  wake(turn, resetMs)
}

function wake(turn: Turn, atMs: number): void {
  turn.actions.push({ type: 'wake', atMs: Math.min(atMs, turn.nowMs + LONGEST_SLEEP_MS) })
}
