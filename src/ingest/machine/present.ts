/** Tells upstream's present, and which items are stamped ahead of it, by its `Date`, by our clock and by the items. */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/durations.ts'
import { lagOf } from '../../governor/arrivals/learning.ts'
import type { Timing } from '../../upstream/outcome.ts'
import type { RightClock } from '../writer-state/head.ts'
import type { IngestState, PageOutcome, ReadPage, Sighting, StepContext } from './state.ts'

/** Clocks and stamps differ by seconds. An item further ahead than this is stamped ahead. */
const MARGIN_MS = MINUTE_MS
/** Where our clock and upstream's `Date` differ by less, both are right. */
const AGREEMENT_MS = 10 * MINUTE_MS
/** Without a `Date`, so many items ahead of our clock show that it is slow. */
const CONSENSUS = 5
/** Their leads over our clock agree if they differ by no more: those of items stamped ahead are scattered. */
const AGREED_WITHIN_MS = 2 * MINUTE_MS
/** Without a `Date`, so many polls in a row whose new items all do not fit our clock show that it is slow, where others did. */
const UNFIT_POLLS = 2
/** Most items of a page are not stamped ahead, if it has so many: a clock that they are all ahead of is wrong. */
const FEWEST_OF_PAGE = 11
/** So many new items of polls are remembered: a large page of them. */
const SIGHTINGS_KEPT = 100
/** Of clocks that are this far apart, the one near to the items of the first answer is right, whatever their age. */
const FAR_APART_MS = 30 * DAY_MS
/** So many of them that fit only one clock show that it is right. */
const FEWEST_FITS = 5
/**
 * And so many times as many as fit only the other one: where a clock was set during a silence, the older items of the first page
 * after it fit the wrong one.
 */
const MAJORITY = 2

/** Upstream's `Date` has whole seconds: a smaller difference between the clocks is not measurable. */
const SMALLEST_SKEW_MS = 1500
/** A `Date` further than ten years from our clock is wrong; the market of a sandbox may run in another year. */
const LARGEST_SKEW_MS = 3653 * DAY_MS

/** What tells which clock is right. */
export type Clocks = Pick<IngestState, 'hasDate' | 'skewMs' | 'sightings' | 'unfitPolls'>

/** What this process has learnt of our clock and upstream's: it stays true when the writer or the lead is lost. */
export function clocksOf(state: IngestState) {
  const { skewMs, hasDate, newest, sightings, leadsMs, unfitPolls, sightingSkewMs, lastSeenMs } = state
  return { skewMs, hasDate, newest, sightings, leadsMs, unfitPolls, sightingSkewMs, lastSeenMs }
}

/** Our clock's present, ms since 1970, and what tells upstream's. */
interface Moment {
  readonly state: Clocks & Pick<IngestState, 'newest'>
  readonly nowMs: number
}

/**
 * Upstream's present, ms since 1970. Where the clocks disagree, new items show which one is right. Before they do, the earlier
 * one is, unless the items contradict it: their present is at least the newest item's time plus the time since that was seen.
 */
export function presentMs(moment: Moment): number {
  const { state, nowMs } = moment
  const dateMs = nowMs + state.skewMs
  const [earlierMs, laterMs] = [Math.min(nowMs, dateMs), Math.max(nowMs, dateMs)]
  if (doClocksAgree(state)) return laterMs
  if (state.hasDate === false && isOursShown(state)) return nowMs
  if (rightClock(state) !== null) return clocksMs(moment)[0]
  const leastMs = itemsPresentMs(moment)
  return [earlierMs, laterMs].find((ms) => ms >= leastMs) ?? leastMs
}

/** The least that upstream's present is by its newest item: its time, plus the time since by the clock that shows less of it. */
function itemsPresentMs({ state, nowMs }: Moment): number {
  const { newest, skewMs } = state
  if (newest === null) return Number.NEGATIVE_INFINITY
  return newest.timeMs + Math.min(nowMs + skewMs - newest.seenMs, nowMs - newest.seenOursMs)
}

/**
 * Upstream's present as far as it is sure, ms since 1970: no day is over before it. It is the earlier one of two clocks that
 * may be right, because items may be stamped ahead; not where the two are far apart and the items are near the later one.
 */
export function surePresentMs(moment: Moment): number {
  const [earliestMs, latestMs] = clocksMs(moment)
  const isFarApart = latestMs - earliestMs > FAR_APART_MS
  return isFarApart && itemsPresentMs(moment) > latestMs - FAR_APART_MS / 2 ? latestMs : earliestMs
}

