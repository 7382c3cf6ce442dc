/**
 * Handles the very first answer: polling starts at its cursor, and the backfill reads what is older. Where our clock and
 * upstream's `Date` disagree and either may be right, it reads the range of both.
 */
import { isoMillis } from '../../core/dates.ts'
import { DAY_MS, WEEK_MS } from '../../core/durations.ts'
import { quotaAt } from '../../governor/quota/ledger.ts'
import { affordableBackfill } from '../../governor/schedule/backfill-budget.ts'
import type { Backfill, FirstPage, Head, OpenGap, UnsureStart } from '../writer-state/head.ts'
import { skewsMs } from './present.ts'
import { enqueue, newGap, publish } from './publish.ts'
import { headOfCursor } from './stamped-ahead.ts'
import type { FetchedItem, ReadPage, StepContext } from './state.ts'

/** Added to the end of a covered range: a bound in the future costs nothing, one too early would lose items. */
export const COVER_MARGIN_MS = 60_000

/** The very first answer. */
export interface FirstAnswer {
  page: ReadPage
  /** Its cursor; null where there is none that may be used. */
  pageCursor: string | null
  /** When its request began, our clock, ms since 1970. */
  startedMs: number
  /** When its request began and how far its cursor covers, by upstream's clock, ms since 1970. */
  startMs: number
  coveredToMs: number
}

/** A range of upstream time, ms since 1970. */
export interface UpstreamRange {
  fromMs: number
  toMs: number
}

/** What the first start reads of the past, what stays open gaps, and from when on days are counted. */
interface FirstRead {
  backfill: Backfill | null
  gaps: UpstreamRange[]
  countedFromMs: number
  unsureStart?: UnsureStart
}

/**
 * Starts polling and the backfill, as far as half of the quota left pays for it. What is older still stays an open gap, which is
 * tried once those units have come back: the polls and fills of the first week need the other half. Where nothing more is paid
 * for, the items of the answer are published inside of it.
 */
export function takeFirstCursor(context: StepContext, answer: FirstAnswer): void {
  const { page, pageCursor, startMs: lastCleanPollMs } = answer
  const { gaps, unsureStart, ...read } = firstRead(context, answer)
  const shown = firstPageOf(page, context.config.pageSize)
  const firstPage = { ...shown, ...(unsureStart !== undefined && { unsureStart }) }
  const head = { ...headOfCursor(pageCursor, page), lastCleanPollMs, ...read, firstPage }
  if (gaps.length === 0) return enqueue(context, 'poll', { events: [], head })
  const opening: OpenGap[] = []
  const retryAtMs = context.nowMs + (read.backfill === null ? DAY_MS : WEEK_MS)
  for (const gap of gaps) opening.push({ ...newGap(context, 'outage', gap, opening), retryAtMs })
  const openGaps = [...context.state.head.openGaps, ...opening]
  const isInGap = (timeMs: number): boolean =>
    gaps.some(({ fromMs, toMs }) => timeMs >= fromMs && timeMs <= toMs)
  const items = page.fresh.filter(({ disclosure }) => read.backfill === null && isInGap(disclosure.timeMs))
  publish(context, { purpose: 'poll', items, opening, first: { ...head, openGaps } })
}

/**
 * Says before the first request that this log is new, and warns where half of the quota left does not pay for the whole
 * backfill.
 */
export function reportFirstStart(context: StepContext): void {
  const { config, nowMs } = context
  const { epoch, lastSpendMs, lastCleanPollMs } = context.state.head
  if (lastSpendMs === null)
    context.actions.push({ type: 'report', level: 'info', event: 'log.begun', fields: { epoch } })
  if (lastCleanPollMs !== null || config.backfillMs === 0) return
  const wantedMs = nowMs - config.backfillMs
  const { fromMs, units, budget } = budgetOf(context, { fromMs: wantedMs, toMs: nowMs })
  if (fromMs === wantedMs) return
  const fields = { units, budget, from: isoMillis(wantedMs), readFrom: isoMillis(fromMs) }
  context.actions.push({ type: 'report', level: 'warn', event: 'backfill.limited', fields })
}

function firstRead(context: StepContext, { startedMs, startMs, coveredToMs }: FirstAnswer): FirstRead {
  const { backfillMs } = context.config
  const [dateSkewMs, ourSkewMs] = skewsMs(context.state)
  if (ourSkewMs === undefined) {
    return readOf(context, { fromMs: startMs - backfillMs, toMs: coveredToMs })
  }
  const rangeBy = (skewMs: number): UpstreamRange => ({
    fromMs: startedMs + skewMs - backfillMs,
    toMs: context.nowMs + skewMs + COVER_MARGIN_MS,
  })
  const [ours, date] = [rangeBy(ourSkewMs), rangeBy(dateSkewMs)]
  const [earlier, later] = ours.fromMs < date.fromMs ? [ours, date] : [date, ours]
  const covered = { ...later, toMs: Math.max(later.toMs, coveredToMs) }
  const read = backfillMs === 0 ? unread(earlier) : readOfBoth(context, earlier, covered)
  const unsureStart = { oursMs: ours.fromMs, dateMs: date.fromMs, skewMs: dateSkewMs - ourSkewMs }
  return { ...read, unsureStart }
}

