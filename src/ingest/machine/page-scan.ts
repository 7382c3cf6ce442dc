/**
 * Runs a page scan, which reads a time range of the upstream list page by page, until it is complete or cannot continue.
 * `scan-end.ts` publishes the items and records what the scan has achieved.
 */
import { isoMillis } from '../../core/dates.ts'
import type { GapCause } from '../../core/event.ts'
import type { Purpose } from '../../core/purpose.ts'
import type { Pacing } from '../../governor/schedule/pacing.ts'
import { COMMIT_LIMIT, type RejectedItem } from '../../log/events.ts'
import type { UpstreamListQuery } from '../../upstream/list-parameters.ts'
import { timesOf } from '../writer-state/head.ts'
import { learnFromFill } from './arrivals.ts'
import { isShortOfDay, isTooLong } from './daily-reconciliation.ts'
import { blockScansAfter, unblockScans } from './failure.ts'
import {
  isFirstOfRest,
  isFullAtEnd,
  isWholeByNumber,
  listAfter,
  mayBeMetAgain,
  nextNumber,
  restBelow,
  UNREAD_LIST,
} from './overflow.ts'
import {
  GAP_RETRY_MS,
  isAstray,
  isBehindPoll,
  LONGEST_GAP_RETRY_MS,
  OVER_BUDGET_GAP_RETRY_MS,
} from './postpone.ts'
import {
  OVER_BUDGET,
  publishComplete,
  publishFetched,
  publishPart,
  publishPostponed,
  publishUnfinished,
} from './scan-end.ts'
import type {
  FetchedItem,
  PageOutcome,
  PageScan,
  ReadPage,
  ScanKind,
  StateName,
  StepContext,
} from './state.ts'
import { HOLD_MS } from './state.ts'

/** Failed requests in a row after which a scan is postponed. */
const MOST_FAILURES = 5
/** Text that a scan holds until it has more: a usual day has 3 MB. One more page may come on top. */
const MOST_HELD_CHARACTERS = 16 * 1024 * 1024
/** A page cursor may have expired after so long. */
const WAITED_MS = 30_000
/** Pages in a row without an item of the range: upstream ignores the date filter, or the scan never ends. */
const MOST_STRAY_PAGES = 3

/** By kind of scan: the state of the machine, the purpose of its requests, and the check whether one more can be paid. */
const KINDS = {
  fill: { state: 'filling', purpose: 'fill', check: 'mayFill' },
  gap_retry: { state: 'filling', purpose: 'fill', check: 'mayRetryGap' },
  overlap_rescan: { state: 'rescanning', purpose: 'sweep', check: 'mayRescan' },
  scheduled_rescan: { state: 'rescanning', purpose: 'sweep', check: 'mayRescan' },
  daily_reconciliation: { state: 'rescanning', purpose: 'sweep', check: 'mayRescan' },
  backfill: { state: 'backfilling', purpose: 'backfill', check: 'mayBackfill' },
} as const satisfies Record<ScanKind, { state: StateName; purpose: Purpose; check: keyof Pacing }>

/**
 * Begins a scan and sends its first request, after the commits that are queued: its page is compared with what they publish.
 * While polling is paused nothing is sent.
 * A scan in progress goes on afterwards.
 */
export function startScan(
  context: StepContext,
  given: Pick<PageScan, 'kind' | 'fromMs' | 'toMs'> & Partial<PageScan>,
): void {
  const { state, purpose } = KINDS[given.kind]
  setAside(context)
  context.state.scan = {
    purpose,
    belowMs: null,
    pageCursor: null,
    pageNumber: null,
    list: UNREAD_LIST,
    pageMs: null,
    seenCursors: [],
    guids: new Set(),
    pages: 0,
    strayPages: 0,
    failures: 0,
    fetched: [],
    latest: latestOf(given.fetched ?? []),
    rejected: [],
    published: 0,
    startedMs: context.nowMs,
    coveredToMs: given.toMs ?? context.nowMs,
    mustMeet: [],
    proof: [],
    gapId: null,
    cause: 'overflow',
    firstHead: null,
    unread: null,
    day: null,
    ...given,
  }
  context.state.name = state
  const mayRequest = context.state.queue.length === 0 && context.state.pausedSinceMs === null
  if (mayRequest) requestPage(context, context.state.scan)
}

/**
 * Makes room for another scan. What the present one has fetched is published: the other may read it too. Only one scan can
 * be set aside: where one already is, the present one is postponed.
 */
function setAside(context: StepContext): void {
  const { scan, scanAside } = context.state
  if (scan === null) return
  if (scanAside === null) publishFetched(context, scan)
  else postpone(context, scan, 'the fill of a newer poll goes first')
  context.state.scanAside = context.state.scan
  // Its pages may fail where those of the other scan do not.
  context.state.scansBlockedUntilMs = 0
}