/** False while it is not known which of our clock and upstream's `Date` is right, and before the first answer. */
export function isPresentKnown(state: Clocks): boolean {
  return state.hasDate !== null && skewsMs(state).length === 1
}

/**
 * The earliest that upstream's present may be: what lies ahead of it may be stamped ahead. By `Date` where our clock is close to
 * it: upstream stamps items by that clock, and ours may be minutes fast. Not by a clock that most items of a page are ahead of,
 * where they fit the other one: items ahead of both tell nothing, a page may be full of them. `times` are those of the page.
 */
export function earliestPresentMs(context: StepContext, times: readonly number[] = []): number {
  const { state } = context
  const present = presentMs(context)
  // Without a `Date` items may show that our clock is slow. The first cursor of all goes by them.
  const isTold = state.head.cursor === null || isOursSlow(state)
  if (!state.hasDate && present - context.nowMs > MARGIN_MS && isTold) return present
  const [earlierMs] = clocksMs(context)
  const laterMs = Math.max(context.nowMs, context.nowMs + state.skewMs)
  const fitting = times.filter((timeMs) => isAhead(timeMs, earlierMs) && !isAhead(timeMs, laterMs)).length
  const isEarlierWrong = fitting >= FEWEST_OF_PAGE && fitting > times.length / 2
  return Math.min(present, isEarlierWrong ? laterMs : earlierMs)
}

/** The latest that upstream's present may be: polls by date that ask up to it miss nothing. */
export function latestPresentMs(moment: Moment): number {
  return Math.max(presentMs(moment), ...clocksMs(moment))
}

/** Upstream's present by the clocks that may be right, the earlier one first. */
function clocksMs({
  state,
  nowMs,
}: Pick<StepContext, 'nowMs'> & { state: Clocks }): [earliestMs: number, latestMs: number] {
  const presents = skewsMs(state).map((skewMs) => nowMs + skewMs)
  return [Math.min(...presents), Math.max(...presents)]
}

/**
 * Upstream's clock minus ours by the clocks that may be right, ms: by `Date`, and by our own clock where the two disagree. Once
 * new items have shown which one is right it is the only one.
 */
export function skewsMs(state: Clocks): [number, ...number[]] {
  const { skewMs } = state
  if (Math.abs(skewMs) <= AGREEMENT_MS) return [skewMs]
  const right = rightClock(state)
  if (right === null) return [skewMs, 0]
  return [right === 'date' ? skewMs : 0]
}

/** True where our clock and upstream's `Date` are close enough to be both right. */
export function doClocksAgree({ hasDate, skewMs }: Pick<Clocks, 'hasDate' | 'skewMs'>): boolean {
  return hasDate === true && Math.abs(skewMs) <= AGREEMENT_MS
}

/**
 * Upstream's clock minus ours as far as it is decided, ms; null where two clocks disagree and either may be right. A `Date`
 * a month from our clock is the market's of a sandbox, until new items show otherwise.
 */
export function decidedSkewMs(state: Clocks): number | null {
  const [skewMs, otherMs] = skewsMs(state)
  return otherMs === undefined || Math.abs(skewMs) > FAR_APART_MS ? skewMs : null
}

/** Sightings that show this clock to be right, as an earlier process has found; none for null. */
export function sightingsOf(right: RightClock | null): Sighting[] {
  return right === null ? [] : Array.from({ length: FEWEST_FITS }, () => right)
}

/** Which of two clocks that disagree new items show to be right; null where they agree, and where items have not. */
export function shownClock(state: Clocks): RightClock | null {
  return Math.abs(state.skewMs) <= AGREEMENT_MS ? null : rightClock(state)
}

/** Without a `Date`: true where new items fit our clock, some of the last poll that brought any too. */
function isOursShown({ sightings, unfitPolls }: Pick<IngestState, 'sightings' | 'unfitPolls'>): boolean {
  return unfitPolls === 0 && fitsIn(sightings) >= FEWEST_FITS
}

/**
 * Without a `Date`: true where new items do not fit our clock, and hardly any did; or none any more. There one poll does not
 * tell: many items that are stamped ahead may be listed at once.
 */
