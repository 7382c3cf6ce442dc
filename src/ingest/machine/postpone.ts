/**
 * What stays owed when a walk is given up for now: its stretch is tried again later, and after too many tries it is an open
 * gap, or given up for good. Owns the waits between tries. Refuses to walk and to decide when a walk is given up.
 */
import { isoMillis, parseTimestamp } from '../../core/dates.ts'
import type { Gap } from '../../core/event.ts'
import type { OpenGap, Round } from '../../log/log.ts'
import { dayWalkAfterFailure } from './daily-reconciliation.ts'
import { beginsAnew } from './failure.ts'
import { gapOf, type HeadPatch, newGap, publish } from './publish.ts'
import type { Turn, Walk } from './state.ts'

/** A gap is tried again after 30 s, 1 min, 2 min … up to an hour. */
export const GAP_RETRY_MS = 30_000
export const LONGEST_GAP_RETRY_MS = 3_600_000
/**
 * A fill or gap for which no unit is left is tried again so much later: units come back every few minutes in the morning,
 * and each of them reads a page that is not read again.
 */
export const UNPAID_GAP_RETRY_MS = 15 * 60_000
/** A gap that could not be filled in two weeks is given up: two full quotas did not pay for it. */
const GIVE_UP_MS = 14 * 24 * 3_600_000
const SWEEP_RETRY_MS = 60_000
/** Tries of a day of the backfill before the rest of it becomes a gap. */
const BACKFILL_ATTEMPTS = 5
/** After so many tries a gap is only tried once a day: it must not eat what the next morning needs. */
const GAP_ATTEMPTS = 8
const SELDOM_MS = 24 * 3_600_000
const SWEEP_ATTEMPTS = 3

/**
 * The same day of the backfill later: after 30 s, 1 min, 2 min … up to an hour. After too many tries what is left of
 * it becomes an open gap: it shows, and is paid for as gaps are.
 */
export function postponeBackfill(turn: Turn, walk: Walk, retryMs: number): void {
  const { purpose, held: items, rejected } = walk
  const { backfill } = turn.state.head
  turn.state.backfillFailures += 1
  const waitMs = Math.min(LONGEST_GAP_RETRY_MS, retryMs * 2 ** (turn.state.backfillFailures - 1))
  turn.state.backfillRetryMs = turn.nowMs + waitMs
  if (backfill === null || turn.state.backfillFailures < BACKFILL_ATTEMPTS) {
    if (items.length + rejected.length > 0) publish(turn, { purpose, items, rejected })
    return
  }
  turn.state.backfillFailures = 0
  const gap = newGap(turn, 'outage', backfill.doneToMs, backfill.untilMs)
  const opening = { ...gap, retryAtMs: turn.nowMs + LONGEST_GAP_RETRY_MS }
  publishBehindGap(turn, walk, opening, { backfill: null })
}

/** The same sweep or round later; after too many tries, or where it is not paid for, its stretch is an open gap. */
export function postponeSweep(turn: Turn, walk: Walk, retryMs: number): void {
  const { purpose, held: items, rejected } = walk
  const { sweep, round } = turn.state.head
  const isRound = walk.kind === 'round'
  const attempts = ((isRound ? round : sweep)?.attempts ?? SWEEP_ATTEMPTS) + 1
  if (attempts < SWEEP_ATTEMPTS) {
    const later = { attempts, dueAtMs: turn.nowMs + Math.max(SWEEP_RETRY_MS, retryMs) }
    const last: HeadPatch = {}
    if (isRound && round !== null) last.round = { ...round, ...later }
    if (!isRound && sweep !== null) last.sweep = { ...sweep, ...later }
    publish(turn, { purpose, items, rejected, last })
    return
  }
  const gap = newGap(turn, 'outage', walk.fromMs, walk.upToMs)
  const opening = { ...gap, retryAtMs: turn.nowMs + LONGEST_GAP_RETRY_MS }
  publishBehindGap(turn, walk, opening, isRound ? { round: roundAfter(turn, walk) } : { sweep: null })
}