/**
 * Takes the items out of the scan in progress that a poll has brought too, so that only one of them publishes them; with
 * the latest of each guid, whose next revision the poll may have brought.
 */
export function takeShared(context: StepContext, page: ReadPage): FetchedItems {
  const { scan } = context.state
  if (scan === null) return { fetched: [], latest: new Map() }
  const guids = new Set(page.fresh.map(({ disclosure }) => disclosure.guid))
  const isShared = ({ disclosure }: FetchedItem): boolean => guids.has(disclosure.guid)
  const shared = scan.fetched.filter(isShared)
  const fetched = scan.fetched.filter((item) => !isShared(item))
  const unreadable = rawsOf(page.rejected)
  const rejected = scan.rejected.filter(({ raw }) => !unreadable.has(raw))
  context.state.scan = { ...scan, fetched, rejected }
  return { fetched: shared, latest: latestOf(shared) }
}

/** Publishes the items of a fill that wait too long for the rest of it. */
export function wakeScan(context: StepContext, scan: PageScan): void {
  if (context.nowMs >= scan.startedMs + HOLD_MS) endHold(context, scan)
}

/** Publishes the items of a fill that wait for the rest of it, behind an open gap; the fill goes on. */
export function endHold(context: StepContext, scan: PageScan): void {
  if (scan.firstHead !== null) publishUnfinished(context, scan, context.nowMs)
}

/** Gives up the page in flight, because a poll is due: it counts as timed out. */
export function abandonPage(context: StepContext, scan: PageScan): void {
  const { nowMs } = context
  context.actions.push({ type: 'abandon' })
  const timing = { startedMs: nowMs, endedMs: nowMs, serverMs: null, sent: true }
  retryPage(context, scan, { kind: 'timeout', phase: 'headers', ...timing }, nowMs)
}

/** Handles the answer to a page request. */
export function answerScan(context: StepContext, scan: PageScan, answer: PageOutcome, spentMs: number): void {
  if (answer.kind !== 'ok') return retryPage(context, scan, answer, spentMs)
  unblockScans(context)
  const page = answer.value
  const { purpose } = scan
  context.actions.push({ type: 'tally', purpose, result: page.fresh.length > 0 ? 'new' : 'empty' })
  context.state.request = null
  if (page.warnings.length > 0) {
    const fields = { kind: scan.kind, warnings: page.warnings }
    context.actions.push({ type: 'report', level: 'warn', event: 'page_scan.warned', fields })
  }
  const grown = withPage(scan, page)
  context.state.scan = grown
  // It has at least the item that it was asked up to; where it has nothing else, the list ended there. One second may have more.
  const hasNothingNew = page.count > 0 && grown.guids.size === scan.guids.size
  const isEnd = isFirstOfRest(scan) && hasNothingNew && !isFullAtEnd(context, scan, page)
  if (page.nextCursor === null || scan.pageNumber !== null || isEnd) {
    const next = { ...grown, pageCursor: null, failures: 0 }
    const isLost = scan.pageNumber !== null && isOffRange(grown)
    const pageNumber = isLost ? null : nextNumber(context, grown, scan, page)
    if (pageNumber !== null) return goOn(context, { ...next, pageNumber })
    const belowMs = restBelow(context, grown, scan, page)
    // Its pages are those of another list: a cursor may count from its beginning.
    if (belowMs !== null) return goOn(context, { ...next, belowMs, seenCursors: [], list: UNREAD_LIST })
    const doubt = doubtAbout(context, grown, scan, page)
    return doubt === null
      ? complete(context, grown)
      : postpone(context, { ...grown, pageCursor: null }, doubt)
  }
  const fault = faultOf(context, scan, grown, page)
  if (fault !== null) return postpone(context, { ...grown, pageCursor: null }, fault)
  goOn(context, { ...grown, pageCursor: page.nextCursor ?? null, pageMs: context.nowMs, failures: 0 })
}

/** The scan goes on with its next page; what it has fetched is published where that is too much to hold. */
function goOn(context: StepContext, next: PageScan): void {
  context.state.scan = next
  if (isTooMuchToHold(next)) publishHeld(context, next)
  else if (next.fetched.length >= COMMIT_LIMIT && next.gapId !== null) publishPart(context, next)
}

/** Publishes what the scan has fetched, of a fill behind an open gap; the scan goes on. */
export function publishHeld(context: StepContext, scan: PageScan): void {
  if (scan.firstHead === null) publishFetched(context, scan)
  else endHold(context, scan)
}

