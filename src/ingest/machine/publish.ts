/**
 * Builds commits to the log from fetched items: orders items by upstream time and guid, marks late ones, and splits large
 * publications into several commits. It also adds the events that open or close a gap, a span of time in which items may be
 * missing.
 */
import { withAhead } from '../../archive/journeys.ts'
import { type DayRecord, type DayWalk, withDay } from '../../core/calendar/day-record.ts'
import { isoMillis } from '../../core/dates.ts'
import { DAY_MS, HOUR_MS } from '../../core/durations.ts'
import type { Gap, GapCause, NewEvent } from '../../core/event.ts'
import { disclosureEvent, GAP_FILLED, GAP_GIVEN_UP, GAP_OPENED, gapEvent } from '../../core/event.ts'
import { FOUND_BY, type Purpose } from '../../core/purpose.ts'
import { portionsOf } from '../../lifecycle/portions.ts'
import { COMMIT_LIMIT, type RejectedItem } from '../../log/events.ts'
import type { FirstPage, OpenGap } from '../writer-state/head.ts'
import type { PollerCommit } from '../writer-state/poller-writer.ts'
import { daysAfter, daysKept, type FoundItem } from './day-count.ts'
import {
  decidedSkewMs,
  isAhead,
  isPresentKnown,
  observeTimes,
  presentMs,
  shownClock,
  surePresentMs,
  upstreamNowMs,
} from './present.ts'
import type { FetchedItem, StepContext } from './state.ts'

/**
 * Most characters of items in one commit, unless one item has more: storing them holds the event loop. A usual day of items
 * has 3 MB.
 */
const COMMIT_CHARACTERS = 8 * 1024 * 1024
const ONE_COMMIT = { members: COMMIT_LIMIT, size: COMMIT_CHARACTERS }
/** A commit of a chain: a thousand events hold the event loop for up to 200 ms on a slow machine. */
const OF_A_CHAIN = { members: COMMIT_LIMIT / 2, size: COMMIT_CHARACTERS / 2 }
/** Clocks that are still as far apart as that, nearly, were not set since. */
const SAME_SKEW_MS = HOUR_MS

/** What a commit changes in the head, beside the sequence. */
export type HeadPatch = NonNullable<PollerCommit['head']>

/** Items, gap events and changes of the head that are published together. */
export interface Publication {
  purpose: Purpose
  items: readonly FetchedItem[]
  rejected?: readonly RejectedItem[]
  /** Gaps that open before the items, in the first commit. */
  opening?: readonly OpenGap[]
  /** A gap that is filled or given up after the items, in the last commit. */
  closing?: { gap: Gap; as: 'filled' | 'given_up' }
  /** Changed with the first commit of the chain. */
  first?: HeadPatch
  /** Changed with the last commit of the chain. */
  last?: HeadPatch
  /** guids that the overflowing poll itself had, where its fill publishes them. */
  polled?: readonly string[]
  /** The new state of a day's reconciliation, with the last commit of the chain. */
  day?: { date: string; walk: DayWalk }
}

/** An event of a publication; `found` is null for a gap event. */
interface Entry {
  event: NewEvent
  found: FoundItem | null
}

function reportOpened({ actions }: StepContext, { id: gapId, cause, from, to }: OpenGap): void {
  actions.push({ type: 'report', level: 'warn', event: 'gap.opened', fields: { gapId, cause, from, to } })
}

/**
 * Queues the commits of one publication: one, or a chain where that would hold too many events or too much text. Rejected items
 * come first in it: a crash after them stores none twice, as their texts are known.
 */
