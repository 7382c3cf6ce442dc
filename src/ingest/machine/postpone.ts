/**
 * Schedules the next try of a page scan (a page-by-page read of a time range upstream) that could not finish. After too many
 * tries, the range of a re-scan or of the backfill becomes a gap: a span of time in which items may be missing. A gap that
 * is still open after three weeks is given up.
 */
import { isoMillis } from '../../core/dates.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/durations.ts'
import type { Gap } from '../../core/event.ts'
import { type OpenGap, type ScheduledRescan, timesOf } from '../writer-state/head.ts'
import { dayAfterFailure } from './daily-reconciliation.ts'
import { restartsAtFirstPage } from './failure.ts'
import { fromFirstBackfillPage, leftOf, type UpstreamRange } from './first-start.ts'
import { gapOf, type HeadPatch, newGap, publish } from './publish.ts'
import type { PageScan, StepContext } from './state.ts'

/** Waits before a gap is tried again: 30 s, 1 min, 2 min … up to an hour. */
export const GAP_RETRY_MS = 30_000
/** The longest of these waits. */
export const LONGEST_GAP_RETRY_MS = HOUR_MS
/**
 * Wait of a fill or gap for which no unit is left, ms: units come back every few minutes in the morning, and each reads a
 * page that is not read again.
 */
export const OVER_BUDGET_GAP_RETRY_MS = 15 * MINUTE_MS
/**
 * A gap that was not filled in three weeks is given up. What a first start leaves open waits for one of them, and has two full
 * quotas after that.
 */
export const GIVE_UP_MS = 21 * DAY_MS
const RESCAN_RETRY_MS = MINUTE_MS
/**
 * Tries of a day of the backfill before the rest of the backfill becomes a gap. Until then only the spans that were not read
 * again tell readers that something is missing: 4 min on `ultimate`, 19 on `free`.
 */
const BACKFILL_ATTEMPTS = 3
/** After so many tries a gap is tried once a day only: the next morning needs the units. */
const GAP_ATTEMPTS = 8
/** Tries of a re-scan before its range becomes a gap, which counts them as its own. */
const RESCAN_ATTEMPTS = 3

/**
 * Tries the same day of the backfill after 30 s and 1 min. After too many tries, and at once where no unit is left for it, the rest
 * of the backfill becomes an open gap, which readers can see. That goes on with the page that was not paid.
 */
export function postponeBackfill(
  context: StepContext,
  scan: PageScan,
  retryMs: number,
  isOverBudget: boolean,
): void {
  const { state, nowMs } = context
  const { backfill } = state.head
  state.backfillFailures += 1
  const waitMs = Math.min(LONGEST_GAP_RETRY_MS, retryMs * 2 ** (state.backfillFailures - 1))
  state.backfillRetryMs = nowMs + waitMs
  if (backfill === null || (state.backfillFailures < BACKFILL_ATTEMPTS && !isOverBudget)) {
    const last: HeadPatch = backfill?.next === undefined ? {} : { backfill: fromFirstBackfillPage(backfill) }
    const isNew = scan.fetched.length + scan.rejected.length > 0 || last.backfill !== undefined
    if (isNew) publish(context, { ...fetchedBy(scan), last })
    return
  }
  state.backfillFailures = 0
  const head = { backfill: null }
  openGapsFor(context, scan, leftOf(backfill), { head, waitMs, attempts: 0, isGoingOn: isOverBudget })
}

/**
 * Tries the same re-scan later. After too many tries its range becomes an open gap; not for want of units, since polls have shown
 * that range, and it counts as not reconciled.
 */
