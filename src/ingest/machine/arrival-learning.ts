/**
 * Updates the arrival profile (learnt item rates by time of day) from polls and fills, and decides when a commit saves it. A
 * fill reads, page by page, the items that a poll's full page left out.
 */
import { lagOf, learn } from '../../governor/arrivals/learning.ts'
import type { FetchedItem, PageScan, StepContext } from './state.ts'

/** Most learning time that a crash may lose, ms: each saved profile takes some 12 KB in the log. */
const SAVE_EVERY_MS = 10 * 60_000

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
