/**
 * Schedules the overlap re-scan: after a burst of new items, the poller reads the time range of the burst again. The re-scan
 * finds items that became visible late, at a position that the poll cursor had already passed.
 */
import type { OverlapRescan } from '../writer-state/head.ts'
import type { StepContext } from './state.ts'

/**
 * So many items within BURST_MS are a burst, whatever the poll interval. Outside the bursts of the morning at most 45 items
 * a minute were measured.
 */
const BURST_ITEMS = 20
const BURST_MS = 20_000
/** The re-scan waits for this long without a burst; items were measured to arrive up to 20 s behind their neighbours. */
const QUIET_MS = 20_000
/** The range of the re-scan begins this long before the first poll of the burst. */
const MARGIN_MS = 2 * 60_000
/** A re-scan that would cover more than this is no longer postponed. */
const LONGEST_RANGE_MS = 30 * 60_000

/**
 * The overlap re-scan that is pending after a poll with so many new items, postponed while the burst goes on. Null where
 * nothing changes, or the plan allows no re-scans. `lastCleanMs` is when the poll before began.
 */
export function rescanAfterPoll(
  context: StepContext,
  items: number,
  overflowed: boolean,
  lastCleanMs: number,
): OverlapRescan | null {
  const isBurst = recentArrivals(context, items) >= BURST_ITEMS && items > 0
  if (context.config.rounds === null || (!isBurst && !overflowed)) return null
  const pending = context.state.head.sweep
  const fromMs = Math.min(pending?.fromMs ?? Number.POSITIVE_INFINITY, lastCleanMs - MARGIN_MS)
  const isLong = pending !== null && lastCleanMs - fromMs > LONGEST_RANGE_MS
  return { fromMs, dueAtMs: isLong ? pending.dueAtMs : context.nowMs + QUIET_MS, attempts: 0 }
}

/** Items that polls brought within BURST_MS, these included. */
function recentArrivals({ state, nowMs }: StepContext, items: number): number {
  const recent = state.arrivals.filter(({ atMs }) => atMs > nowMs - BURST_MS && atMs <= nowMs)
  state.arrivals = items === 0 ? recent : [...recent, { atMs: nowMs, items }]
  return state.arrivals.reduce((sum, arrival) => sum + arrival.items, 0)
}