export function postponeRescan(
  context: StepContext,
  scan: PageScan,
  retryMs: number,
  isOverBudget: boolean,
): void {
  const { fromMs, coveredToMs } = scan
  const { sweep, round } = context.state.head
  const isScheduled = scan.kind === 'scheduled_rescan'
  const attempts = ((isScheduled ? round : sweep)?.attempts ?? RESCAN_ATTEMPTS) + 1
  if (attempts >= RESCAN_ATTEMPTS) {
    const done = isScheduled ? { round: roundAfter(context, scan) } : sweepAfter(context, scan)
    if (isOverBudget) return publish(context, { ...fetchedBy(scan), last: done })
    const waitMs = Math.max(retryMs, GAP_RETRY_MS * 2 ** (attempts - 1))
    return openGapsFor(context, scan, [{ fromMs, toMs: coveredToMs }], { head: done, waitMs, attempts })
  }
  const later = { attempts, dueAtMs: context.nowMs + Math.max(RESCAN_RETRY_MS, retryMs) }
  const last: HeadPatch = {}
  if (isScheduled && round !== null) last.round = { ...round, ...later }
  if (!isScheduled && sweep !== null) last.sweep = { ...sweep, ...later }
  publish(context, { ...fetchedBy(scan), last })
}

/** Tries the reconciliation of the same day later. After too many tries the day has failed. */
export function postponeDay(context: StepContext, scan: PageScan): void {
  const { day } = scan
  if (day === null) return
  publish(context, {
    ...fetchedBy(scan),
    day: { date: day.date, walk: dayAfterFailure(context, { ...scan, pageCursor: keptCursorOf(scan) }) },
  })
}

/** No overlap re-scan is pending after this one, unless a burst came since it began. */
export function sweepAfter({ state }: StepContext, { startedMs }: PageScan): HeadPatch {
  const { sweep } = state.head
  return sweep !== null && sweep.dueAtMs > startedMs ? {} : { sweep: null }
}

/**
 * The state of scheduled re-scans after one of them. Another one is due where items arrived within its reach: later items
 * may still arrive behind them.
 */
export function roundAfter({ state, config, nowMs }: StepContext, scan: PageScan): ScheduledRescan {
  const { reachMs = 0, everyMs = 0 } = config.rounds ?? {}
  const newsMs = state.head.round?.newsMs ?? scan.fromMs
  const isAgain = newsMs > scan.coveredToMs - reachMs
  return { fromMs: scan.coveredToMs, dueAtMs: isAgain ? nowMs + everyMs : null, newsMs, attempts: 0 }
}

/**
 * Tries the same gap later, from the page that failed or, every third time, from the first one. After three weeks the gap is
 * given up, once a try from its first page has failed. A try that was only over budget does not count.
 */
export function postponeGap(
  context: StepContext,
  scan: PageScan,
  retryMs: number,
  isOverBudget: boolean,
): void {
  const { openGaps } = context.state.head
  const gap = openGaps.find(({ id }) => id === scan.gapId)
  if (gap === undefined) return
  const common = { purpose: scan.purpose, items: scan.fetched, rejected: scan.rejected }
  const found = leftOutByPoll(scan)
  const isOld = context.nowMs - timesOf(gap).openedMs > GIVE_UP_MS
  // A page to go on with may be of before a long stop.
  if (isOld && gap.next === undefined) {
    const closing = { gap: closed(context, gap, found), as: 'given_up' as const }
    return publish(context, {
      ...common,
      closing,
      last: { openGaps: openGaps.filter(({ id }) => id !== gap.id) },
    })
  }
  const attempts = isOverBudget ? gap.attempts : gap.attempts + 1
  const longestMs = attempts > GAP_ATTEMPTS ? DAY_MS : LONGEST_GAP_RETRY_MS
  const waitMs = Math.min(longestMs, retryMs * 2 ** Math.max(0, attempts - 1))
  const isRestart = isOld || (!isOverBudget && restartsAtFirstPage(attempts))
  const later = {
    ...(isRestart ? fromFirstPage(gap) : goingOn(gap, scan)),
    attempts,
    found: gap.found + found,
    retryAtMs: context.nowMs + waitMs,
  }
  const last = { openGaps: openGaps.map((open) => (open.id === gap.id ? later : open)) }
  publish(context, { ...common, last })
}

/** What a scan has fetched, as a publication. */
export function fetchedBy({ purpose, fetched: items, rejected, mustMeet: polled }: PageScan) {
  return { purpose, items, rejected, polled }
}

