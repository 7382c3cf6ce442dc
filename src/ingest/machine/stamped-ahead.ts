/**
 * Recognises items that are stamped ahead of upstream's present, and keeps polls seeing what follows them. Upstream orders
 * cursors by item time: a poll with the cursor of such an item would see nothing more until its time comes. So its cursor
 * is never used. Polls keep the cursor before it, and ask by date for a new one when their page fills up.
 */
import { MINUTE_MS } from '../../core/durations.ts'
import type { IngestState, ReadPage, StepContext } from './state.ts'

/** Clocks and stamps differ by seconds. An item further ahead than this is stamped ahead. */
const MARGIN_MS = MINUTE_MS
/**
 * How far the present may be wrong where both clocks are right. An item further ahead hides with its cursor whatever becomes
 * visible before its time, so its cursor waits until that time is surely over.
 */
const CURSOR_MARGIN_MS = 2000
/** Where our clock and upstream's `Date` differ by less, both are right. */
const AGREEMENT_MS = 10 * MINUTE_MS

/** Without a `Date`, so many items ahead of our clock show that the clock is slow. */
const CONSENSUS = 5

/**
 * Upstream's present, ms since 1970, by three witnesses: its `Date`, our clock, and the items. Where the clocks disagree,
 * the earlier one is right unless the items contradict it: their present is at least the newest item's time plus the time
 * since that was seen.
 */
export function presentMs({ state, nowMs }: StepContext): number {
  const dateMs = nowMs + state.skewMs
  if (doClocksAgree(state)) return Math.max(nowMs, dateMs)
  const { newest } = state
  const leastMs = newest === null ? Number.NEGATIVE_INFINITY : newest.timeMs + (dateMs - newest.seenMs)
  const [clockMs] = [Math.min(nowMs, dateMs), Math.max(nowMs, dateMs)].filter((ms) => ms >= leastMs)
  return clockMs ?? leastMs
}

function doClocksAgree({ hasDate, skewMs }: IngestState): boolean {
  return hasDate && Math.abs(skewMs) <= AGREEMENT_MS
}

/** How far the present may be wrong, ms. */
function marginMs({ state }: StepContext): number {
  return doClocksAgree(state) ? CURSOR_MARGIN_MS : MARGIN_MS
}

/** Times of the items on the last page that were ahead, as long as they are not surely over. */
function stillAhead(context: StepContext): number[] {
  const comeMs = presentMs(context) - marginMs(context)
  return context.state.aheadMs.filter((timeMs) => timeMs > comeMs)
}

/** True for an item time that lies ahead of that present. */
export function isAhead(timeMs: number, present: number): boolean {
  return timeMs > present + MARGIN_MS
}

/** Moves the items' present on by the times of items that were just read. */
export function observeTimes(context: StepContext, times: readonly number[]): void {
  const { state, nowMs } = context
  if (times.length === 0) return
  const sorted = [...times].sort((one, other) => other - one)
  const observe = (timeMs: number): void => {
    const seenMs = nowMs + state.skewMs
    const { newest } = state
    if (newest === null || timeMs > newest.timeMs + (seenMs - newest.seenMs))
      state.newest = { timeMs, seenMs }
  }
  const median = sorted[Math.floor(sorted.length / 2)]
  if (state.newest === null && median !== undefined && isWitness(context, median)) observe(median)
  const present = presentMs(context)
  const consensus = sorted[CONSENSUS - 1]
  if (!state.hasDate && consensus !== undefined && isAhead(consensus, present)) observe(consensus)
  // Items that were ahead of both clocks show nothing when their time comes: each would move the present on by the margin.
  const newest = sorted.find(
    (timeMs) => !isAhead(timeMs, presentMs(context)) && !state.aheadOfClocksMs.includes(timeMs),
  )
  if (newest !== undefined) observe(newest)
}

/** True where the first items may show the present: clocks that agree know it better. */
function isWitness(context: StepContext, medianMs: number): boolean {
  return !doClocksAgree(context.state) || !isAhead(medianMs, presentMs(context))
}

/** How a poll asks while items are listed that are stamped ahead. */
export type AheadPoll =
  /** As always. */
  | 'by_cursor'
  /** Within both dates once: the page of the cursor is half full of items that polls have seen. */
  | 'for_new_cursor'
  /** Within both dates until their time comes: items that are stamped ahead fill half of the page. */
  | 'by_date'

/** How the next poll asks. */
export function aheadPollOf(context: StepContext): AheadPoll {
  const { itemsSinceCursor } = context.state
  const half = context.config.pageSize / 2
  if (stillAhead(context).length >= half) return 'by_date'
  return itemsSinceCursor >= half ? 'for_new_cursor' : 'by_cursor'
}

/**
 * Remembers which items of a poll's page are stamped ahead. `isByDate`: the poll asked within both dates, so that its page
 * shows none of them. `isRepeated`: the page may be as old as the one before it. Its newest item may have been stamped ahead
 * then, even where its time has come now. Returns the cursor of the page; null where it may not be used.
 */
export function usableCursor(
  context: StepContext,
  page: ReadPage,
  { isByDate, isRepeated }: { isByDate: boolean; isRepeated: boolean },
): string | null {
  const { state } = context
  observeTimes(context, page.times)
  const latestMs = presentMs(context) + marginMs(context)
  const known = stillAhead(context)
  const ahead = page.times.filter((timeMs) => timeMs > latestMs || known.includes(timeMs))
  if (!isByDate) {
    const clocksMs = context.nowMs + Math.max(0, state.skewMs)
    const isAheadOfClocks = (timeMs: number): boolean =>
      state.hasDate && (timeMs > clocksMs || state.aheadOfClocksMs.includes(timeMs))
    state.aheadMs = ahead
    state.aheadOfClocksMs = page.times.filter(isAheadOfClocks)
  }
  const isUsable = ahead.length === 0 && !isRepeated
  state.itemsSinceCursor = isByDate || isUsable ? 0 : page.count
  return isUsable ? page.latestCursor : null
}

/** The latest time that a poll by date asks for, ms since 1970; undefined while no item is stamped ahead. */
export function upperBoundMs(context: StepContext): number | undefined {
  return stillAhead(context).length > 0 ? presentMs(context) + MARGIN_MS : undefined
}
