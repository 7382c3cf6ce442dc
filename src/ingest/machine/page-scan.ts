/**
 * Walks over pages: the fill after an overflow, the retry of a gap, the sweep after a burst, the round, a whole day, a day
 * of the backfill. Owns how a walk goes on and ends, and when a fill publishes before it is done. Refuses to choose what
 * comes next when no walk is under way, and what stays owed of one that was given up (`postpone.ts`).
 */

import type { DayWalk } from '../../core/calendar/day-record.ts'
import { isoMillis, parseTimestamp } from '../../core/dates.ts'
import type { GapCause } from '../../core/event.ts'
import type { OpenGap } from '../../log/log.ts'
import { COMMIT_LIMIT } from '../../log/log.ts'
import type { ListQuery } from '../../upstream/client.ts'
import { learnFromFill } from './arrival-learning.ts'
import { isTooLong } from './daily-reconciliation.ts'
import { blockAfter, unblock } from './failure.ts'
import { addHeld, latestOf } from './fetched-items.ts'
import {
  closed,
  fromFirstPage,
  GAP_RETRY_MS,
  goingOn,
  isAstray,
  LONGEST_GAP_RETRY_MS,
  postponeBackfill,
  postponeDay,
  postponeGap,
  postponeSweep,
  publishBehindGap,
  roundAfter,
  UNPAID_GAP_RETRY_MS,
} from './postpone.ts'
import { type HeadPatch, needsChain, newGap, publish } from './publish.ts'
import type { Answer, ReadPage, Turn, Walk } from './state.ts'
import { HOLD_MS } from './state.ts'

/** Requests of one walk that may fail in a row before it is given up for now. */
const PATIENCE = 5
/** Pages in a row with nothing of the range asked for: the date filter is being ignored, or the walk has no end. */
const STRAY_PAGES = 3
const UNPAID = 'the quota kept for fills and sweeps is spent'
const LONGER = 'the day is longer than the plan pays for'

const STATE_OF = {
  fill: 'filling',
  gap: 'filling',
  sweep: 'sweeping',
  round: 'sweeping',
  day: 'sweeping',
  backfill: 'backfilling',
} as const
const PURPOSE_OF = {
  fill: 'fill',
  gap: 'fill',
  sweep: 'sweep',
  round: 'sweep',
  day: 'sweep',
  backfill: 'backfill',
} as const

/** Begins a walk and sends its first request. */
export function startWalk(
  turn: Turn,
  given: Pick<Walk, 'kind' | 'fromMs' | 'toMs'> &
    Partial<
      Pick<
        Walk,
        | 'held'
        | 'rejected'
        | 'gapId'
        | 'cause'
        | 'firstHead'
        | 'upToMs'
        | 'mustMeet'
        | 'unread'
        | 'pageCursor'
        | 'day'
      >
    >,
): void {
  const { kind } = given
  turn.state.walk = {
    purpose: PURPOSE_OF[kind],
    pageCursor: null,
    seenCursors: [],
    guids: new Set(),
    pages: 0,
    strayPages: 0,
    failures: 0,
    held: [],
    latest: latestOf(given.held ?? []),
    rejected: [],
    published: 0,
    startedMs: turn.nowMs,
    upToMs: given.toMs ?? turn.nowMs,
    mustMeet: [],
    gapId: null,
    cause: 'overflow',
    firstHead: null,
    unread: null,
    day: null,
    ...given,
  }
  turn.state.name = STATE_OF[kind]
  if (kind === 'fill') turn.actions.push({ type: 'wake', atMs: turn.nowMs + HOLD_MS })
  askPage(turn, turn.state.walk)
}

