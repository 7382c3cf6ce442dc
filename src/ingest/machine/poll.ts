/**
 * Sends polls and handles the responses: publishes new items, moves the cursor, and recovers from a cursor that upstream
 * rejects or repeats. If a full page left items out, a fill starts: it reads the missing items page by page.
 */
import { DAY_MS, MINUTE_MS } from '../../core/durations.ts'
import { ITEMS_A_DAY } from '../../governor/arrivals/profile.ts'
import { quotaAt } from '../../governor/quota/ledger.ts'
import type { UpstreamListQuery } from '../../upstream/list-parameters.ts'
import type { PollerCommit } from '../writer-state/poller-writer.ts'
import { learnFromPoll, savedProfile, situationOf } from './arrival-learning.ts'
import { rescanAfterPoll } from './burst.ts'
import { blockAfter, unblock } from './failure.ts'
import { addFetched, overflowCause, startScan } from './page-scan.ts'
import { enqueue, newGap, publish } from './publish.ts'
import type { PageOutcome, ReadPage, StepContext } from './state.ts'
import { FILL_MARGIN_MS } from './state.ts'
import { skewOf, upstreamTimeOf } from './upstream-clock.ts'

/** Cursors remembered to detect a loop. */
const CURSORS_KEPT = 500
/** Added to the end of a covered range: a bound in the future costs nothing, one too early would lose items. */
const COVER_MARGIN_MS = 60_000
/** Rejected new cursors in a row after which polls go by date: upstream accepts none of its own cursors. */
const MOST_REFUSALS = 2

/** What a good poll covers. */
interface Polled {
  query: UpstreamListQuery
  page: ReadPage
  /** When the poll began, by upstream's clock, ms since 1970. */
  startMs: number
  /** Up to where the cursor of the answer covers: the end of the request and its newest item, with a margin. */
  coveredToMs: number
}

/**
 * Sends the next poll: with the cursor, or for a new cursor. While upstream gives none it polls by date, from the newest
 * item on; before the first item without a date, so that no clock has to be right.
 */
export function poll(context: StepContext): void {
  const { head, cursorRefused } = context.state
  const query: UpstreamListQuery = { pageSize: context.config.pageSize }
  if (!cursorRefused) {
    if (head.cursor !== null) query.sinceCursor = head.cursor
    else if (head.lastCleanPollMs !== null && head.latestTimeMs > 0) {
      query.fromMs = Math.min(head.lastCleanPollMs, head.latestTimeMs) - FILL_MARGIN_MS
    }
  }
  const purpose = cursorRefused ? 'probe' : 'poll'
  context.state.request = { purpose, query }
  context.state.intervalBeforeMs = context.state.plan.intervalMs
  context.state.plan = context.config.pacing.plan(situationOf(context))
  context.state.nextPollMs = context.nowMs + context.state.plan.intervalMs
  context.actions.push({ type: 'request', purpose, query })
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
  unblock(context)
  state.lastGoodPollMs = context.nowMs
  state.skewMs = skewOf(answer) ?? state.skewMs
  // A poll may take longer than the interval: other pending work is done before the next one.
  state.nextPollMs = Math.max(state.nextPollMs, context.nowMs + 1)
  state.request = null
  const purpose = state.cursorRefused ? 'probe' : 'poll'
  context.actions.push({ type: 'tally', purpose, result: page.fresh.length > 0 ? 'new' : 'empty' })
  const upstreamMs = upstreamTimeOf(answer)
  const durationMs = answer.endedMs - answer.startedMs
  const startMs = upstreamMs - Math.max(0, durationMs)
  const newestMs = page.times.reduce((newest, timeMs) => Math.max(newest, timeMs), upstreamMs)
  const polled: Polled = { query, page, startMs, coveredToMs: newestMs + COVER_MARGIN_MS }
  if (state.cursorRefused) takeNewCursor(context, polled)
  else if (state.head.lastCleanPollMs === null) takeFirstCursor(context, polled)
  else takeItems(context, polled)
  storeGoodPoll(context)
  context.actions.push({
    type: 'report',
    level: page.warnings.length > 0 ? 'warn' : 'info',
    event: 'poll.done',
    fields: {
      purpose,
      items: page.guids.length,
      fresh: page.fresh.length,
      duplicates: page.duplicates,
      rejected: page.rejected.length,
      hasMore: page.hasMore ?? null,
      durationMs,
      ...(page.warnings.length > 0 && { warnings: page.warnings }),
    },
  })
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
  blockAfter(context, failure, spentMs)
  state.request = null
  if (failure.kind === 'refused' && failure.status === 400 && query.sinceCursor !== undefined) {
    state.cursorRefused = true
    state.blockedUntilMs = context.nowMs
  }
  state.nextPollMs = state.blockedUntilMs
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
  if (page.guids.length > 0) return 'the answer repeats known items and the cursor that was sent'
  return page.hasMore === true ? 'the answer has `hasMore`, but no items and the cursor that was sent' : null
}

/** The very first answer: polling starts at its cursor, and the backfill reads what is older. */
function takeFirstCursor(context: StepContext, { page, startMs, coveredToMs }: Polled): void {
  const { backfillMs } = context.config
  const countedFromMs = startMs - backfillMs
  const backfill = backfillMs > 0 ? { doneToMs: countedFromMs, untilMs: coveredToMs } : null
  if (backfill !== null && !isBackfillAffordable(context, countedFromMs, coveredToMs)) return
  remember(context, page.latestCursor)
  const head = { cursor: page.latestCursor, lastCleanPollMs: startMs, backfill, countedFromMs }
  enqueue(context, 'poll', { events: [], head })
}

