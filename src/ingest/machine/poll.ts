/**
 * The poll: what to ask, and what its answer means. Owns the cursor: taking the first one, moving it, noticing that it
 * goes in circles or was refused. Refuses to walk pages.
 */

import { DAY_MS } from '../../core/durations.ts'
import { ITEMS_A_DAY } from '../../governor/arrivals/profile.ts'
import { quotaAt } from '../../governor/quota/ledger.ts'
import type { Commit, PendingSweep } from '../../log/log.ts'
import type { ListQuery } from '../../upstream/client.ts'
import { learnFromPoll, savedProfile, situationOf } from './arrival-learning.ts'
import { blockAfter, unblock } from './failure.ts'
import { addHeld } from './fetched-items.ts'
import { overflowCause, startWalk } from './page-scan.ts'
import { enqueue, newGap, publish } from './publish.ts'
import type { Answer, HeldItem, ReadPage, Turn } from './state.ts'
import { FILL_MARGIN_MS } from './state.ts'

/**
 * So many items within so long a time are a burst, however often we poll: what came in behind the cursor is looked for
 * after it. Outside the bursts of the morning never more than 45 a minute came.
 */
const BURST_ITEMS = 20
const BURST_MS = 20_000
/** The sweep waits for so long a quiet after the burst; items have come in 20 s behind their neighbours. */
const SWEEP_QUIET_MS = 20_000
/** The sweep begins this long before the burst's first poll. */
const SWEEP_MARGIN_MS = 2 * 60_000
/** A sweep is not put off any longer once it would cover more than this. */
const LONGEST_SWEEP_MS = 30 * 60_000
/** Cursors remembered to notice a circle. */
const CURSORS_KEPT = 500
/** Upstream's `Date` has whole seconds; a smaller difference to our clock than this is not believed. */
const SMALLEST_SKEW_MS = 1500
/** A `Date` further from our clock than ten years is rubbish; a sandbox's market may well run in another year. */
const LARGEST_SKEW_MS = 3653 * DAY_MS
/** Bounds in the future cost nothing, items behind a bound that is too early would be lost. */
const COVER_MARGIN_MS = 60_000
/** New cursors refused in a row before polling goes on by date: the service takes none of its own. */
const REFUSALS = 2

/**
 * Sends the request that polling needs now: with the cursor; for a cursor; while upstream gives none, by date from the
 * newest item held, and before the first item without any date, so that no clock is believed.
 */
export function poll(turn: Turn): void {
  const { head, cursorRefused } = turn.state
  const { pageSize } = turn.config
  const query: ListQuery = { pageSize }
  if (!cursorRefused) {
    if (head.cursor !== null) query.sinceCursor = head.cursor
    else if (head.lastCleanPollMs !== null && head.latestTimeMs > 0) {
      query.fromMs = Math.min(head.lastCleanPollMs, head.latestTimeMs) - FILL_MARGIN_MS
    }
  }
  const purpose = cursorRefused ? 'probe' : 'poll'
  turn.state.request = { purpose, query }
  turn.state.intervalBeforeMs = turn.state.plan.intervalMs
  turn.state.plan = turn.config.pacing.plan(situationOf(turn))
  turn.state.nextPollMs = turn.nowMs + turn.state.plan.intervalMs
  turn.actions.push({ type: 'request', purpose, query })
}

