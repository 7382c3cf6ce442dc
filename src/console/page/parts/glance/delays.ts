/** Computes how late the newest announcements were: from upstream's time to the bridge's. Pure. */
import type { DisclosureEvent, GapEvent } from '../../../../../clients/typescript/src/messages.ts'
import { millisOf } from '../times.ts'

/** Delays of the newest announcements, ms. */
export interface Delays {
  count: number
  medianMs: number
  /** Nine of ten were here sooner. */
  mostMs: number
  /** Announcements that were read later on purpose: published before the log began, as those of the first backfill. */
  older: number
}

/** Clocks that differ by more are not two views of one time: upstream's is set, or steps as in the demo. */
export const OTHER_CLOCK_MS = 60_000
/** Where upstream's clock steps, an announcement that seems older than that was here before a step. */
const STEPPED_MS = 15 * 60_000

/**
 * The delays. `aheadMs`: upstream's clock minus the bridge's, now. `beganMs`: when the first event of the log was recorded; null
 * while that is not known.
 */
export function delaysOf(
  events: readonly (DisclosureEvent | GapEvent)[],
  aheadMs: number,
  beganMs: number | null,
): Delays {
  const isStepping = Math.abs(aheadMs) >= OTHER_CLOCK_MS
  const all = events
    .filter(({ type }) => type.startsWith('disclosure.'))
    .flatMap(({ time, recordedtime }) => {
      const [publishedMs, heldMs] = [millisOf(time), millisOf(recordedtime)]
      if (publishedMs === null || heldMs === null) return []
      const delayMs = Math.max(0, heldMs + aheadMs - publishedMs)
      const isLookedUp =
        isStepping || beganMs === null ? delayMs > STEPPED_MS : publishedMs - aheadMs < beganMs
      return [{ delayMs, isLookedUp }]
    })
  const fresh = all
    .filter(({ isLookedUp }) => !isLookedUp)
    .map(({ delayMs }) => delayMs)
    .sort((one, other) => one - other)
  const at = (share: number): number =>
    fresh[Math.min(fresh.length - 1, Math.floor(fresh.length * share))] ?? 0
  return { count: fresh.length, medianMs: at(0.5), mostMs: at(0.9), older: all.length - fresh.length }
}
