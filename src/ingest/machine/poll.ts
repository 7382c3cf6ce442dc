/**
 * Sends polls and handles the responses: publishes new items, moves the cursor, and recovers from a cursor that upstream
 * rejects or repeats. If a full page left items out, a fill starts: it reads the missing items page by page.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/durations.ts'
import type { UpstreamListQuery } from '../../upstream/list-parameters.ts'
import type { Failure } from '../../upstream/outcome.ts'
import type { Head } from '../writer-state/head.ts'
import type { PollerCommit } from '../writer-state/poller-writer.ts'
import { learnFromPoll, rescanAfterPoll, savedProfile } from './arrivals.ts'
import { isCheckDue, isCursorDead, noteSeen, putChecksOff } from './dead-cursor.ts'
import { blockAfter, unblock } from './failure.ts'
import { COVER_MARGIN_MS, isOfStream, takeFirstCursor } from './first-start.ts'
import { correctNextPoll, isOtherClock, planNextPoll } from './next-poll.ts'
import {
  cursorTimeOf,
  fillStart,
  isKnownOverflow,
  isRepeated,
  overflows,
  plausibleTimes,
  proofOf,
} from './overflow.ts'
import { addFetched, overflowCause, startScan, takeShared } from './page-scan.ts'
import { earliestPresentMs, lastCleanOf, sinceMs, upstreamTimesOf } from './present.ts'
import { enqueue, newGap, publish } from './publish.ts'
import {
  aheadPollOf,
  endBeforePresentMs,
  headOfCursor,
  isCursorAhead,
  upperBoundMs,
  usableCursor,
} from './stamped-ahead.ts'
import type { PageOutcome, ReadPage, StepContext } from './state.ts'
import { FILL_MARGIN_MS } from './state.ts'

/** Cursors remembered to detect a loop. */
const CURSORS_KEPT = 500
/** Rejected new cursors in a row after which polls go by date: upstream accepts none of its own cursors. */
const MOST_REFUSALS = 2

/** After so long without a good poll one is made without the cursor, and again whenever that time has doubled. */
const PROBE_AFTER_MS = HOUR_MS

/** After `MOST_REFUSALS` and one more, a new cursor is tried after so long, then after twice that. */
const CURSOR_AGAIN_MS = 5 * MINUTE_MS

/** The 401 or 403 in a row after which one request is made without the cursor: upstream may mean the cursor. */
export const PROBED_KEY_REFUSAL = 2

/** What a good poll covers. */
interface Polled {
  query: UpstreamListQuery
  page: ReadPage
  /** The cursor of the page; null where there is none that may be used. */
  pageCursor: string | null
  /** When the poll began, by our clock and by upstream's, ms since 1970. */
  startedMs: number
  startMs: number
  /** When the poll before it began, by the same clock as `startMs`; as `startMs` where there was none. */
  lastCleanMs: number
  /** Up to where the cursor of the answer covers: the end of the request and its newest item, with a margin. */
  coveredToMs: number
  /** The poll before it was dated by another clock: the time between them is not known. */
  hasOtherClock: boolean
}

/** Sends the next poll, or the request for a new cursor. */
export function poll(context: StepContext): void {
  const query = pollQuery(context)
  const purpose = context.state.cursorRefused ? 'probe' : 'poll'
  context.state.request = { purpose, query, startedMs: context.nowMs }
  context.state.wasPoll = true
  context.state.intervalBeforeMs = context.state.plan.intervalMs
  planNextPoll(context, context.nowMs)
  context.actions.push({ type: 'request', purpose, query })
}

/**
 * A poll with the cursor; without one for a new cursor. While upstream gives no cursor that may be used, polls go by date,
 * from the newest item on; before the first item without a date, so that no clock has to be right. What a page that ended before
 * the present left is asked for by date too: its cursor may hide items that were listed before its newest one.
 */