export function publish(context: StepContext, publication: Publication): void {
  const { purpose, items, rejected = [], opening = [], closing, first = {} } = publication
  const last = { ...publication.last, ...rescanFor(context, publication) }
  observeTimes(
    context,
    items.map(({ disclosure }) => disclosure.timeMs),
  )
  const present = Math.floor(presentMs(context))
  // A head of an older version may hold the time of an item that was stamped ahead.
  const { latestTimeMs: headTimeMs } = context.state.head
  const beforeMs = isAhead(headTimeMs, present) ? present : headTimeMs
  let latestTimeMs = beforeMs
  // By upstream's clock, like the items around it: a cursor at this position is compared with their times.
  const at = { timeMs: upstreamNowMs(context), recordedMs: context.nowMs }
  const entries: Entry[] = []
  for (const gap of opening) {
    entries.push({ event: gapEvent(gapOf(gap), GAP_OPENED, at), found: null })
    // One that is filled by the same publication is open for some milliseconds.
    if (closing?.gap.id !== gap.id) reportOpened(context, gap)
  }
  const polled = new Set(publication.polled)
  const aheadMs = decidedSkewMs(context.state)
  for (const item of inOrder(items)) {
    const { text: data, revision, fetchedMs: recordedMs, journey } = item
    const { guid, timeMs } = item.disclosure
    const foundBy = polled.has(guid) ? 'poll' : FOUND_BY[purpose]
    const told = journey === undefined ? {} : { journey: withAhead(journey, aheadMs) }
    const held = { item, data, revision, recordedMs, foundBy, ...told }
    const isNormal = !isAhead(timeMs, present)
    const place = isNormal ? { late: timeMs < latestTimeMs } : { late: false, aheadOfMs: present }
    if (isNormal) latestTimeMs = Math.max(latestTimeMs, timeMs)
    else reportAhead(context, item, present)
    const event = disclosureEvent(item.disclosure, { ...held, ...place })
    entries.push({ event, found: { item, foundBy } })
  }
  if (closing !== undefined) {
    const type = closing.as === 'filled' ? GAP_FILLED : GAP_GIVEN_UP
    entries.push({ event: gapEvent(closing.gap, type, at), found: null })
  }
  const unreadable = chunksOf(rejected, ({ raw }) => raw.length)
  for (const portion of unreadable.slice(0, -1)) {
    enqueue(context, purpose, {
      events: [],
      rejected: portion,
      head: daysFor(context, { rejected: portion }),
    })
  }
  const chunks = chunksOf(entries, ({ event }) => event.data.length)
  chunks.forEach((chunk, index) => {
    const isFirst = index === 0
    const isLast = index === chunks.length - 1
    const beside = isFirst ? (unreadable.at(-1) ?? []) : []
    enqueue(context, purpose, {
      events: chunk.map(({ event }) => event),
      ...(beside.length > 0 ? { rejected: beside } : {}),
      head: {
        ...daysFor(context, { entries: chunk, rejected: beside, ...(isLast && { day: publication.day }) }),
        ...(isFirst ? first : {}),
        ...(isLast ? last : {}),
        latestTimeMs: chunk.reduce(
          (latest, { event, found }) =>
            found === null || event.aheadof !== undefined ? latest : Math.max(latest, event.timeMs),
          index === 0 ? beforeMs : context.state.head.latestTimeMs,
        ),
      },
    })
  })
}

/** Warns of an item whose time lies ahead of upstream's present. */
function reportAhead(context: StepContext, { disclosure }: FetchedItem, present: number): void {
  const { guid, timestamp, timeMs } = disclosure
  const fields = { guid, stamped: timestamp, aheadMs: Math.round(timeMs - present) }
  context.actions.push({ type: 'report', level: 'warn', event: 'item.stamped_ahead', fields })
}

/** New items make a scheduled re-scan pending, except those of the backfill, which are older than any re-scan. */
function rescanFor(context: StepContext, { purpose, items, last }: Publication): HeadPatch {
  const { rounds } = context.config
  const { head } = context.state
  if (rounds === null || items.length === 0 || purpose === 'backfill') return {}
  const newsMs = head.lastCleanPollMs ?? context.nowMs
  const { fromMs, dueAtMs, attempts } = last?.round ??
    head.round ?? { fromMs: newsMs, dueAtMs: null, attempts: 0 }
  return { round: { fromMs, dueAtMs: dueAtMs ?? context.nowMs + rounds.everyMs, newsMs, attempts } }
}

/** What a commit does to the days' records. */
interface DayChanges {
  entries?: readonly Entry[]
  rejected: readonly RejectedItem[]
  day?: Publication['day'] | undefined
}

/** The changes of the days' records with this commit; the first commit starts the count. */
function daysFor(context: StepContext, { entries = [], rejected, day }: DayChanges): HeadPatch {
  const { head } = context.state
  const found = entries.flatMap((entry) => entry.found ?? [])
  const counted = daysAfter(context, { found, rejected })
  const days: readonly DayRecord[] =
    day !== undefined
      ? withDay(counted, day.date, (known) => ({ ...known, walk: day.walk }), daysKept(context))
      : counted
  return {
    ...(days === head.days ? {} : { days }),
    ...countedFrom(context),
  }
}