/** False, with the action `halt`, where the backfill would cost more than half of the units left. */
function isBackfillAffordable(context: StepContext, fromMs: number, untilMs: number): boolean {
  const { pageSize, calendar, weeklyQuota, quotaReset } = context.config
  const { remaining } = quotaAt(context.state.ledger, weeklyQuota, quotaReset, context.nowMs)
  const days = Math.ceil((untilMs - fromMs) / DAY_MS)
  const businessDays = calendar.businessDaysBetween(fromMs, untilMs)
  const pagesADay = Math.ceil(ITEMS_A_DAY / pageSize)
  const units = businessDays * pagesADay + days
  if (units <= remaining / 2) return true
  context.actions.push({
    type: 'halt',
    message:
      `the backfill needs about ${units} requests, more than half of the ${remaining} left of this week's ${weeklyQuota}: ` +
      `${businessDays} business days × ${pagesADay} pages of ${pageSize} items, and one request for each of ${days} days`,
    hint: 'Set BRIDGE_BACKFILL to a shorter time, or set BRIDGE_UPSTREAM_WEEKLY_QUOTA and BRIDGE_UPSTREAM_PLAN to those of your key.',
  })
  return false
}

/** After a rejected cursor: polls continue with a new one, and everything since the last clean poll is a gap. */
function takeNewCursor(context: StepContext, { page, startMs, coveredToMs }: Polled): void {
  const { head } = context.state
  context.state.cursorRefused = false
  context.state.refusedInARow += 1
  const cursor = context.state.refusedInARow > MOST_REFUSALS ? null : page.latestCursor
  remember(context, cursor)
  const fromMs = Math.min(head.lastCleanPollMs ?? startMs, startMs) - FILL_MARGIN_MS
  const gap = newGap(context, 'cursor_refused', fromMs, coveredToMs)
  publish(context, {
    purpose: 'probe',
    items: [],
    opening: gap,
    first: { cursor, lastCleanPollMs: startMs, openGaps: [...head.openGaps, gap] },
  })
  context.actions.push({
    type: 'report',
    level: 'warn',
    event: 'gap.opened',
    fields: { gapId: gap.id, cause: gap.cause, from: gap.from, to: gap.to },
  })
}

/** Publishes the new items of a poll, or starts a fill where the page has not all of them. */
function takeItems(context: StepContext, { query, page, startMs, coveredToMs }: Polled): void {
  const { head } = context.state
  if (query.sinceCursor !== undefined) context.state.refusedInARow = 0
  const lastCleanMs = head.lastCleanPollMs ?? startMs
  const cursor = page.latestCursor ?? head.cursor
  const { fetched } = addFetched({ fetched: [], latest: new Map() }, page.fresh)
  const isKnown = isKnownOverflow(context, query, page)
  const overflowed = overflows(context, query, page) && !isKnown
  const observed = { fromMs: lastCleanMs, toMs: startMs, items: page.fresh, overflowed }
  const unread = learnFromPoll(context, observed)
  const first: NonNullable<PollerCommit['head']> = {
    cursor,
    lastCleanPollMs: startMs,
    ...savedProfile(context),
  }
  const sweep = rescanAfterPoll(context, fetched.length, overflowed, lastCleanMs)
  if (sweep !== null) first.sweep = sweep
  if (overflowed) {
    remember(context, cursor)
    return startScan(context, {
      kind: 'fill',
      fromMs: fillStart(context, page, lastCleanMs) - FILL_MARGIN_MS,
      toMs: null,
      coveredToMs,
      mustMeet: page.guids,
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
    publish(context, { purpose: 'poll', items: fetched, rejected: page.rejected, first })
  } else context.state.head = { ...head, lastCleanPollMs: startMs }
}

/** True when the answer left new items out. A poll by date shows it by a next page behind new items. */
function overflows({ config }: StepContext, query: UpstreamListQuery, page: ReadPage): boolean {
  if (query.sinceCursor !== undefined) return page.hasMore ?? page.count >= config.pageSize
  return page.fresh.length > 0 && page.nextCursor !== null
}

/**
 * True when two polls in a row overflow without any unknown item: the fill of the first has read everything, so another
 * one would find nothing. Counts such polls.
 */
function isKnownOverflow(context: StepContext, query: UpstreamListQuery, page: ReadPage): boolean {
  const { state } = context
  const hasNothingNew = page.fresh.length + page.rejected.length === 0
  state.knownOverflows = overflows(context, query, page) && hasNothingNew ? state.knownOverflows + 1 : 0
  if (state.knownOverflows < 2) return false
  context.actions.push({
    type: 'report',
    level: 'warn',
    event: 'poll.overflow_ignored',
    fields: { reason: 'upstream reports more items again, but every item of the page is already published' },
  })
  return true
}

/**
 * Where a fill begins, before its margin: at the earliest of the last clean poll, the newest published item and the oldest
 * item of the page, because no single clock is reliable. At most a day before the last clean poll, or before the newest
 * item where all items are older than that poll: then upstream's items follow another clock.
 */
function fillStart({ state }: StepContext, page: ReadPage, lastCleanMs: number): number {
  const { latestTimeMs } = state.head
  const known = latestTimeMs === 0 ? page.times : [latestTimeMs, ...page.times]
  const newestMs = known.length === 0 ? lastCleanMs : Math.max(...known)
  return Math.max(Math.min(lastCleanMs, ...known), Math.min(lastCleanMs, newestMs) - DAY_MS)
}

function remember({ state }: StepContext, cursor: string | null): void {
  if (cursor === null) return
  state.usedCursors = [...state.usedCursors, cursor].slice(-CURSORS_KEPT)
}