function pollQuery(context: StepContext): UpstreamListQuery {
  const { cursorRefused, endedEarly, head, lastGoodPollMs } = context.state
  const { cursor, lastCleanPollMs, latestTimeMs } = head
  const query: UpstreamListQuery = { pageSize: context.config.pageSize }
  if (cursorRefused) return query
  const how = aheadPollOf(context)
  const isRest = how === 'by_cursor' && (endedEarly || isCheckDue(context))
  if (cursor !== null && how === 'by_cursor' && !isRest) return { ...query, sinceCursor: cursor }
  const toMs = upperBoundMs(context, how)
  if (lastCleanPollMs === null || (latestTimeMs === 0 && toMs === undefined)) return query
  const polledMs = Math.min(lastCleanPollMs, earliestPresentMs(context) - sinceMs(context, lastGoodPollMs))
  const seenToMs = latestTimeMs === 0 ? polledMs : Math.min(polledMs, latestTimeMs)
  const newestMs = Math.min(seenToMs, toMs ?? seenToMs)
  const marginMs = isRest ? COVER_MARGIN_MS : FILL_MARGIN_MS
  return { ...query, fromMs: newestMs - marginMs, ...(toMs !== undefined && { toMs }) }
}

/**
 * The cursor of the page that may be used. A page by date that was asked for in place of one by cursor gives one only where
 * the present one is dead: behind that, items of any time are listed. Notes when the cursor was last seen alive, or checked.
 */
function cursorOfPage(
  context: StepContext,
  { query, page, lastCleanMs }: Pick<Polled, 'query' | 'page' | 'lastCleanMs'>,
  { usable, isCheck }: { usable: string | null; isCheck: boolean },
): string | null {
  const { state, nowMs } = context
  noteSeen(context, query, page)
  // Upstream accepts none of its own cursors: another one is tried after five minutes, ten, twenty …
  const refusals = state.refusedInARow - MOST_REFUSALS
  if (refusals > 0 && nowMs - state.probedMs < CURSOR_AGAIN_MS * 2 ** (Math.min(refusals, 9) - 1)) return null
  if (!isCheck) return usable
  if (!isCursorAhead(context) && !isCursorDead(context, page, lastCleanMs)) return null
  const fields = {
    reason: 'polls by cursor did not list what a poll by date lists; its cursor is used from now on',
  }
  context.actions.push({ type: 'report', level: 'warn', event: 'poll.cursor_dead', fields })
  return usable
}

/** Handles the answer to a poll, or to the request for a new cursor. */
export function answerPoll(
  context: StepContext,
  query: UpstreamListQuery,
  answer: PageOutcome,
  spentMs: number,
): void {
  if (answer.kind !== 'ok') return retryPoll(context, query, answer, spentMs)
  const page = answer.value
  const loop = cursorLoopIn(context, query, page)
  if (loop !== null) {
    return retryPoll(context, query, { ...answer, kind: 'invalid', reason: loop }, spentMs)
  }
  const { state } = context
  const { lastGoodPollMs, sightingSkewMs } = state
  const isRecovery = state.upstream !== 'ok'
  unblock(context)
  state.lastGoodPollMs = context.nowMs
  state.request = null
  const purpose = state.cursorRefused ? 'probe' : 'poll'
  context.actions.push({ type: 'tally', purpose, result: page.fresh.length > 0 ? 'new' : 'empty' })
  const isFirst = lastGoodPollMs === null || state.head.lastCleanPollMs === null
  const isByCursor =
    aheadPollOf(context) === 'by_cursor' && state.head.cursor !== null && !state.cursorRefused
  const isCheck = isByCursor && query.sinceCursor === undefined && !state.endedEarly
  const usable = usableCursor(context, page, {
    sinceMs: isFirst ? null : sinceMs(context, lastGoodPollMs),
    isByDate: query.toMs !== undefined,
    isRepeated: isRepeated(context, query, page),
  })
  const { earliestMs, latestMs } = upstreamTimesOf(state, answer)
  const beganMs = earliestMs - Math.max(0, answer.endedMs - answer.startedMs)
  const lastCleanMs = lastCleanOf(context, beganMs, { lastGoodPollMs, sightingSkewMs })
  const pageCursor = cursorOfPage(context, { query, page, lastCleanMs }, { usable, isCheck })
  const endMs = endBeforePresentMs(context, query, lastCleanMs)
  const startMs = endMs === null ? beganMs : Math.max(lastCleanMs, Math.min(beganMs, endMs))
  const hasOtherClock = isOtherClock(context)
  if (hasOtherClock) correctNextPoll(context, answer.startedMs)
  // A poll may take longer than the interval: other pending work is done before the next one.
  state.nextPollMs = Math.max(state.nextPollMs, context.nowMs + 1)
  // Not twice in a row: a `Date` that differs from answer to answer would spend the quota.
  if (endMs !== null && !state.endedEarly) state.nextPollMs = context.nowMs + 1
  state.endedEarly = endMs !== null
  const newestMs = plausibleTimes(context, page).reduce(
    (newest, timeMs) => Math.max(newest, timeMs),
    Math.min(latestMs, endMs ?? latestMs),
  )
  const coveredToMs = newestMs + COVER_MARGIN_MS
  const { startedMs } = answer
  const polled: Polled = {
    ...{ query, page, pageCursor, startedMs, startMs, lastCleanMs },
    ...{ coveredToMs, hasOtherClock },
  }
  if (state.cursorRefused) takeNewCursor(context, polled)
  else if (state.head.lastCleanPollMs === null) {
    remember(context, pageCursor)
    takeFirstCursor(context, polled)
  } else takeItems(context, polled)
  storeGoodPoll(context)
  context.actions.push({
    type: 'report',
    level: levelOf(page, isRecovery),
    event: 'poll.done',
    fields: {
      purpose,
      items: page.guids.length,
      fresh: page.fresh.length,
      duplicates: page.duplicates,
      rejected: page.rejected.length,
      hasMore: page.hasMore ?? null,
      durationMs: answer.endedMs - answer.startedMs,
      ...(page.warnings.length > 0 && { warnings: page.warnings }),
    },
  })
}

