/**
 * Keeps polls seeing what follows items that are stamped ahead of upstream's present. Upstream orders cursors by item time: a
 * poll with the cursor of such an item would see nothing more until its time comes. So its cursor is never used. Polls keep
 * the cursor before it, and ask by date for a new one when their page fills up.
 */
import { MINUTE_MS } from '../../core/durations.ts'
import type { UpstreamListQuery } from '../../upstream/list-parameters.ts'
import type { Head } from '../writer-state/head.ts'
import { haveListsFailed } from './overflow.ts'
import {
  doClocksAgree,
  earliestPresentMs,
  isAhead,
  latestPresentMs,
  observePoll,
  shownClock,
} from './present.ts'
import type { ReadPage, StepContext } from './state.ts'

/** Where no clock is known to be right, the present may be wrong by so much. Polls by date ask for as much more. */
const MARGIN_MS = MINUTE_MS
/**
 * An item further ahead hides with its cursor whatever becomes visible before its time, so its cursor waits until that time is
 * surely over. The present may be wrong by so much where both clocks are right, or upstream's `Date`, which goes by the clock
 * that stamps items.
 */
const CURSOR_MARGIN_MS = 2000

/** Clocks that agree may both be wrong by so much: items that are ahead of them by less may be those of now. */
const LITTLE_AHEAD_MS = 10 * MINUTE_MS

/** How long after its time an item is surely not ahead any more, ms. */
function marginMs({ state }: StepContext): number {
  return doClocksAgree(state) || shownClock(state) === 'date' ? CURSOR_MARGIN_MS : MARGIN_MS
}

/** Times of the items on the last page that were ahead, as long as they are not surely over. */
function stillAhead(context: StepContext): number[] {
  const comeMs = earliestPresentMs(context) - marginMs(context)
  return context.state.aheadMs.filter((timeMs) => timeMs > comeMs)
}

/** How a poll asks while items are listed that are stamped ahead. */
export type AheadPoll =
  /** As always. */
  | 'by_cursor'
  /** Within both dates once: the page of the cursor is half full of items that polls have seen. */
  | 'for_new_cursor'
  /** Within both dates until their time comes: items that are stamped ahead fill half of the page. */
  | 'by_date'

/**
 * How the next poll asks. After failures it first shows the present: one for a new cursor may end before it, and the request
 * for the rest may be refused again.
 */
export function aheadPollOf(context: StepContext): AheadPoll {
  const { head, itemsSinceCursor, upstream } = context.state
  const half = context.config.pageSize / 2
  if (stillAhead(context).length >= half) return 'by_date'
  if (itemsSinceCursor < half) return 'by_cursor'
  // Its page still shows the newest items. What it has no room for is known, or an open gap.
  if (head.cursor !== null && haveListsFailed(context)) return 'by_cursor'
  return upstream !== 'ok' && isForWhatIsOver(context) ? 'by_cursor' : 'for_new_cursor'
}

/**
 * Remembers which items of a poll's page are stamped ahead. `isByDate`: the poll asked within both dates, so that its page
 * shows none of them. `isRepeated`: the page may be as old as the one before it. Its newest item may have been stamped ahead
 * then, even where its time has come now. `sinceMs`: the time since the good poll before; null for the first. Returns the
 * cursor of the page; null where it may not be used: one kept too long costs a longer page, one taken too early loses items.
 */
export function usableCursor(
  context: StepContext,
  page: ReadPage,
  { isByDate, isRepeated, sinceMs }: { isByDate: boolean; isRepeated: boolean; sinceMs: number | null },
): string | null {
  const { state } = context
  observePoll(context, page, sinceMs)
  const latestMs = earliestPresentMs(context, page.times) + CURSOR_MARGIN_MS
  const known = stillAhead(context)
  const ahead = page.times.filter((timeMs) => timeMs > latestMs || known.includes(timeMs))
  const isUsable = ahead.length === 0 && !isRepeated
  // Where upstream gives no cursor there is none to ask for, and a few items that are stamped ahead hide nothing.
  const isInTheWay = page.latestCursor !== null || ahead.length >= context.config.pageSize / 2
  if (!isByDate) state.aheadMs = isInTheWay ? ahead : []
  state.itemsSinceCursor = isByDate || isUsable || !isInTheWay ? 0 : page.count
  return isUsable ? page.latestCursor : null
}

/**
 * True where the cursor is that of items ahead of our clock and of `Date`: upstream's own clock, which had stamped them too, has
 * been set back. Polls with it may see nothing until that time. Without a `Date` the present may be hours ahead of our clock.
 */
export function isCursorAhead(context: StepContext): boolean {
  const { head, hasDate } = context.state
  return (
    hasDate === true && head.cursorTimeMs !== null && isAhead(head.cursorTimeMs, latestPresentMs(context))
  )
}

/** The latest time that a poll by date asks for, ms since 1970; undefined while no item is stamped ahead. */
export function upperBoundMs(context: StepContext, how: AheadPoll): number | undefined {
  if (how === 'for_new_cursor' && isForWhatIsOver(context))
    return earliestPresentMs(context) - CURSOR_MARGIN_MS
  return stillAhead(context).length > 0 ? latestPresentMs(context) + MARGIN_MS : undefined
}

/**
 * True where a poll for a new cursor asks only for what is surely over: our clock and `Date` are a little apart, or items are
 * stamped a little ahead of both. A later item might be stamped ahead, and then no page would give a cursor while items come.
 */
function isForWhatIsOver(context: StepContext): boolean {
  const latestMs = latestPresentMs(context)
  const isLittleAhead = context.state.aheadMs.some((timeMs) => timeMs < latestMs + LITTLE_AHEAD_MS)
  const isUnsure = isLittleAhead || latestMs - earliestPresentMs(context) > CURSOR_MARGIN_MS
  return doClocksAgree(context.state) && isUnsure
}

/**
 * Where the page of a poll ends, ms since 1970, if that is before upstream's present; else null. The poll asked only for what is
 * surely over, or its answer shows that our clock had been set back, or that its cursor is ahead: then it shows nothing that was
 * listed since the poll before, at `lastCleanMs`. The next poll shows the rest at once, by date.
 */
export function endBeforePresentMs(
  context: StepContext,
  { sinceCursor, toMs }: UpstreamListQuery,
  lastCleanMs: number,
): number | null {
  if (sinceCursor !== undefined) return isCursorAhead(context) ? lastCleanMs : null
  return toMs !== undefined && toMs < latestPresentMs(context) ? toMs : null
}

/**
 * The fields of the head for a cursor and the page that gave it. The time stays where that page listed nothing; it is not earlier
 * than that of the cursor before, because a page may list nothing but an old item.
 */
export function headOfCursor(
  cursor: string | null,
  { times }: ReadPage,
  beforeMs: number | null = null,
): Pick<Head, 'cursor'> & Partial<Pick<Head, 'cursorTimeMs'>> {
  if (cursor === null || times.length === 0) return { cursor }
  return { cursor, cursorTimeMs: Math.max(beforeMs ?? Number.NEGATIVE_INFINITY, ...times) }
}