/**
 * The first commit starts the count. Where upstream's `Date` was more than a day ahead then, as is known once a clock is known
 * to be right, it starts with the first day that has items; later ones would never be reconciled, nor be named as such.
 */
function countedFrom(context: StepContext): Pick<HeadPatch, 'countedFromMs' | 'firstPage'> {
  const { countedFromMs, days, firstPage } = context.state.head
  const present = surePresentMs(context)
  if (countedFromMs === null) return { countedFromMs: present }
  if (firstPage?.unsureStart !== undefined) return surelyCountedFrom(context, countedFromMs, firstPage)
  if (!isPresentKnown(context.state) || countedFromMs - present <= DAY_MS) return {}
  const [first] = days
  const firstMs = first === undefined ? present : context.config.calendar.momentMs(first.date, 0)
  return { countedFromMs: Math.min(present, firstMs) }
}

/** By the clock that was right at the first poll, once that is known. A gap may cover what is older than `countedFromMs`. */
function surelyCountedFrom(
  { state }: StepContext,
  countedFromMs: number,
  { unsureStart, ...firstPage }: FirstPage,
): Pick<HeadPatch, 'countedFromMs' | 'firstPage'> {
  const right = shownClock(state)
  if (unsureStart === undefined) return {}
  const { oursMs, dateMs, skewMs } = unsureStart
  // Clocks that were set since then do not tell how they were.
  if (right === null || Math.abs(state.skewMs - skewMs) > SAME_SKEW_MS) return {}
  return { countedFromMs: Math.max(countedFromMs, right === 'ours' ? oursMs : dateMs), firstPage }
}

/**
 * Queues one commit, with the last good poll and the pending refunds, and changes the head as that commit will. Where a poll's
 * items wait for its fill, a commit without them does not call that poll good: after a crash the next one would be put off.
 */
export function enqueue(context: StepContext, purpose: Purpose, { head, ...commit }: PollerCommit): void {
  const { state } = context
  // A page of a scan may have shown another clock since the last good poll.
  const { refunds, lastGoodPollMs, sightingSkewMs: skewMs, plan } = state
  const right = shownClock(state)
  const lastGood = {
    ...{ atMs: lastGoodPollMs ?? 0, skewMs, ...(right !== null && { right }) },
    ...(plan.intervalMs > 0 && { plannedMs: plan.intervalMs }),
  }
  const isHeld = commit.events.length === 0 && (state.scan?.firstHead ?? null) !== null
  const changes = { ...head, ...(lastGoodPollMs !== null && !isHeld && { lastGood }) }
  state.refunds = []
  state.head = { ...state.head, ...changes }
  const queued = { ...commit, head: changes, ...(refunds.length > 0 && { refunds }) }
  state.queue = [...state.queue, { purpose, commit: queued }]
}

/** A gap that opens now, with another id than those beside it. Bounds in ms since 1970, upstream's clock. */
export function newGap(
  { state, nowMs }: StepContext,
  cause: GapCause,
  { fromMs, toMs }: { fromMs: number; toMs: number },
  beside: readonly OpenGap[] = [],
): OpenGap {
  const ids = [...state.head.openGaps, ...beside].map(({ id }) => id)
  let idMs = nowMs
  while (ids.includes(idMs.toString(36))) idMs += 1
  return {
    id: idMs.toString(36),
    from: isoMillis(fromMs),
    to: isoMillis(toMs),
    cause,
    openedAt: isoMillis(nowMs),
    found: 0,
    closedAt: null,
    attempts: 0,
    retryAtMs: nowMs,
  }
}

/** The public shape of a gap. */
export function gapOf({ id, from, to, cause, openedAt, found, closedAt }: OpenGap): Gap {
  return { id, from, to, cause, openedAt, found, closedAt }
}

/** True when these items need more than one commit. */
export function needsChain(items: readonly FetchedItem[]): boolean {
  return chunksOf(items, ({ text }) => text.length).length > 1
}

function inOrder(items: readonly FetchedItem[]): FetchedItem[] {
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

/** At least one chunk, so that a change of the head without events is a commit too. */
function chunksOf<T>(members: readonly T[], charactersOf: (member: T) => number): T[][] {
  if (members.length === 0) return [[]]
  const whole = portionsOf(members, ONE_COMMIT, charactersOf)
  return whole.length === 1 ? whole : portionsOf(members, OF_A_CHAIN, charactersOf)
}
