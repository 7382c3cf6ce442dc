/** Estimates upstream's present time from its `Date` headers, and how far its clock is ahead of ours. */
import { DAY_MS } from '../../core/durations.ts'
import type { Timing } from '../../upstream/outcome.ts'
import { type Clocks, skewsMs } from './present.ts'
import type { PageOutcome, StepContext } from './state.ts'

/** Upstream's `Date` has whole seconds: a smaller difference between the clocks is not measurable. */
const SMALLEST_SKEW_MS = 1500
/** A `Date` further than ten years from our clock is wrong; the market of a sandbox may run in another year. */
const LARGEST_SKEW_MS = 3653 * DAY_MS

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