function isTooMuchToHold({ fetched, rejected }: PageScan): boolean {
  const texts = [...fetched.map(({ text }) => text), ...rejected.map(({ raw }) => raw)]
  return texts.reduce((sum, text) => sum + text.length, 0) > MOST_HELD_CHARACTERS
}

/**
 * After a failed request: the same page again once the block is over, or the scan is postponed. Not for 429s in a row: every
 * request gets them, and where no poll is due this page is the request that shows when they end.
 */
function retryPage(
  context: StepContext,
  scan: PageScan,
  failure: Exclude<PageOutcome, { kind: 'ok' }>,
  spentMs: number,
): void {
  const mayRetry = blockScansAfter(context, failure, spentMs)
  context.state.request = null
  const isShared = failure.kind === 'too_many' && context.state.classifier.inARow > 1
  const failed = { ...scan, failures: scan.failures + (isShared ? 0 : 1) }
  context.state.scan = failed
  const isRefused = failure.kind === 'refused'
  if (mayRetry && failed.failures < MOST_FAILURES && !isRefused) return
  postpone(context, { ...failed, pageCursor: isRefused ? null : scan.pageCursor }, failure.kind)
}

function withPage(scan: PageScan, page: ReadPage): PageScan {
  const inRange = page.fresh.filter((item) => isInRange(scan, item.disclosure.timeMs))
  const unreadable = rawsOf(scan.rejected)
  const isStray = !page.times.some((timeMs) => isInRange(scan, timeMs))
  return {
    ...scan,
    ...addFetched(scan, inRange),
    rejected: [...scan.rejected, ...page.rejected.filter(({ raw }) => !unreadable.has(raw))],
    guids: new Set([...scan.guids, ...page.guids]),
    list: listAfter(scan, page),
    pages: scan.pages + 1,
    strayPages: isStray ? scan.strayPages + 1 : 0,
    seenCursors: scan.pageCursor === null ? scan.seenCursors : [...scan.seenCursors, scan.pageCursor],
  }
}

function isOffRange({ strayPages }: PageScan): boolean {
  return strayPages >= MOST_STRAY_PAGES
}

/** Upstream's bounds have whole seconds and ours are widened to them, so both sides allow a second more. */
function isInRange({ fromMs, toMs }: PageScan, timeMs: number): boolean {
  return timeMs >= fromMs - 1000 && (toMs === null || timeMs <= toMs + 2000)
}

/**
 * Why the last page does not show that the scan has read its range to the end; null where it does. The list may be empty for a
 * while, and a page cursor that has waited may have expired: upstream answers both as it answers a range without items.
 */
function doubtAbout(context: StepContext, scan: PageScan, before: PageScan, page: ReadPage): string | null {
  if (isFirstOfRest(before) && page.count === 0) return 'the list does not go on where its last page was full'
  if (before.pageNumber !== null && !isWholeByNumber(context, scan, before))
    return 'the list may be cut off inside a second'
  if (isAstray(scan)) return 'the scan did not meet the items of the poll that it completes'
  if (isBehindPoll(scan)) return 'the list has less than half of what a poll has shown of the range'
  if (hasWaited(context, before) && page.count === 0)
    return 'nothing came behind a page cursor that had waited'
  if (isShortOfDay(context, scan)) return 'the list has less than half of what is known of the day'
  if (isEmptyOverflow(context, scan)) return 'the list has no item of a range that had more than a page'
  return null
}

/** True for a page whose cursor is of an earlier try, or was kept while requests failed, a quota was spent or another scan read. */
function hasWaited({ nowMs }: StepContext, { pageCursor, pageMs, failures }: PageScan): boolean {
  if (pageCursor === null) return false
  return pageMs === null || failures > 0 || Math.abs(nowMs - pageMs) >= WAITED_MS
}

/** True where the scans of a gap have met no item at all up to its end, although the page of a poll had too many to show. */
function isEmptyOverflow({ state }: StepContext, { gapId, kind, guids, toMs }: PageScan): boolean {
  const gap = state.head.openGaps.find(({ id }) => id === gapId)
  if (kind !== 'gap_retry' || guids.size > 0 || gap?.hasItems !== true) return false
  return toMs !== null && toMs >= timesOf(gap).toMs
}

/** Why this page shows that the scan cannot continue; null where it can. */
function faultOf(context: StepContext, before: PageScan, after: PageScan, page: ReadPage): string | null {
  if (page.nextCursor === undefined || page.nextCursor === null) return 'the page has no `nextCursor`'
  if (after.seenCursors.includes(page.nextCursor)) return 'the page cursor repeats'
  const isRepeated = page.guids.length > 0 && after.guids.size === before.guids.size
  if (isRepeated && !mayBeMetAgain(context, before, page)) return 'the page repeats'
  if (isOffRange(after)) return 'the pages have no item of the requested range'
  return null
}

