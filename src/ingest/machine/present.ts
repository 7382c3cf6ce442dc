/** Tells upstream's present, and which items are stamped ahead of it, by its `Date`, by our clock and by the items. */
import { MINUTE_MS } from '../../core/durations.ts'
import type { IngestState, ReadPage, Sighting, StepContext } from './state.ts'

/** Clocks and stamps differ by seconds. An item further ahead than this is stamped ahead. */
const MARGIN_MS = MINUTE_MS
/** Where our clock and upstream's `Date` differ by less, both are right. */
const AGREEMENT_MS = 10 * MINUTE_MS
/**
 * So many items ahead of the present move it on where no clock is known to be right: without a `Date`, and where items fit
 * neither clock. More of them where there is a `Date`, which is mostly right.
 */
const CONSENSUS = { withoutDate: 5, withDate: 11 }
/** So many new items of polls are remembered: a large page of them. */
const SIGHTINGS_KEPT = 100
/** So many of them that fit only one clock show that it is right. */
const FEWEST_FITS = 5

/**
 * Upstream's present, ms since 1970. Where the clocks disagree, new items show which one is right. Before they do, the earlier
 * one is, unless the items contradict it: their present is at least the newest item's time plus the time since that was seen.
 */
export function presentMs(context: StepContext): number {
  const { state, nowMs } = context
  const dateMs = nowMs + state.skewMs
  const [earlierMs, laterMs] = [Math.min(nowMs, dateMs), Math.max(nowMs, dateMs)]
  if (doClocksAgree(state)) return laterMs
  const right = rightClock(state)
  if (right !== null) return right === 'later' ? laterMs : earlierMs
  const { newest } = state
  const leastMs = newest === null ? Number.NEGATIVE_INFINITY : newest.timeMs + (dateMs - newest.seenMs)
  return [earlierMs, laterMs].find((ms) => ms >= leastMs) ?? leastMs
}

/** The latest that upstream's present may be, ms since 1970: by the later clock until one is known to be right. */
export function latestPresentMs(context: StepContext): number {
  const { state, nowMs } = context
  const present = presentMs(context)
  const isKnown = doClocksAgree(state) || rightClock(state) !== null
  return isKnown ? present : Math.max(present, nowMs, nowMs + state.skewMs)
}

/**
 * Upstream's clock minus ours by the clocks that may be right, ms: by `Date`, and by our own clock where the two disagree. Once
 * new items have shown which one is right it is the only one.
 */
export function skewsMs({ state }: StepContext): [number, ...number[]] {
  const { skewMs } = state
  if (Math.abs(skewMs) <= AGREEMENT_MS) return [skewMs]
  const right = rightClock(state)
  if (right === null) return [skewMs, 0]
  return [(right === 'later') === skewMs > 0 ? skewMs : 0]
}

/** True where our clock and upstream's `Date` are close enough to be both right. */
export function doClocksAgree({ hasDate, skewMs }: IngestState): boolean {
  return hasDate && Math.abs(skewMs) <= AGREEMENT_MS
}

/** Which of two clocks that disagree new items show to be right; null where too few have shown it. */
function rightClock({ sightings }: IngestState): 'earlier' | 'later' | null {
  const count = (fit: Sighting): number => sightings.filter((seen) => seen === fit).length
  const [earlier, later] = [count('earlier'), count('later')]
  if (Math.max(earlier, later) < FEWEST_FITS) return null
  return later > earlier ? 'later' : 'earlier'
}

/** True for an item time that lies ahead of that present. */
export function isAhead(timeMs: number, present: number): boolean {
  return timeMs > present + MARGIN_MS
}

/** Learns the present from the page of a poll. `sinceMs`: the time since the poll before; null for the first. */
export function observePoll(context: StepContext, page: ReadPage, sinceMs: number | null): void {
  const { state } = context
  if (!state.hasDate || Math.abs(state.sightingSkewMs - state.skewMs) > AGREEMENT_MS) state.sightings = []
  state.sightingSkewMs = state.skewMs
  // What the first answer lists is of any age.
  if (state.hasDate && sinceMs !== null && !doClocksAgree(state)) {
    const seen = page.fresh.map(({ disclosure }) => sightingOf(context, disclosure.timeMs, sinceMs))
    state.sightings = [...state.sightings, ...seen].slice(-SIGHTINGS_KEPT)
  }
  observeTimes(context, page.times)
}

function sightingOf({ state, nowMs }: StepContext, timeMs: number, sinceMs: number): Sighting {
  const fits = (clockMs: number): boolean =>
    !isAhead(timeMs, clockMs) && timeMs >= clockMs - sinceMs - MARGIN_MS
  const isEarlier = fits(nowMs + Math.min(0, state.skewMs))
  const isLater = fits(nowMs + Math.max(0, state.skewMs))
  if (isEarlier && isLater) return 'either'
  return isEarlier ? 'earlier' : isLater ? 'later' : 'neither'
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
  const present = presentMs(context)
  const consensus = sorted[(state.hasDate ? CONSENSUS.withDate : CONSENSUS.withoutDate) - 1]
  const isClockKnown = doClocksAgree(state) || state.sightings.some((fit) => fit !== 'neither')
  if (!isClockKnown && consensus !== undefined && isAhead(consensus, present)) observe(consensus)
  const newest = sorted.find((timeMs) => !isAhead(timeMs, presentMs(context)))
  if (newest !== undefined) observe(newest)
}