/** The same walk over a day later, where it stopped or from its start; after too many tries it has failed. */
export function postponeDay(turn: Turn, walk: Walk): void {
  const { purpose, held: items, rejected, day } = walk
  if (day === null) return
  const decided = { date: day.date, walk: dayWalkAfterFailure(turn, walk) }
  publish(turn, { purpose, items, rejected, day: decided })
}

/**
 * What is owed after a round, or where its stretch is an open gap instead: another round while there was news within
 * the reach of this one, for what may still come in behind that news; else none.
 */
export function roundAfter(turn: Turn, walk: Walk): Round {
  const reachMs = turn.config.rounds?.reachMs ?? 0
  const newsMs = turn.state.head.round?.newsMs ?? walk.fromMs
  const isAgain = newsMs > walk.upToMs - reachMs
  const dueAtMs = isAgain ? turn.nowMs + (turn.config.rounds?.everyMs ?? 0) : null
  return { fromMs: walk.upToMs, dueAtMs, newsMs, attempts: 0 }
}

/**
 * The same gap later, with the page at which the walk stopped or, now and then, from its first; after two weeks it is given
 * up. Where only units were wanting the try does not count.
 */
export function postponeGap(turn: Turn, walk: Walk, retryMs: number, isUnpaid: boolean): void {
  const { openGaps } = turn.state.head
  const gap = openGaps.find((open) => open.id === walk.gapId)
  if (gap === undefined) return
  const common = { purpose: walk.purpose, items: walk.held, rejected: walk.rejected }
  const others = openGaps.filter((open) => open.id !== gap.id)
  if (turn.nowMs - (parseTimestamp(gap.openedAt) ?? turn.nowMs) > GIVE_UP_MS) {
    const closing = { gap: closed(turn, gap, walk.held.length), as: 'given_up' as const }
    return publish(turn, { ...common, closing, last: { openGaps: others } })
  }
  const attempts = isUnpaid ? gap.attempts : gap.attempts + 1
  const longestMs = attempts > GAP_ATTEMPTS ? SELDOM_MS : LONGEST_GAP_RETRY_MS
  const waitMs = Math.min(longestMs, retryMs * 2 ** Math.max(0, attempts - 1))
  const isAnew = !isUnpaid && beginsAnew(attempts)
  const later = {
    ...(isAnew ? fromFirstPage(gap) : goingOn(gap, walk)),
    attempts,
    found: gap.found + walk.held.length,
    retryAtMs: turn.nowMs + waitMs,
  }
  publish(turn, {
    ...common,
    last: { openGaps: openGaps.map((open) => (open.id === gap.id ? later : open)) },
  })
}

/** The gap as its next try finds it: with the page that this walk did not get, unless it was led astray. */
export function goingOn(gap: OpenGap, walk: Walk): OpenGap {
  const { pageCursor, toMs } = walk
  if (pageCursor === null || isAstray(walk)) return fromFirstPage(gap)
  return { ...gap, next: { pageCursor, toMs } }
}

/** The gap as a try finds it that begins with the first page. */
export function fromFirstPage({ next: _, ...gap }: OpenGap): OpenGap {
  return gap
}

/** True while a fill has met no item of the poll that it follows. */
export function isAstray({ mustMeet, guids }: Walk): boolean {
  return mustMeet.length > 0 && !mustMeet.some((guid) => guids.has(guid))
}

/** Publishes what the walk holds behind a gap that opens over the rest; `head` changes with the same commit. */
export function publishBehindGap(turn: Turn, walk: Walk, opening: OpenGap, head: HeadPatch): void {
  const { purpose, held: items, rejected, mustMeet: polled } = walk
  const openGaps = [...turn.state.head.openGaps, opening]
  publish(turn, { purpose, items, rejected, polled, opening, first: { ...head, openGaps } })
}

/** The gap as it closes now, with what was found at last. */
export function closed(turn: Turn, gap: OpenGap, found: number): Gap {
  return { ...gapOf(gap), found: gap.found + found, closedAt: isoMillis(turn.nowMs) }
}