function complete(context: StepContext, scan: PageScan): void {
  const { state, nowMs, config } = context
  publishComplete(context, scan)
  learnFromFill(context, scan, false)
  reportScan(context, scan, null)
  endScan(context)
  if (scan.kind === 'fill') state.nextPollMs = Math.max(state.nextPollMs, nowMs + config.breathMs)
}

/** Ends the scan for now: publishes what it has fetched and keeps the rest pending. */
function postpone(context: StepContext, scan: PageScan, reason: string, retryMs = GAP_RETRY_MS): void {
  publishPostponed(context, scan, reason, retryMs)
  learnFromFill(context, scan, true)
  reportScan(context, context.state.scan ?? scan, reason)
  endScan(context)
}

function endScan({ state }: StepContext): void {
  state.scan = state.scanAside
  state.scanAside = null
  state.name = state.scan === null ? 'polling' : KINDS[state.scan.kind].state
}

/** Logs the end of a scan; `reason` says why it was postponed, null that it is complete. */
function reportScan(context: StepContext, scan: PageScan, reason: string | null): void {
  const { kind, pages, fromMs, toMs, gapId } = scan
  context.actions.push({
    type: 'report',
    level: reason === null ? 'info' : 'warn',
    event: reason === null ? 'page_scan.completed' : 'page_scan.postponed',
    fields: {
      kind,
      pages,
      from: isoMillis(fromMs),
      to: toMs === null ? null : isoMillis(toMs),
      found: scan.published + scan.fetched.length,
      gapId,
      durationMs: context.nowMs - scan.startedMs,
      ...(reason !== null && { reason }),
    },
  })
}

/** Requests the next page of the scan, or postpones the scan where the quota does not allow another one. */
export function requestPage(context: StepContext, scan: PageScan): void {
  const { pacing, pageSize } = context.config
  const toMs = scan.belowMs ?? scan.toMs
  if (!pacing[KINDS[scan.kind].check](context.state.ledger, context.nowMs)) {
    const retryMs = scan.purpose === 'fill' ? OVER_BUDGET_GAP_RETRY_MS : LONGEST_GAP_RETRY_MS
    return postpone(context, scan, OVER_BUDGET, retryMs)
  }
  if (isTooLong(context, scan)) return postpone(context, scan, 'the day has more pages than the plan allows')
  const query: UpstreamListQuery = {
    pageSize,
    fromMs: scan.fromMs,
    ...(toMs !== null && { toMs }),
    ...(scan.pageCursor !== null && { pageCursor: scan.pageCursor }),
    ...(scan.pageNumber !== null && { pageNumber: scan.pageNumber }),
  }
  context.state.request = { purpose: scan.purpose, query, startedMs: context.nowMs }
  context.state.wasPoll = false
  context.actions.push({ type: 'request', purpose: scan.purpose, query })
}

/** The cause of a fill: an overflow while polling, or one after polls stopped for longer than the fill's margin. */
export function overflowCause(sinceLastPollMs: number, pollIntervalMs: number): GapCause {
  return sinceLastPollMs > Math.max(15 * 60_000, 3 * pollIntervalMs) ? 'outage' : 'overflow'
}

/** Unpublished items, and the latest revision of each guid fetched so far, published since or not. */
interface FetchedItems {
  fetched: FetchedItem[]
  latest: ReadonlyMap<string, FetchedItem>
}

/**
 * Adds the fresh items: content that is already there is skipped, other content of a known guid is its next revision. An item
 * whose revision is higher than the known one came after others that were published meanwhile.
 */
export function addFetched({ fetched, latest }: FetchedItems, fresh: readonly FetchedItem[]): FetchedItems {
  const known = new Map(latest)
  const all = [...fetched]
  for (const item of fresh) {
    const before = known.get(item.disclosure.guid)
    const isLater = before === undefined || item.revision > before.revision
    if (!isLater && before.hash === item.hash) continue
    const next = isLater ? item : { ...item, revision: before.revision + 1 }
    known.set(item.disclosure.guid, next)
    all.push(next)
  }
  return { fetched: all, latest: known }
}

function rawsOf(rejected: readonly RejectedItem[]): ReadonlySet<string> {
  return new Set(rejected.map(({ raw }) => raw))
}

/** The latest revision of each guid among these items. */
function latestOf(items: readonly FetchedItem[]): ReadonlyMap<string, FetchedItem> {
  return new Map(items.map((item) => [item.disclosure.guid, item]))
}