function unread({ fromMs }: UpstreamRange): FirstRead {
  return { backfill: null, gaps: [], countedFromMs: fromMs }
}

/** The newest part of the range that is paid for; the rest stays an open gap. */
function readOf(context: StepContext, range: UpstreamRange): FirstRead {
  if (context.config.backfillMs === 0) return unread(range)
  const { fromMs } = budgetOf(context, range)
  return {
    backfill: fromMs < range.toMs ? { doneToMs: fromMs, untilMs: range.toMs } : null,
    gaps: fromMs === range.fromMs ? [] : [{ fromMs: range.fromMs, toMs: fromMs }],
    countedFromMs: fromMs,
  }
}

/**
 * Both ranges, without what lies between them; where they are not both paid for, the earlier one stays an open gap, and what is
 * not paid for of the later one another.
 */
function readOfBoth(context: StepContext, earlier: UpstreamRange, later: UpstreamRange): FirstRead {
  const isOne = later.fromMs <= earlier.toMs
  if (isOne) return readOf(context, { fromMs: earlier.fromMs, toMs: later.toMs })
  const [one, other] = [budgetOf(context, earlier), budgetOf(context, later)]
  if (one.units + other.units <= other.budget) {
    const skip = { fromMs: earlier.toMs, toMs: later.fromMs }
    const backfill = { doneToMs: earlier.fromMs, untilMs: later.toMs, skip }
    return { backfill, gaps: [], countedFromMs: earlier.fromMs }
  }
  const read = readOf(context, later)
  return { ...read, gaps: [earlier, ...read.gaps], countedFromMs: earlier.fromMs }
}

/** The next day of the backfill, oldest first: up to midnight UTC or to the end of its range; and the page to begin with. */
export function nextBackfillDay(backfill: Backfill): UpstreamRange & { pageCursor: string | null } {
  const [{ fromMs, toMs }] = leftOf(backfill)
  const midnightMs = (Math.floor(fromMs / DAY_MS) + 1) * DAY_MS
  const { next } = backfill
  const pageCursor = next?.fromMs === fromMs ? next.pageCursor : null
  return { fromMs, toMs: Math.min(midnightMs, toMs), pageCursor }
}

/** The backfill with the first page of its day as the next one. */
export function fromFirstBackfillPage({ next: _, ...backfill }: Backfill): Backfill {
  return backfill
}

/** The ranges that the backfill has not read yet, the oldest first. */
export function leftOf({ doneToMs, untilMs, skip }: Backfill): [UpstreamRange, UpstreamRange?] {
  if (skip === undefined || doneToMs >= skip.toMs) return [{ fromMs: doneToMs, toMs: untilMs }]
  const later = { fromMs: skip.toMs, toMs: untilMs }
  return doneToMs < skip.fromMs ? [{ fromMs: doneToMs, toMs: skip.fromMs }, later] : [later]
}

function firstPageOf({ fresh, times, count, nextCursor }: ReadPage, pageSize: number): FirstPage {
  const isCut = count >= pageSize || typeof nextCursor === 'string'
  const oldestMs = times.reduce((oldest, timeMs) => Math.min(oldest, timeMs), Number.POSITIVE_INFINITY)
  return { hashes: fresh.map(({ hash }) => hash), fromMs: isCut && times.length > 0 ? oldestMs : null }
}

/**
 * True for an item that was not listed before the stream began: it is dated since then, or the first answer would have shown
 * it and did not.
 */
export function isOfStream(
  { revision, hash, disclosure }: FetchedItem,
  { countedFromMs, firstPage }: Head,
  startMs: number,
): boolean {
  if (revision > 1 || disclosure.timeMs >= (countedFromMs ?? startMs)) return true
  if (firstPage === null || firstPage.hashes.includes(hash)) return false
  return firstPage.fromMs === null || disclosure.timeMs > firstPage.fromMs
}

function budgetOf({ state, config, nowMs }: StepContext, { fromMs, toMs }: UpstreamRange) {
  const { pageSize, calendar, weeklyQuota, quotaReset } = config
  const { remaining } = quotaAt(state.ledger, weeklyQuota, quotaReset, nowMs)
  return affordableBackfill({ fromMs, untilMs: toMs, remaining, pageSize, calendar })
}