/** What the answer to a poll, or to the request for a cursor, means. */
export function answerPoll(turn: Turn, query: ListQuery, answer: Answer, spentMs: number): void {
  if (answer.kind !== 'ok') {
    blockAfter(turn, answer, spentMs)
    turn.state.request = null
    if (answer.kind === 'refused' && answer.status === 400 && query.sinceCursor !== undefined) {
      turn.state.cursorRefused = true
      turn.state.blockedUntilMs = turn.nowMs
    }
    turn.state.nextPollMs = turn.state.blockedUntilMs
    return
  }
  const page = answer.value
  const startMs = upstreamNow(answer) - Math.max(0, answer.endedMs - answer.startedMs)
  const circle = circleIn(turn, query, page)
  if (circle !== null) {
    blockAfter(turn, { ...answer, kind: 'invalid', reason: circle }, spentMs)
    turn.state.request = null
    turn.state.nextPollMs = turn.state.blockedUntilMs
    return
  }
  unblock(turn)
  turn.state.lastGoodPollMs = turn.nowMs
  turn.state.skewMs = skewOf(answer) ?? turn.state.skewMs
  // A poll may take longer than the interval: whatever else waits gets its turn before the next one.
  turn.state.nextPollMs = Math.max(turn.state.nextPollMs, turn.nowMs + 1)
  turn.state.request = null
  const purpose = turn.state.cursorRefused ? 'probe' : 'poll'
  turn.actions.push({ type: 'tally', purpose, result: page.fresh.length > 0 ? 'new' : 'empty' })
  const upToMs = coveredTo(answer, page)
  if (turn.state.cursorRefused) takeNewCursor(turn, page, startMs, upToMs)
  else if (turn.state.head.lastCleanPollMs === null) takeFirstCursor(turn, page, startMs, upToMs)
  else takeItems(turn, query, page, startMs, upToMs)
  turn.actions.push({
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
      durationMs: answer.endedMs - answer.startedMs,
      ...(page.warnings.length > 0 ? { warnings: page.warnings } : {}),
    },
  })
}

/**
 * An answer that leads nowhere: a cursor that an earlier poll already had, or known items, or more of them, under the
 * cursor that was sent. Following it would spend the quota in a circle.
 */
function circleIn(turn: Turn, query: ListQuery, page: ReadPage): string | null {
  const { latestCursor } = page
  if (query.sinceCursor === undefined || page.fresh.length > 0 || latestCursor === null) return null
  const moved = latestCursor !== query.sinceCursor
  if (moved && turn.state.usedCursors.includes(latestCursor))
    return 'the answer goes back to a cursor already used'
  if (!moved && page.guids.length > 0) return 'the answer repeats items under the cursor that was sent'
  if (!moved && page.hasMore === true)
    return 'more is announced under the cursor that was sent, but nothing came'
  return null
}

/**
 * True when more is announced behind a page that holds nothing new, and was by the poll before: that one's fill has
 * read what there was. The cursor moves on all the same. Counts the polls in a row that say so.
 */
function isKnownAgain(turn: Turn, query: ListQuery, page: ReadPage): boolean {
  const knownMore = overflows(turn, query, page) && page.fresh.length + page.rejected.length === 0
  turn.state.knownOverflows = knownMore ? turn.state.knownOverflows + 1 : 0
  if (turn.state.knownOverflows < 2) return false
  turn.actions.push({
    type: 'report',
    level: 'warn',
    event: 'poll.known_overflow',
    fields: { reason: 'more is announced again, but every item is known: nothing is walked for it' },
  })
  return true
}

/** The very first answer: its cursor is where polling starts; the backfill reads what lies before it. */
function takeFirstCursor(turn: Turn, page: ReadPage, startMs: number, untilMs: number): void {
  const { backfillMs } = turn.config
  const backfill = backfillMs > 0 ? { doneToMs: startMs - backfillMs, untilMs } : null
  if (backfill !== null && !canPayBackfill(turn, backfill.doneToMs, untilMs)) return
  remember(turn, page.latestCursor)
  enqueue(turn, 'poll', {
    events: [],
    head: {
      cursor: page.latestCursor,
      lastCleanPollMs: startMs,
      backfill,
      countedFromMs: startMs - backfillMs,
    },
  })
}