/** A poll that brings nothing is for developers, but the first one and that after a failure show that upstream responds. */
function levelOf(
  { warnings, fresh, rejected, hasMore }: ReadPage,
  isRecovery: boolean,
): 'debug' | 'info' | 'warn' {
  if (warnings.length > 0) return 'warn'
  const isQuiet = fresh.length === 0 && rejected.length === 0 && hasMore !== true
  return isQuiet && !isRecovery ? 'debug' : 'info'
}

/** Stores the time of a good poll that brought nothing, at most once a minute: a restart or the next leader reports it. */
function storeGoodPoll(context: StepContext): void {
  const { head, scan } = context.state
  if (scan !== null || head.lastCleanPollMs === null) return
  const ageMs = context.nowMs - (head.lastGood?.atMs ?? 0)
  if (Math.abs(ageMs) >= MINUTE_MS) enqueue(context, 'poll', { events: [] })
}

/** After a failed poll: the same again once the block is over, or at once a request for a new cursor. */
function retryPoll(
  context: StepContext,
  query: UpstreamListQuery,
  failure: Exclude<PageOutcome, { kind: 'ok' }>,
  spentMs: number,
): void {
  const { state } = context
  const failingSinceMs = state.failingSinceMs ?? context.nowMs
  blockAfter(context, failure, spentMs)
  state.request = null
  if (query.sinceCursor === undefined && failure.sent) putChecksOff(context)
  const mayBeAboutQuery = failure.sent && failure.kind !== 'too_many'
  if (!mayBeAboutQuery) {
    // The throttle or the connection: the same request is made again.
  } else if (query.sinceCursor === undefined) state.cursorRefused = false
  else if (isRefusal(context, failure) || isProbeDue(context, failingSinceMs)) {
    state.cursorRefused = true
    state.probedMs = context.nowMs
    // After a 401 or 403 the probe takes the place of the next retry: it is probably about the key.
    if (failure.kind !== 'unauthorised') state.blockedUntilMs = context.nowMs
  }
  state.nextPollMs = state.blockedUntilMs
}

/** True for an answer that may refuse the cursor itself. */
function isRefusal({ state }: StepContext, { kind }: Failure): boolean {
  return kind === 'unauthorised' ? state.keyRefusalsInARow === PROBED_KEY_REFUSAL : kind === 'refused'
}

/** True where polls have failed for an hour, two, four …: the cursor may be the cause. */
function isProbeDue({ state, nowMs }: StepContext, failingSinceMs: number): boolean {
  const probedAfterMs = Math.max(0, state.probedMs - failingSinceMs)
  return nowMs - failingSinceMs >= Math.max(PROBE_AFTER_MS, 2 * probedAfterMs)
}

/** Why following this answer would spend the quota in a loop; null where it moves on. */
function cursorLoopIn({ state }: StepContext, query: UpstreamListQuery, page: ReadPage): string | null {
  const { latestCursor } = page
  if (query.sinceCursor === undefined || page.fresh.length > 0 || latestCursor === null) return null
  if (latestCursor !== query.sinceCursor) {
    return state.usedCursors.includes(latestCursor)
      ? 'the answer returns to a cursor that an earlier poll already used'
      : null
  }
  return page.guids.length > 0 ? 'the answer repeats known items and the cursor that was sent' : null
}