/** What a walk does when the clock rings: publish what is held too long, or send a page that had to wait. */
export function wakeWalk(turn: Turn, walk: Walk): void {
  if (walk.firstHead !== null && turn.nowMs >= walk.startedMs + HOLD_MS)
    publishUnfinished(turn, walk, turn.nowMs)
  const current = turn.state.walk ?? walk
  if (turn.state.request === null) {
    if (turn.nowMs < turn.state.blockedUntilMs) return wakeForWalk(turn, current)
    askPage(turn, current)
  }
  // There is one clock: it rang for the page, or early, as timers may, and the hold's end is still to come.
  const held = turn.state.walk
  if (held !== null && held.firstHead !== null)
    turn.actions.push({ type: 'wake', atMs: held.startedMs + HOLD_MS })
}

/** What a walk does with the answer to its request. */
export function answerWalk(turn: Turn, walk: Walk, answer: Answer, spentMs: number): void {
  if (answer.kind !== 'ok') {
    blockAfter(turn, answer, spentMs)
    turn.state.request = null
    const failures = walk.failures + 1
    turn.state.walk = { ...walk, failures }
    if (failures >= PATIENCE || turn.state.upstream === 'quota' || answer.kind === 'refused') {
      const pageCursor = answer.kind === 'refused' ? null : walk.pageCursor
      abandonWalk(turn, { ...walk, failures, pageCursor }, answer.kind)
    } else wakeForWalk(turn, { ...walk, failures })
    return
  }
  unblock(turn)
  const page = answer.value
  turn.actions.push({ type: 'tally', purpose: walk.purpose, result: page.fresh.length > 0 ? 'new' : 'empty' })
  turn.state.request = null
  const grown = withPage(walk, page)
  turn.state.walk = grown
  if (page.nextCursor === null) return endOfWalk(turn, grown)
  const trouble = troubleWith(walk, grown, page)
  if (trouble !== null) return abandonWalk(turn, { ...grown, pageCursor: null }, trouble)
  const next = { ...grown, pageCursor: page.nextCursor ?? null, failures: 0 }
  turn.state.walk = next
  if (grown.held.length >= COMMIT_LIMIT && grown.gapId !== null) publishPart(turn, next)
  askPage(turn, turn.state.walk)
}

function withPage(walk: Walk, page: ReadPage): Walk {
  const inRange = page.fresh.filter((item) => isInRange(walk, item.disclosure.timeMs))
  const stray = !page.times.some((timeMs) => isInRange(walk, timeMs))
  return {
    ...walk,
    ...addHeld(walk, inRange),
    rejected: [
      ...walk.rejected,
      ...page.rejected.filter((item) => !walk.rejected.some(({ raw }) => raw === item.raw)),
    ],
    guids: new Set([...walk.guids, ...page.guids]),
    pages: walk.pages + 1,
    strayPages: stray ? walk.strayPages + 1 : 0,
    seenCursors: walk.pageCursor === null ? walk.seenCursors : [...walk.seenCursors, walk.pageCursor],
  }
}

/** Upstream's whole seconds and our widened bounds may differ by a second on either side. */
function isInRange({ fromMs, toMs }: Walk, timeMs: number): boolean {
  return timeMs >= fromMs - 1000 && (toMs === null || timeMs <= toMs + 2000)
}

/** Why this walk cannot go on, or null. */
function troubleWith(before: Walk, after: Walk, page: ReadPage): string | null {
  if (page.nextCursor === undefined || page.nextCursor === null)
    return 'the answer does not say how the walk goes on'
  if (after.seenCursors.includes(page.nextCursor)) return 'the page cursor goes in circles'
  if (page.guids.length > 0 && after.guids.size === before.guids.size) return 'the page repeats'
  if (after.strayPages >= STRAY_PAGES) return 'the pages hold nothing of the range asked for'
  return null
}

/** A fill that met no item of the poll it follows was led astray: it is not done. */
function endOfWalk(turn: Turn, walk: Walk): void {
  if (isAstray(walk)) return abandonWalk(turn, walk, 'the walk did not meet the poll that it fills')
  finishWalk(turn, walk)
}