function isOursSlow({ sightings, unfitPolls }: Pick<IngestState, 'sightings' | 'unfitPolls'>): boolean {
  const fits = fitsIn(sightings)
  const isSeen = fits < FEWEST_FITS || unfitPolls >= UNFIT_POLLS
  return isSeen && sightings.length - fits >= CONSENSUS
}

function fitsIn(sightings: readonly Sighting[]): number {
  return sightings.filter((seen) => seen !== 'neither').length
}

function rightClock({ sightings }: Pick<Clocks, 'sightings'>): RightClock | null {
  const [ours, date, neither] = (['ours', 'date', 'neither'] as const).map(
    (fit) => sightings.filter((seen) => seen === fit).length,
  ) as [number, number, number]
  const [most, least] = [Math.max(ours, date), Math.min(ours, date)]
  if (most < FEWEST_FITS || most < neither || most < MAJORITY * least) return null
  return date > ours ? 'date' : 'ours'
}

/** True for an item time that lies ahead of that present. */
export function isAhead(timeMs: number, present: number): boolean {
  return timeMs > present + MARGIN_MS
}

/** Learns the present from the page of a poll. `sinceMs`: the time since the good poll before; null for the first. */
export function observePoll(context: StepContext, page: ReadPage, sinceMs: number | null): void {
  const { state } = context
  const hasJumped = Math.abs(state.sightingSkewMs - state.skewMs) > AGREEMENT_MS
  // An answer without a `Date` leaves the last one's clock: which one is right may be known by items that come later.
  const isApart = Math.abs(state.skewMs) > AGREEMENT_MS
  // Without a `Date` new items show whether our clock is right.
  const isWanted = isApart || state.hasDate === false
  if (!isWanted || hasJumped) state.sightings = []
  state.sightingSkewMs = state.skewMs
  const leadsMs = page.fresh.map(({ disclosure }) => disclosure.timeMs - context.nowMs)
  state.leadsMs = state.hasDate === false ? [...state.leadsMs, ...leadsMs].slice(-SIGHTINGS_KEPT) : []
  // What the first answer lists is of any age.
  const isTelling = sinceMs !== null || Math.abs(state.skewMs) > FAR_APART_MS
  if (isTelling && isWanted) {
    const seen = page.fresh.map(({ disclosure }) => sightingOf(context, disclosure.timeMs, sinceMs))
    state.sightings = [...state.sightings, ...seen].slice(-SIGHTINGS_KEPT)
    if (seen.length > 0) state.unfitPolls = seen.every((fit) => fit === 'neither') ? state.unfitPolls + 1 : 0
  }
  observeTimes(context, page.times)
}

/** Which clock a new item fits, since the good poll before; `sinceMs` null: there was none, and it is of any age. */
function sightingOf({ state, nowMs }: StepContext, timeMs: number, sinceMs: number | null): Sighting {
  // Some plans show every item late.
  const oldestMs = sinceMs === null ? FAR_APART_MS / 2 : sinceMs + lagOf(state.profile) + MARGIN_MS
  const fits = (clockMs: number): boolean => !isAhead(timeMs, clockMs) && timeMs >= clockMs - oldestMs
  const [isOurs, isDate] = [fits(nowMs), fits(nowMs + state.skewMs)]
  if (isOurs && isDate) return 'either'
  return isOurs ? 'ours' : isDate ? 'date' : 'neither'
}

/** Moves the items' present on by the times of items that were just read. */
export function observeTimes(context: StepContext, times: readonly number[]): void {
  const { state, nowMs } = context
  if (times.length === 0) return
  const sorted = [...times].sort((one, other) => other - one)
  const observe = (timeMs: number): void => {
    if (timeMs > itemsPresentMs(context))
      state.newest = { timeMs, seenMs: nowMs + state.skewMs, seenOursMs: nowMs }
  }
  for (const timeMs of contradictionsOf(context, sorted))
    if (timeMs !== undefined && isAhead(timeMs, presentMs(context))) observe(timeMs)
  const newest = sorted.find((timeMs) => !isAhead(timeMs, presentMs(context)))
  if (newest !== undefined) observe(newest)
}

/** Times that the present has surely come to, where no clock is known to be right; of times newest first. */
function contradictionsOf({ state, nowMs }: StepContext, times: readonly number[]): (number | undefined)[] {
  if (!state.hasDate) {
    if (isOursShown(state)) return []
    const leadMs = agreedLeadMs(state.leadsMs)
    return [times[CONSENSUS - 1], leadMs === undefined ? undefined : nowMs + leadMs]
  }
  const isKnown = doClocksAgree(state) || rightClock(state) !== null
  if (isKnown || times.length < FEWEST_OF_PAGE) return []
  return [times[times.length >> 1]]
}