/** Refuses a backfill that would cost more than half of the quota left, with the arithmetic. */
function canPayBackfill(turn: Turn, fromMs: number, untilMs: number): boolean {
  const { pageSize, calendar, weeklyQuota, quotaReset } = turn.config
  const { remaining } = quotaAt(turn.state.ledger, weeklyQuota, quotaReset, turn.nowMs)
  const days = Math.ceil((untilMs - fromMs) / DAY_MS)
  const busy = calendar.businessDaysBetween(fromMs, untilMs)
  const units = busy * Math.ceil(ITEMS_A_DAY / pageSize) + days
  if (units <= remaining / 2) return true
  turn.actions.push({
    type: 'halt',
    message:
      `the backfill would cost about ${units} of the ${remaining} requests left of this week's ${weeklyQuota}: ${busy} business days × ` +
      `${Math.ceil(ITEMS_A_DAY / pageSize)} pages of ${pageSize} + ${days} days; at most half may be used`,
    hint: 'Set BRIDGE_BACKFILL to a shorter time, or BRIDGE_UPSTREAM_WEEKLY_QUOTA and BRIDGE_UPSTREAM_PLAN to what your key has.',
  })
  return false
}

/** After a refused cursor: polling goes on from a new one; everything since the last clean poll is a gap. */
function takeNewCursor(turn: Turn, page: ReadPage, startMs: number, upToMs: number): void {
  const { head } = turn.state
  turn.state.cursorRefused = false
  turn.state.refusedInARow += 1
  const cursor = turn.state.refusedInARow > REFUSALS ? null : page.latestCursor
  remember(turn, cursor)
  const fromMs = Math.min(head.lastCleanPollMs ?? startMs, startMs) - FILL_MARGIN_MS
  const gap = newGap(turn, 'cursor_refused', fromMs, upToMs)
  publish(turn, {
    purpose: 'probe',
    items: [],
    opening: gap,
    first: { cursor, lastCleanPollMs: startMs, openGaps: [...head.openGaps, gap] },
  })
  turn.actions.push({
    type: 'report',
    level: 'warn',
    event: 'gap.opened',
    fields: { gapId: gap.id, cause: gap.cause, from: gap.from, to: gap.to },
  })
}

function takeItems(turn: Turn, query: ListQuery, page: ReadPage, startMs: number, upToMs: number): void {
  const { head } = turn.state
  if (query.sinceCursor !== undefined) turn.state.refusedInARow = 0
  const lastCleanMs = head.lastCleanPollMs ?? startMs
  const cursor = page.latestCursor ?? head.cursor
  const held = addHeld({ held: [], latest: new Map() }, page.fresh).held
  const again = isKnownAgain(turn, query, page)
  const overflowed = overflows(turn, query, page) && !again
  const unread = learnFromPoll(turn, { fromMs: lastCleanMs, toMs: startMs, items: page.fresh, overflowed })
  const first: NonNullable<Commit['head']> = { cursor, lastCleanPollMs: startMs, ...savedProfile(turn) }
  const sweep = sweepAfter(turn, held, overflowed, lastCleanMs)
  if (sweep !== null) first.sweep = sweep
  if (overflowed) {
    remember(turn, cursor)
    startWalk(turn, {
      kind: 'fill',
      fromMs: fillStart(turn, page, lastCleanMs) - FILL_MARGIN_MS,
      toMs: null,
      upToMs,
      mustMeet: page.guids,
      held,
      rejected: page.rejected,
      cause: overflowCause(startMs - lastCleanMs, turn.state.intervalBeforeMs),
      firstHead: first,
      unread,
    })
    return
  }
  const moved = cursor !== head.cursor
  if (moved) remember(turn, cursor)
  if (held.length > 0 || page.rejected.length > 0 || moved) {
    publish(turn, { purpose: 'poll', items: held, rejected: page.rejected, first })
  } else turn.state.head = { ...head, lastCleanPollMs: startMs }
}

/**
 * Where a fill has to begin, before the margin: no clock alone is believed. What is newer than the last published item
 * or than the oldest item of the overflowing page is not known, so the earliest of the three counts, within a day of
 * the last poll; or of the newest item, where all items are older than that poll: then they go by another clock.
 */
