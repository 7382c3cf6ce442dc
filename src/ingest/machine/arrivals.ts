/**
 * What newly arrived items change beside the log. The arrival profile (learnt item rates by time of day) learns from polls and
 * fills, which read page by page what a poll's full page left out. After a burst its time range is read again: the overlap
 * re-scan finds items that became visible late, at a position that the poll cursor had already passed.
 */
import { lagOf, learn } from '../../governor/arrivals/learning.ts'
import type { OverlapRescan } from '../writer-state/head.ts'
import type { FetchedItem, PageScan, StepContext } from './state.ts'

/** Most learning time that a crash may lose, ms: each saved profile takes some 12 KB in the log. */
const SAVE_EVERY_MS = 10 * 60_000

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
 * Learns from the items of a poll since the last one (`fromMs` to `toMs`, upstream's clock). An overflowing page is complete
 * only from its oldest item on; the result is the time before that, which the fill reads, else null.
 */
export function learnFromPoll(
  context: StepContext,
  poll: { fromMs: number; toMs: number; items: readonly FetchedItem[]; overflowed: boolean },
): { fromMs: number; toMs: number } | null {
  const { state, config } = context
  const { fromMs, toMs, overflowed } = poll
  const timesMs = poll.items.map(({ disclosure }) => disclosure.timeMs)
  const oldestMs = timesMs.reduce((oldest, timeMs) => Math.min(oldest, timeMs), toMs) + lagOf(state.profile)
  const knownMs = overflowed ? Math.min(toMs, Math.max(fromMs, oldestMs)) : fromMs
  const observation = { fromMs: knownMs, toMs, timesMs, atLeast: false }
  state.profile = learn(state.profile, config.calendar, observation)
  return overflowed && knownMs > fromMs ? { fromMs, toMs: knownMs } : null
}

/** Learns from what a fill found in the time that its poll had left out; `atLeast` where the fill was postponed. */
export function learnFromFill(context: StepContext, { unread, latest }: PageScan, atLeast: boolean): void {
  if (unread === null) return
  const { state, config } = context
  const lagMs = lagOf(state.profile)
  const timesMs = [...latest.values()]
    .map(({ disclosure }) => disclosure.timeMs)
    .filter((timeMs) => timeMs + lagMs < unread.toMs)
  state.profile = learn(state.profile, config.calendar, { ...unread, timesMs, atLeast })
}

/** The profile to save with a commit; undefined where the saved one is recent enough. */
export function savedProfile({
  state,
}: StepContext): Pick<StepContext['state']['head'], 'profile'> | undefined {
  const { profile, head } = state
  const savedMs = head.profile?.learntToMs ?? Number.NEGATIVE_INFINITY
  return Math.abs(profile.learntToMs - savedMs) >= SAVE_EVERY_MS ? { profile } : undefined
}

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