function finishWalk(turn: Turn, walk: Walk): void {
  const { head } = turn.state
  const closing = head.openGaps.find((gap) => gap.id === walk.gapId)
  const without = head.openGaps.filter((gap) => gap.id !== walk.gapId)
  const polled = walk.mustMeet
  const common = { purpose: walk.purpose, items: walk.held, rejected: walk.rejected, polled }
  if (closing !== undefined && isPartOf(walk, closing)) {
    const further = {
      ...fromFirstPage(closing),
      found: closing.found + walk.held.length,
      doneToMs: walk.toMs ?? 0,
      attempts: 0,
    }
    const openGaps = head.openGaps.map((gap) => (gap.id === closing.id ? further : gap))
    publish(turn, { ...common, last: { openGaps } })
  } else if (closing !== undefined) {
    publish(turn, {
      ...common,
      closing: { gap: closed(turn, closing, walk.held.length), as: 'filled' },
      first: walk.firstHead ?? {},
      last: { openGaps: without },
    })
  } else if (walk.kind === 'fill' && needsChain(walk.held)) {
    const gap = newGap(turn, walk.cause, walk.fromMs, walk.upToMs)
    publish(turn, {
      ...common,
      opening: gap,
      closing: { gap: closed(turn, gap, walk.held.length), as: 'filled' },
      first: { ...walk.firstHead, openGaps: [...head.openGaps, gap] },
      last: { openGaps: head.openGaps },
    })
  } else if (walk.kind === 'backfill') {
    const backfill = head.backfill
    const untilMs = backfill?.untilMs ?? 0
    const doneToMs = walk.toMs ?? untilMs
    const next = backfill === null || doneToMs >= untilMs ? null : { doneToMs, untilMs }
    turn.state.backfillFailures = 0
    publish(turn, { ...common, last: { backfill: next } })
  } else if (walk.kind === 'sweep') publish(turn, { ...common, last: { sweep: null } })
  else if (walk.kind === 'round') publish(turn, { ...common, last: { round: roundAfter(turn, walk) } })
  else if (walk.day !== null) finishDay(turn, walk, walk.day)
  else publish(turn, { ...common, first: walk.firstHead ?? {} })
  learnFromFill(turn, walk, false)
  reportWalk(turn, walk, 'done')
  endWalk(turn, walk)
}

/** The day is whole. A walk without a break that has read the stretch of the next round too stands for that one. */
function finishDay(turn: Turn, walk: Walk, { date, isResumed }: { date: string; isResumed: boolean }): void {
  const { purpose, held: items, rejected } = walk
  const { round } = turn.state.head
  const reachMs = turn.config.rounds?.reachMs ?? 0
  const isRound =
    round !== null &&
    !isResumed &&
    round.fromMs - reachMs >= walk.fromMs &&
    walk.upToMs <= (walk.toMs ?? walk.upToMs)
  const last: HeadPatch = isRound ? { round: roundAfter(turn, walk) } : {}
  const whole: DayWalk = { state: 'whole', atMs: turn.nowMs, attempts: 0, pageCursor: null }
  publish(turn, { purpose, items, rejected, last, day: { date, walk: whole } })
}

/** True when the gap goes on after the day that this walk has read. */
function isPartOf(walk: Walk, gap: OpenGap): boolean {
  return walk.kind === 'gap' && walk.toMs !== null && walk.toMs < (parseTimestamp(gap.to) ?? 0)
}

/** Gives the walk up for now: what is held is published, what is missing stays owed in the head. */
function abandonWalk(turn: Turn, walk: Walk, reason: string, retryMs = GAP_RETRY_MS): void {
  const { kind } = walk
  if (kind === 'fill' || kind === 'gap') {
    if (walk.gapId === null) publishUnfinished(turn, walk, turn.nowMs + retryMs)
    else postponeGap(turn, walk, retryMs, reason === UNPAID)
  } else if (kind === 'sweep' || kind === 'round') {
    postponeSweep(turn, walk, retryMs)
  } else if (kind === 'day') postponeDay(turn, walk)
  else {
    postponeBackfill(turn, walk, retryMs)
    turn.actions.push({ type: 'wake', atMs: turn.state.nextPollMs })
  }
  learnFromFill(turn, walk, true)
  reportWalk(turn, turn.state.walk ?? walk, reason)
  endWalk(turn, walk)
}