/**
 * How far the present is ahead of our clock at least, ms, as enough new items agree. Those of one source may be stamped ahead by
 * the same hour: so most of all must be ahead.
 */
function agreedLeadMs(leadsMs: readonly number[]): number | undefined {
  const falling = leadsMs.toSorted((one, other) => other - one)
  if ((falling[falling.length >> 1] ?? 0) <= MARGIN_MS) return undefined
  return falling
    .slice(CONSENSUS - 1)
    .find((leadMs, index) => (falling[index] ?? leadMs) - leadMs <= AGREED_WITHIN_MS)
}

/**
 * Upstream's time of an answer by each clock that may be right, ms since 1970. A `Date` more than a day from our clock is the
 * market's where the upstream is a sandbox: it counts as right until new items show otherwise.
 */
export function upstreamTimesOf(state: Clocks, answer: Timing): { earliestMs: number; latestMs: number } {
  const skews = Math.abs(state.skewMs) > DAY_MS ? skewsMs(state).slice(0, 1) : skewsMs(state)
  const times = skews.map((skewMs) =>
    skewMs === state.skewMs ? upstreamTimeOf(answer) : answer.endedMs + skewMs,
  )
  return { earliestMs: Math.min(...times), latestMs: Math.max(...times) }
}

/** Upstream's time of an answer, by its `Date` where that is plausible, else by our clock; ms since 1970. */
function upstreamTimeOf(answer: Timing): number {
  const { serverMs, endedMs } = answer
  return hasPlausibleDate(answer) ? (serverMs ?? endedMs) : endedMs
}

/** True for an answer whose `Date` is plausible. */
function hasPlausibleDate({ serverMs, endedMs }: Timing): boolean {
  return serverMs !== null && Math.abs(serverMs - endedMs) <= LARGEST_SKEW_MS
}

/** Upstream's clock minus ours, ms: 0 where they agree, null where the answer has no `Date`. */
function skewOf(answer: Timing): number | null {
  if (answer.serverMs === null) return null
  const skewMs = upstreamTimeOf(answer) + 500 - answer.endedMs
  return Math.abs(skewMs) < SMALLEST_SKEW_MS ? 0 : skewMs
}

/** Upstream's present time, ms since 1970; before the first good poll the time of the newest item. */
export function upstreamNowMs({ state, nowMs }: StepContext): number {
  const { lastGoodPollMs, head } = state
  return lastGoodPollMs === null && head.latestTimeMs > 0 ? head.latestTimeMs : nowMs + skewsMs(state)[0]
}

/** Takes over upstream's clock from a good answer. */
export function observeClock({ state }: StepContext, answer: PageOutcome): void {
  if (answer.kind !== 'ok') return
  state.skewMs = skewOf(answer) ?? state.skewMs
  state.hasDate = hasPlausibleDate(answer)
}

/** The time since a good poll, by our clock, ms; 0 where there was none. Also right where the clock that dated it was not. */
export function sinceMs({ nowMs }: StepContext, lastGoodPollMs: number | null): number {
  return lastGoodPollMs === null ? 0 : Math.max(0, nowMs - lastGoodPollMs)
}

/**
 * When the last clean poll began. That poll may have been dated by a clock that has been shown to be wrong since: it is not
 * later than the time since the last good poll says, unless our clock was set meanwhile.
 */
export function lastCleanOf(
  context: StepContext,
  startMs: number,
  { lastGoodPollMs, sightingSkewMs }: Pick<IngestState, 'lastGoodPollMs' | 'sightingSkewMs'>,
): number {
  const { state } = context
  const { lastCleanPollMs } = state.head
  if (lastCleanPollMs === null) return startMs
  const wasClockSet = Math.abs(state.skewMs - sightingSkewMs) > HOUR_MS
  if (wasClockSet && lastCleanPollMs <= startMs) return lastCleanPollMs
  const agoMs = sinceMs(context, lastGoodPollMs)
  // `Date` has whole seconds: what was learnt up to that poll is not learnt twice.
  return lastCleanPollMs > startMs - agoMs + MINUTE_MS ? startMs - agoMs : lastCleanPollMs
}