function fillStart(turn: Turn, page: ReadPage, lastCleanMs: number): number {
  const { latestTimeMs } = turn.state.head
  const known = latestTimeMs === 0 ? page.times : [latestTimeMs, ...page.times]
  const newestMs = known.length === 0 ? lastCleanMs : Math.max(...known)
  return Math.max(Math.min(lastCleanMs, ...known), Math.min(lastCleanMs, newestMs) - DAY_MS)
}

/** Upstream's present, by its `Date` where that can be believed, else by our clock; ms since 1970. */
export function upstreamNow({ serverMs, endedMs }: Answer): number {
  return serverMs !== null && Math.abs(serverMs - endedMs) <= LARGEST_SKEW_MS ? serverMs : endedMs
}

/** Upstream's clock minus ours, ms: 0 where they agree, null where the answer does not tell. */
export function skewOf(answer: Answer): number | null {
  if (answer.serverMs === null) return null
  const apartMs = upstreamNow(answer) + 500 - answer.endedMs
  return Math.abs(apartMs) < SMALLEST_SKEW_MS ? 0 : apartMs
}

/** Up to where the cursor of this answer covers: the end of the request and its newest item, with a margin. */
function coveredTo(answer: Answer, page: ReadPage): number {
  return (
    page.times.reduce((newest, timeMs) => Math.max(newest, timeMs), upstreamNow(answer)) + COVER_MARGIN_MS
  )
}

/** True when the answer left new items out. Polling by date sees it in a next page behind items that are new. */
function overflows(turn: Turn, query: ListQuery, page: ReadPage): boolean {
  if (query.sinceCursor !== undefined) return page.hasMore ?? page.count >= turn.config.pageSize
  return page.fresh.length > 0 && page.nextCursor !== null
}

/** The sweep that a burst leaves owed, put off while the burst goes on; null where nothing changes or none is paid. */
function sweepAfter(
  turn: Turn,
  held: readonly HeldItem[],
  overflowed: boolean,
  lastCleanMs: number,
): PendingSweep | null {
  const inBurst = arrivedLately(turn, held.length) >= BURST_ITEMS && held.length > 0
  if (turn.config.rounds === null || (!inBurst && !overflowed)) return null
  const standing = turn.state.head.sweep
  const fromMs = Math.min(standing?.fromMs ?? Number.POSITIVE_INFINITY, lastCleanMs - SWEEP_MARGIN_MS)
  const longEnough = standing !== null && lastCleanMs - fromMs > LONGEST_SWEEP_MS
  return { fromMs, dueAtMs: longEnough ? standing.dueAtMs : turn.nowMs + SWEEP_QUIET_MS, attempts: 0 }
}

/** Items that polls have brought within the time of a burst, these included. */
function arrivedLately(turn: Turn, items: number): number {
  const { nowMs } = turn
  const lately = turn.state.arrivals.filter(({ atMs }) => atMs > nowMs - BURST_MS && atMs <= nowMs)
  turn.state.arrivals = items === 0 ? lately : [...lately, { atMs: nowMs, items }]
  return turn.state.arrivals.reduce((sum, arrival) => sum + arrival.items, 0)
}

function remember(turn: Turn, cursor: string | null): void {
  if (cursor === null) return
  turn.state.usedCursors = [...turn.state.usedCursors, cursor].slice(-CURSORS_KEPT)
}

/** The next day of the backfill, oldest first: up to midnight UTC or to its end. */
export function nextBackfillDay(backfill: { doneToMs: number; untilMs: number }): {
  fromMs: number
  toMs: number
} {
  const midnightMs = (Math.floor(backfill.doneToMs / DAY_MS) + 1) * DAY_MS
  return { fromMs: backfill.doneToMs, toMs: Math.min(midnightMs, backfill.untilMs) }
}
