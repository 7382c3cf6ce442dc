/**
 * Tells whether a page has left items out: that of a poll, with the time from which on the fill reads that follows, and the
 * last page of a scan, with how its list is read on.
 */
import { DAY_MS, MINUTE_MS } from '../../core/durations.ts'
import type { UpstreamListQuery } from '../../upstream/list-parameters.ts'
import type { Head } from '../writer-state/head.ts'
import { isAhead, presentMs } from './present.ts'
import type { PageScan, ReadPage, StepContext } from './state.ts'

/** A gap keeps so many guids: there may be a thousand gaps. */
const PROOF_GUIDS = 8

/**
 * True when the answer may have left new items out: it says so, or its page is full. A poll by date shows it by a next page, or
 * a full one, behind new items; or behind a page, not newest first, of none that is newer than all known: the list begins with
 * the oldest.
 */
export function overflows(context: StepContext, query: UpstreamListQuery, page: ReadPage): boolean {
  const { config, state } = context
  if (query.sinceCursor !== undefined)
    return (page.hasMore === true || page.count >= config.pageSize) && !endsWithKnown(context, page)
  if (page.count === 0) return false
  if (page.fresh.length > 0) return page.nextCursor !== null || page.count >= config.pageSize
  if (page.nextCursor === null) return false
  const { latestTimeMs } = state.head
  const { toMs = Number.POSITIVE_INFINITY } = query
  // An earlier end leaves out the newest known item, whose absence shows the order.
  if (toMs <= latestTimeMs || isFalling(page.times)) return false
  // One second may have more than a page. Where polls go by cursor it costs no fill of what is known.
  return page.times.every((ms) => ms < latestTimeMs || (ms === latestTimeMs && page.latestCursor === null))
}

/**
 * True for a page, newest first, whose oldest item is known, behind a cursor that is kept because lists by date fail: what it has
 * no room for is older than that, and known too.
 */
function endsWithKnown(context: StepContext, page: ReadPage): boolean {
  const { fresh, guids, rejected } = page
  if (!haveListsFailed(context) || rejected.length > 0) return false
  const oldest = guids.at(-1)
  return (
    isFalling(plausibleTimes(context, page)) && !fresh.some(({ disclosure }) => disclosure.guid === oldest)
  )
}

/** True from the failure of a list by date until one is asked for again. */
export function haveListsFailed({ state, nowMs }: Pick<StepContext, 'state' | 'nowMs'>): boolean {
  return nowMs < state.failedChecks.againMs
}

/** True for times of which each is followed by none that is later, and one by an earlier one. */
export function isFalling(times: readonly number[]): boolean {
  return (
    times.every((ms, index) => index === 0 || ms <= (times[index - 1] ?? ms)) &&
    (times[0] ?? 0) > (times.at(-1) ?? 0)
  )
}

/**
 * True for a page behind the cursor that has nothing but known items: it may come from a cache. The fill of an overflowing
 * page reads what a cache hides.
 */
export function isRepeated(context: StepContext, query: UpstreamListQuery, page: ReadPage): boolean {
  const isKnown = page.count > 0 && hasNothingNew(page)
  return query.sinceCursor !== undefined && isKnown && !overflows(context, query, page)
}

/**
 * True when two polls by cursor in a row overflow without any unknown item: the fill of the first has read everything, so
 * another one would find nothing. Counts such polls.
 */
export function isKnownOverflow(context: StepContext, query: UpstreamListQuery, page: ReadPage): boolean {
  const { state } = context
  if (query.sinceCursor === undefined) return false
  const isKnown = hasNothingNew(page) && overflows(context, query, page)
  state.knownOverflows = isKnown ? state.knownOverflows + 1 : 0
  if (state.knownOverflows < 2) return false
  context.actions.push({
    type: 'report',
    level: 'warn',
    event: 'poll.overflow_ignored',
    fields: { reason: 'upstream reports more items again, but every item of the page is already published' },
  })
  return true
}

function hasNothingNew({ fresh, rejected }: ReadPage): boolean {
  return fresh.length + rejected.length === 0
}

/**
 * Where a fill begins, before its margin: at the earliest of the last clean poll, the newest published item, the oldest item of
 * the page and that of the cursor. No single clock is reliable, a cursor that was kept may hide late items behind what it
 * lists, and a list that stood still has answered clean polls meanwhile. The items of the page count for a day before the last
 * clean poll, or before the middle one of these items where it is older than that poll: one may be of any age.
 */
export function fillStart(
  context: StepContext,
  { query, page, lastCleanMs }: { query: UpstreamListQuery; page: ReadPage; lastCleanMs: number },
): number {
  const { head } = context.state
  const times = plausibleTimes(context, page)
  const held = head.latestTimeMs === 0 ? [] : [head.latestTimeMs]
  const cursorMs = query.sinceCursor === undefined ? null : cursorTimeOf(head)
  const heldMs = Math.min(lastCleanMs, ...held, cursorMs ?? lastCleanMs)
  const known = [...held, ...times]
  const middleMs = known.toSorted((one, other) => one - other)[known.length >> 1] ?? lastCleanMs
  const oldestMs = Math.max(Math.min(...times), Math.min(lastCleanMs, middleMs) - DAY_MS)
  return Math.min(heldMs, oldestMs)
}

