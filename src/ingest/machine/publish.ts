/**
 * From held items to commits. Owns the order inside a commit (upstream time, then guid), what is late, chains of
 * commits, and the gap events around them. Refuses to decide when to publish.
 */

import { type DayRecord, type DayWalk, withDay } from '../../core/calendar/day-record.ts'
import { isoMillis } from '../../core/dates.ts'
import type { Gap, GapCause, NewEvent } from '../../core/event.ts'
import { disclosureEvent, GAP_FILLED, GAP_GIVEN_UP, GAP_OPENED, gapEvent } from '../../core/event.ts'
import type { Commit, OpenGap, Purpose, RejectedItem } from '../../log/log.ts'
import { COMMIT_LIMIT } from '../../log/log.ts'
import { daysAfter, upstreamMs } from './day-count.ts'
import type { HeldItem, Turn } from './state.ts'

/** What a commit changes in the head, beside the sequence. */
export type HeadPatch = NonNullable<Commit['head']>

/** What one round publishes. */
export interface Publication {
  purpose: Purpose
  items: readonly HeldItem[]
  rejected?: readonly RejectedItem[]
  /** Announced before the items, in the first commit. */
  opening?: OpenGap
  /** Announced after the items, in the last commit. */
  closing?: { gap: Gap; as: 'filled' | 'given_up' }
  /** Changed with the first commit of the chain. */
  first?: HeadPatch
  /** Changed with the last commit of the chain. */
  last?: HeadPatch
  /** guids that a poll showed, where its fill publishes them. */
  polled?: readonly string[]
  /** What is decided of the walk over a day, with the last commit of the chain. */
  day?: { date: string; walk: DayWalk }
}

/** An event of a publication; the item is null for what happened to a gap. */
interface Entry {
  event: NewEvent
  item: HeldItem | null
}

/** Queues the commits of one publication: one, or a chain where there are more than COMMIT_LIMIT events. */
export function publish(turn: Turn, publication: Publication): void {
  const { purpose, items, rejected = [], opening, closing, first = {} } = publication
  const last = { ...publication.last, ...roundFor(turn, publication) }
  let latestTimeMs = turn.state.head.latestTimeMs
  // By upstream's clock, as the items around it: a cursor of this place is compared with their times.
  const at = { timeMs: upstreamMs(turn), recordedMs: turn.nowMs }
  const entries: Entry[] = []
  if (opening !== undefined) entries.push({ event: gapEvent(gapOf(opening), GAP_OPENED, at), item: null })
  for (const item of inOrder(items)) {
    const { timeMs } = item.disclosure
    const late = timeMs < latestTimeMs
    latestTimeMs = Math.max(latestTimeMs, timeMs)
    const { text: data, revision, heldMs: recordedMs } = item
    entries.push({ event: disclosureEvent(item.disclosure, { data, revision, recordedMs, late }), item })
  }
  if (closing !== undefined) {
    const type = closing.as === 'filled' ? GAP_FILLED : GAP_GIVEN_UP
    entries.push({ event: gapEvent(closing.gap, type, at), item: null })
  }
  const chunks = chunksOf(entries, COMMIT_LIMIT)
  chunks.forEach((chunk, index) => {
    const isFirst = index === 0
    const isLast = index === chunks.length - 1
    enqueue(turn, purpose, {
      events: chunk.map(({ event }) => event),
      ...(isFirst && rejected.length > 0 ? { rejected: [...rejected] } : {}),
      head: {
        ...daysFor(turn, publication, chunk, { isFirst, isLast }),
        ...(isFirst ? first : {}),
        ...(isLast ? last : {}),
        latestTimeMs: chunk.reduce(
          (latest, { item }) => Math.max(latest, item?.disclosure.timeMs ?? 0),
          turn.state.head.latestTimeMs,
        ),
      },
    })
  })
}

/** What came in is read again by the next round, which falls due from now. What the backfill brings is past. */
function roundFor(turn: Turn, { purpose, items, last }: Publication): HeadPatch {
  const { rounds } = turn.config
  const { head } = turn.state
  if (rounds === null || items.length === 0 || purpose === 'backfill') return {}
  const newsMs = head.lastCleanPollMs ?? turn.nowMs
  const { fromMs, dueAtMs, attempts } = last?.round ??
    head.round ?? { fromMs: newsMs, dueAtMs: null, attempts: 0 }
  return { round: { fromMs, dueAtMs: dueAtMs ?? turn.nowMs + rounds.everyMs, newsMs, attempts } }
}

/** The records of the days as this commit leaves them; from the first one on they are counted. */
function daysFor(
  turn: Turn,
  { purpose, rejected = [], polled = [], day }: Publication,
  chunk: readonly Entry[],
  { isFirst, isLast }: { isFirst: boolean; isLast: boolean },
): HeadPatch {
  const { head } = turn.state
  const items = chunk.flatMap(({ item }) => item ?? [])
  const counted = daysAfter(turn, { purpose, items, rejected: isFirst ? rejected : [], polled })
  const days: readonly DayRecord[] =
    isLast && day !== undefined
      ? withDay(counted, day.date, (known) => ({ ...known, walk: day.walk }))
      : counted
  return {
    ...(days === head.days ? {} : { days }),
    ...(head.countedFromMs === null && { countedFromMs: upstreamMs(turn) }),
  }
}

/** Queues one commit and moves the head as it will be. Refunds that wait travel along. */
export function enqueue(turn: Turn, purpose: Purpose, commit: Commit): void {
  const { state } = turn
  const refunds = state.refunds
  state.refunds = []
  state.head = { ...state.head, ...commit.head }
  state.queue = [...state.queue, { purpose, commit: refunds.length === 0 ? commit : { ...commit, refunds } }]
}

/** A gap that opens now. */
export function newGap(turn: Turn, cause: GapCause, fromMs: number, toMs: number): OpenGap {
  return {
    id: turn.nowMs.toString(36),
    from: isoMillis(fromMs),
    to: isoMillis(toMs),
    cause,
    openedAt: isoMillis(turn.nowMs),
    found: 0,
    closedAt: null,
    attempts: 0,
    retryAtMs: turn.nowMs,
  }
}

/** The public shape of a gap (contract §3). */
export function gapOf({ id, from, to, cause, openedAt, found, closedAt }: OpenGap): Gap {
  return { id, from, to, cause, openedAt, found, closedAt }
}

/** True when these items need a chain of commits: then a gap is announced around them. */
export function needsChain(items: readonly HeldItem[]): boolean {
  return items.length > COMMIT_LIMIT
}

function inOrder(items: readonly HeldItem[]): HeldItem[] {
  return [...items].sort(
    (one, other) =>
      one.disclosure.timeMs - other.disclosure.timeMs ||
      compareText(one.disclosure.guid, other.disclosure.guid) ||
      one.revision - other.revision,
  )
}

function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

/** At least one chunk, so that a change of the head alone is a commit too. */
function chunksOf<T>(members: readonly T[], size: number): T[][] {
  const chunks: T[][] = []
  for (let start = 0; start === 0 || start < members.length; start += size) {
    chunks.push(members.slice(start, start + size))
  }
  return chunks
}