/** How many of the fetched items the poll had left out that the scan completes. */
export function leftOutByPoll({ fetched, mustMeet }: Pick<PageScan, 'fetched' | 'mustMeet'>): number {
  const polled = new Set(mustMeet)
  return fetched.filter(({ disclosure }) => !polled.has(disclosure.guid)).length
}

/** The backfill with the page to go on with, for a scan of it whose earlier pages are published with this; nothing for others. */
export function keptPage({ state }: StepContext, scan: PageScan): HeadPatch {
  const { kind, fromMs } = scan
  const { backfill } = state.head
  const pageCursor = keptCursorOf(scan)
  if (kind !== 'backfill' || backfill === null || pageCursor === null) return {}
  return { backfill: { ...backfill, next: { fromMs, pageCursor } } }
}

/** The page with which a later scan of the same range may go on; null: the first one. */
function keptCursorOf({ belowMs, pageCursor }: PageScan): string | null {
  return belowMs === null ? pageCursor : null
}

/** The gap with the page that this scan did not get as the next one; with the first page where the scan went astray. */
export function goingOn(gap: OpenGap, scan: PageScan): OpenGap {
  const { toMs } = scan
  const pageCursor = keptCursorOf(scan)
  if (pageCursor === null || isAstray(scan)) return fromFirstPage(gap)
  return { ...gap, next: { pageCursor, toMs } }
}

/** The gap with the first page as the next one. */
export function fromFirstPage({ next: _, ...gap }: OpenGap): OpenGap {
  return gap
}

/** True while a fill has met no item of the poll that it completes. */
export function isAstray({ mustMeet, guids }: PageScan): boolean {
  return mustMeet.length > 0 && !mustMeet.some((guid) => guids.has(guid))
}

/** True where a scan has met less than half of its proof: the list is behind the poll. The others may have been withdrawn. */
export function isBehindPoll({ proof, guids }: PageScan): boolean {
  return 2 * proof.filter((guid) => guids.has(guid)).length < proof.length
}

/**
 * Publishes what the scan fetched behind a new open gap and any others; `head` changes with the first commit. The page with which the gap
 * continues is stored with the last one, behind the items of all pages before it.
 */
export function publishBehindGap(
  context: StepContext,
  scan: PageScan,
  opening: OpenGap,
  head: HeadPatch,
  others: readonly OpenGap[] = [],
): void {
  const { openGaps } = context.state.head
  publish(context, {
    ...fetchedBy(scan),
    opening: [opening, ...others],
    first: { ...head, openGaps: [...openGaps, fromFirstPage(opening), ...others] },
    last: { openGaps: [...openGaps, { ...opening, found: leftOutByPoll(scan) }, ...others] },
  })
}

/** The gap as it is closed now; `found` is what the last scan of it has found. */
export function closed({ nowMs }: StepContext, gap: OpenGap, found: number): Gap {
  return { ...gapOf(gap), found: gap.found + found, closedAt: isoMillis(nowMs) }
}

/** How the place of a scan is taken by gaps. */
interface InPlace {
  /** What changes with their first commit. */
  head: HeadPatch
  /** Until they are tried. */
  waitMs: number
  /** Tries that have failed and count as theirs. */
  attempts: number
  /** The first one goes on with the page that the scan did not get. */
  isGoingOn?: boolean
}

/** Opens a gap over each range, in place of a scan of the first one that failed, or was over budget, too often. */
function openGapsFor(
  context: StepContext,
  scan: PageScan,
  [first, second]: readonly [UpstreamRange, UpstreamRange?],
  { head, waitMs, attempts, isGoingOn = false }: InPlace,
): void {
  const tries = { attempts, retryAtMs: context.nowMs + waitMs }
  const whole = { ...newGap(context, 'outage', first), ...tries }
  const gap = isGoingOn ? goingOn(whole, scan) : whole
  const others = second === undefined ? [] : [{ ...newGap(context, 'outage', second, [gap]), ...tries }]
  publishBehindGap(context, scan, gap, head, others)
}