/** Some guids of the page, evenly spread, whose times lie in the range: a list of it must have half of them. */
export function proofOf(
  { guids, times }: ReadPage,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): string[] {
  const within = guids.filter((_, at) => {
    const timeMs = times[at] ?? Number.NaN
    return timeMs >= fromMs && timeMs <= toMs
  })
  const step = Math.max(1, within.length / PROOF_GUIDS)
  return within.filter((_, at) => at % step < 1)
}

/** Time of the newest item of the cursor's page, ms; null before the first item of the stream: its cursor is that of older ones. */
export function cursorTimeOf({ cursorTimeMs, latestTimeMs }: Head): number | null {
  return latestTimeMs === 0 ? null : cursorTimeMs
}

/** Times of the page's items, without those that are stamped ahead. */
export function plausibleTimes(context: StepContext, { times }: ReadPage): number[] {
  const present = presentMs(context)
  return times.filter((timeMs) => !isAhead(timeMs, present))
}

/**
 * A second after the oldest item of a last page that is full: its list may have been cut off there, so what is older is asked
 * for by date. Null where dates do not lead on, or where the page has nothing that the scan had not met.
 */
export function restBelow(
  { config }: StepContext,
  after: PageScan,
  before: PageScan,
  { count, times }: ReadPage,
): number | null {
  if (before.pageNumber !== null || count < config.pageSize) return null
  if (after.guids.size === before.guids.size || !leadsOnByDate(times)) return null
  const oldestMs = Math.min(...times)
  return oldestMs < after.fromMs ? null : oldestMs + 1000
}

/**
 * True for a page, newest first, that has fewer than half of its items at its end: what is asked for up to a second after its
 * oldest item, because the end may be exclusive, is not the same page again.
 */
function leadsOnByDate(times: readonly number[]): boolean {
  const oldestMs = Math.min(...times)
  return isFalling(times) && 2 * times.filter((timeMs) => timeMs <= oldestMs + 1000).length < times.length
}

/**
 * True for a full page of what may lie behind a full last page that gets no further than that one: its items are of the second
 * that was asked up to, or of the rest of that minute, where upstream widens the end to it.
 */
export function isFullAtEnd(
  { config }: StepContext,
  { belowMs }: PageScan,
  { count, times }: ReadPage,
): boolean {
  if (belowMs === null || count < config.pageSize) return false
  return times.every((timeMs) => timeMs >= belowMs - 1000 && timeMs < belowMs + MINUTE_MS)
}

/** True where the page that was asked for is the first one of what may lie behind a full last page. */
export function isFirstOfRest({ belowMs, pageCursor, pageNumber }: PageScan): boolean {
  return belowMs !== null && pageCursor === null && pageNumber === null
}

/** True for a page inside a second that is read again from its first item: it has no more pages of known items than the scan has met. */
export function mayBeMetAgain(context: StepContext, before: PageScan, page: ReadPage): boolean {
  const items = before.seenCursors.length * context.config.pageSize
  return isFullAtEnd(context, before, page) && items < before.guids.size
}

/** A list of which nothing was read. */
export const UNREAD_LIST: PageScan['list'] = { met: new Set(), pages: 0, total: null }

/** The list with one more page of it. A total that changes tells nothing: items have moved to pages that were read. */
export function listAfter(
  { list, pageCursor, pageNumber }: PageScan,
  { keys, itemTotal = Number.POSITIVE_INFINITY }: ReadPage,
): PageScan['list'] {
  const isSame = list.total === null || list.total === itemTotal
  return {
    met: new Set([...list.met, ...keys]),
    pages: pageCursor === null || list.pages > 0 ? list.pages + 1 : 0,
    total: pageNumber === null ? null : isSame ? itemTotal : Number.POSITIVE_INFINITY,
  }
}

/**
 * The number of the page to ask for where the list may be cut off behind its last page and cannot be read on by date: answers by
 * number tell how many items it has. That page is asked for again first: there may be none behind it. Null where none is asked for,
 * or nothing more comes.
 */
export function nextNumber(
  context: StepContext,
  after: PageScan,
  before: PageScan,
  page: ReadPage,
): number | null {
  if (before.pageNumber === null) {
    const { nextCursor, count, times } = page
    const isFullLast = nextCursor === null && count >= context.config.pageSize && !leadsOnByDate(times)
    const isCut =
      isFullAtEnd(context, before, page) || (isFullLast && Math.min(...times) >= after.fromMs - 1000)
    // A scan that began with a later page has not met those before it.
    return isCut ? Math.max(1, after.list.pages) : null
  }
  if (isWholeByNumber(context, after, before)) return null
  const { met, total } = after.list
  const mayHaveMore = before.list.total === null || met.size > before.list.met.size || met.size === total
  return mayHaveMore ? before.pageNumber + 1 : null
}

/**
 * True where the page of that number is the last one, and as many items were met as it tells. Fewer pages are not enough: where
 * items were withdrawn meanwhile, others have moved to pages that were read.
 */
export function isWholeByNumber(
  { config }: StepContext,
  { list: { met, total } }: PageScan,
  { pageNumber }: PageScan,
): boolean {
  return pageNumber !== null && met.size === total && pageNumber * config.pageSize >= total
}