/** The fill is not done in time, or cannot go on: what is known goes out behind an announced gap; the cursor moves. */
function publishUnfinished(turn: Turn, walk: Walk, retryAtMs: number): void {
  const gap = goingOn({ ...newGap(turn, walk.cause, walk.fromMs, walk.upToMs), retryAtMs }, walk)
  publishBehindGap(turn, walk, gap, walk.firstHead ?? {})
  turn.state.walk = {
    ...walk,
    gapId: gap.id,
    held: [],
    rejected: [],
    published: walk.held.length,
    firstHead: null,
  }
}

/** Items of a walk under an open gap that have grown to a full commit. */
function publishPart(turn: Turn, walk: Walk): void {
  const openGaps = turn.state.head.openGaps.map((gap) =>
    gap.id === walk.gapId ? { ...gap, found: gap.found + walk.held.length } : gap,
  )
  publish(turn, { purpose: walk.purpose, items: walk.held, rejected: walk.rejected, last: { openGaps } })
  turn.state.walk = { ...walk, held: [], rejected: [], published: walk.published + walk.held.length }
}

function endWalk(turn: Turn, walk: Walk): void {
  turn.state.walk = null
  turn.state.name = 'polling'
  if (walk.kind === 'fill') {
    turn.state.nextPollMs = Math.max(turn.state.nextPollMs, turn.nowMs + turn.config.breathMs)
  }
}

function reportWalk(turn: Turn, walk: Walk, reason: string): void {
  const { kind, pages, fromMs, toMs, gapId } = walk
  const done = reason === 'done'
  turn.actions.push({
    type: 'report',
    level: done ? 'info' : 'warn',
    event: done ? 'walk.done' : 'walk.abandoned',
    fields: {
      kind,
      pages,
      from: isoMillis(fromMs),
      to: toMs === null ? null : isoMillis(toMs),
      found: walk.published + walk.held.length,
      gapId,
      durationMs: turn.nowMs - walk.startedMs,
      ...(done ? {} : { reason }),
    },
  })
}

/** Sends the next page of the walk, or gives up where the quota does not pay for it. */
function askPage(turn: Turn, walk: Walk): void {
  const { pacing, pageSize } = turn.config
  const { ledger } = turn.state
  const mayAsk = {
    fill: pacing.mayFill,
    gap: pacing.mayWalk,
    sweep: pacing.maySweep,
    round: pacing.maySweep,
    day: pacing.maySweep,
    backfill: pacing.mayBackfill,
  }[walk.kind]
  if (!mayAsk(ledger, turn.nowMs)) {
    const isGap = walk.kind === 'fill' || walk.kind === 'gap'
    const retryMs = isGap ? UNPAID_GAP_RETRY_MS : LONGEST_GAP_RETRY_MS
    return abandonWalk(turn, walk, UNPAID, retryMs)
  }
  if (isTooLong(turn, walk)) return abandonWalk(turn, walk, LONGER)
  const query: ListQuery = {
    pageSize,
    fromMs: walk.fromMs,
    ...(walk.toMs === null ? {} : { toMs: walk.toMs }),
    ...(walk.pageCursor === null ? {} : { pageCursor: walk.pageCursor }),
  }
  turn.state.request = { purpose: walk.purpose, query }
  turn.actions.push({ type: 'request', purpose: walk.purpose, query })
}

function wakeForWalk(turn: Turn, walk: Walk): void {
  const holdMs = walk.firstHead === null ? Number.POSITIVE_INFINITY : walk.startedMs + HOLD_MS
  turn.actions.push({ type: 'wake', atMs: Math.min(turn.state.blockedUntilMs, holdMs) })
}

/** The causes by which a fill can begin: an overflow in passing, or one after a stop longer than the margin. */
export function overflowCause(sinceLastPollMs: number, pollIntervalMs: number): GapCause {
  return sinceLastPollMs > Math.max(15 * 60_000, 3 * pollIntervalMs) ? 'outage' : 'overflow'
}