/** After a rejected cursor: polls continue with a new one, and everything since the last clean poll is a gap. */
function takeNewCursor(context: StepContext, polled: Polled): void {
  const { page, pageCursor, startMs, coveredToMs, lastCleanMs } = polled
  const { head } = context.state
  context.state.cursorRefused = false
  context.state.refusedInARow += 1
  const cursor = context.state.refusedInARow > MOST_REFUSALS ? null : pageCursor
  remember(context, cursor)
  const fromMs = refusedSince(head, Math.min(lastCleanMs, startMs)) - FILL_MARGIN_MS
  const gap = newGap(context, 'cursor_refused', { fromMs, toMs: coveredToMs })
  // The page goes back beyond the gap: it may show later contents of older items, and items of before the stream.
  const ours = page.fresh.filter((item) => isOfStream(item, head, startMs))
  const { fetched } = addFetched(takeShared(context, page), ours)
  publish(context, {
    purpose: 'probe',
    items: fetched,
    rejected: page.rejected,
    opening: [gap],
    first: { openGaps: [...head.openGaps, gap] },
    last: { ...headOfCursor(cursor, page), lastCleanPollMs: startMs },
  })
}

/**
 * Since when a refused cursor may have hidden items: a list that stood still has answered clean polls since the newest item of
 * the cursor's page. At most a day: each day of a gap costs a scan.
 */
function refusedSince(head: Head, cleanMs: number): number {
  return Math.min(cleanMs, Math.max(cursorTimeOf(head) ?? cleanMs, cleanMs - DAY_MS))
}

/** Publishes the new items of a poll, or starts a fill where the page has not all of them. */
function takeItems(context: StepContext, polled: Polled): void {
  const { query, page, pageCursor, startedMs, startMs, lastCleanMs, coveredToMs, hasOtherClock } = polled
  const { head } = context.state
  if (query.sinceCursor !== undefined) context.state.refusedInARow = 0
  const cursor = pageCursor ?? head.cursor
  const { fetched } = addFetched(takeShared(context, page), page.fresh)
  const isKnown = isKnownOverflow(context, query, page)
  const overflowed = overflows(context, query, page) && !isKnown
  const observed = { fromMs: lastCleanMs, toMs: startMs, items: page.fresh, overflowed }
  const { openDate } = context.state.profile
  const unread = hasOtherClock ? null : learnFromPoll(context, observed)
  // The next poll was planned for a day without news.
  if (context.state.profile.openDate !== openDate) correctNextPoll(context, startedMs)
  const first: NonNullable<PollerCommit['head']> = {
    ...(pageCursor !== null &&
      headOfCursor(pageCursor, page, isCursorAhead(context) ? null : head.cursorTimeMs)),
    lastCleanPollMs: startMs,
    ...savedProfile(context),
  }
  const sweep = rescanAfterPoll(context, fetched.length, overflowed, lastCleanMs)
  if (sweep !== null) first.sweep = sweep
  if (overflowed) {
    const fromMs = fillStart(context, polled) - FILL_MARGIN_MS
    remember(context, cursor)
    return startScan(context, {
      kind: 'fill',
      fromMs,
      toMs: null,
      coveredToMs,
      mustMeet: page.guids,
      proof: proofOf(page, { fromMs, toMs: coveredToMs }),
      fetched,
      rejected: page.rejected,
      cause: overflowCause(startMs - lastCleanMs, context.state.intervalBeforeMs),
      firstHead: first,
      unread,
    })
  }
  const moved = cursor !== head.cursor
  if (moved) remember(context, cursor)
  if (fetched.length > 0 || page.rejected.length > 0 || moved) {
    // No gap covers a page of several commits: after a crash between them the same cursor is polled again.
    publish(context, { purpose: 'poll', items: fetched, rejected: page.rejected, last: first })
  } else context.state.head = { ...head, lastCleanPollMs: startMs }
}

function remember({ state }: StepContext, cursor: string | null): void {
  if (cursor === null) return
  state.usedCursors = [...state.usedCursors, cursor].slice(-CURSORS_KEPT)
}
