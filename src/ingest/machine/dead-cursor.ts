/**
 * Finds out when polls by cursor have stopped leading to new items: upstream began its cursors anew, or answers them from a
 * replica that stands still. A poll by date in place of one by cursor shows it.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/durations.ts'
import { lagOf } from '../../governor/arrivals/learning.ts'
import type { UpstreamListQuery } from '../../upstream/list-parameters.ts'
import { haveListsFailed, plausibleTimes } from './overflow.ts'
import { latestPresentMs, skewsMs } from './present.ts'
import { isCursorAhead } from './stamped-ahead.ts'
import type { ReadPage, StepContext } from './state.ts'

/** Polls by cursor that list nothing while so many items are expected are followed by one by date: the cursor may be dead. */
const ITEMS_EXPECTED = 8

/** After a check that failed the next one comes so much later, then twice that. */
const CHECK_AGAIN_MS = 2 * MINUTE_MS

/**
 * True where a poll by date is to show whether the cursor still leads to new items: polls by cursor have listed nothing while
 * many were expected, or while a page scan has published newer ones than the cursor's page had.
 */
export function isCheckDue(context: StepContext): boolean {
  const { cursorSeen, head, plan, profile, upstream } = context.state
  // Before the first item a poll has no date to begin with.
  if (upstream !== 'ok' || cursorSeen === null || head.latestTimeMs === 0) return false
  if (isCursorAhead(context)) return true
  if (haveListsFailed(context)) return false
  const quietMs = context.nowMs - cursorSeen.atMs
  // At least every second poll goes by cursor: items of any time may be listed behind it.
  if (quietMs < Math.max(MINUTE_MS, 1.5 * plan.intervalMs)) return false
  if (head.latestTimeMs > (listedToMs(context) ?? head.latestTimeMs) + MINUTE_MS) return true
  const shownMs = context.nowMs + skewsMs(context.state)[0] - lagOf(profile)
  const fromMs = shownMs - Math.min(quietMs, DAY_MS)
  return context.config.pacing.expectedItems(profile, fromMs, shownMs) >= ITEMS_EXPECTED
}

/**
 * True where a page by date lists what polls by cursor should have listed: known items of before the last of them. New ones may
 * have been listed since: the next check shows whether a poll by cursor does not list them either.
 */
export function isCursorDead(
  context: StepContext,
  { times, guids, fresh }: ReadPage,
  lastCleanMs: number,
): boolean {
  const { state } = context
  const listedMs = listedToMs(context)
  const shownMs = lastCleanMs - lagOf(state.profile) - MINUTE_MS
  const unknown = new Set(fresh.map(({ disclosure }) => disclosure.guid))
  const known = times.filter((_, index) => !unknown.has(guids[index] ?? ''))
  return known.some((timeMs) => timeMs > (listedMs ?? timeMs) + MINUTE_MS && timeMs < shownMs)
}

/** Time of the newest item that polls by cursor have listed, or their cursor's page; ms since 1970. Null: none is known. */
function listedToMs({ state }: StepContext): number | null {
  const { cursorTimeMs } = state.head
  return cursorTimeMs === null ? null : Math.max(cursorTimeMs, state.cursorSeen?.toMs ?? 0)
}

/**
 * Notes a good answer: when polls by cursor last listed anything new, and that a poll by date is answered again. Items that every
 * poll lists again, behind a cursor that is kept, do not show that it leads to new ones.
 */
export function noteSeen(context: StepContext, query: UpstreamListQuery, page: ReadPage): void {
  const { nowMs, state } = context
  const { cursorSeen, head } = state
  // A clock may have been ahead when they were listed.
  const beforeMs = Math.min(cursorSeen?.toMs ?? 0, latestPresentMs(context))
  const isByDate = query.sinceCursor === undefined
  if (isByDate) state.failedChecks = { inARow: 0, againMs: 0 }
  const toMs = isByDate ? beforeMs : Math.max(beforeMs, ...plausibleTimes(context, page))
  const isSeen = isByDate || toMs > beforeMs || page.fresh.length + page.rejected.length > 0
  // A new process does not know when they last listed anything new: not since the newest item that is held.
  const heldMs = Math.min(nowMs, head.latestTimeMs - skewsMs(state)[0])
  state.cursorSeen = { atMs: isSeen ? nowMs : (cursorSeen?.atMs ?? heldMs), toMs }
}

/** A list that fails by date is asked by date again after two minutes, four, eight …, not at every second poll. */
export function putChecksOff({ state, nowMs }: StepContext): void {
  const { inARow } = state.failedChecks
  const waitMs = Math.min(CHECK_AGAIN_MS * 2 ** Math.min(inARow, 9), HOUR_MS)
  state.failedChecks = { inARow: inARow + 1, againMs: nowMs + waitMs }
}
