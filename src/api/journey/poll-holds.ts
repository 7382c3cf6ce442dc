/** Judges whether a wait for a request was for a pause of polling, or for a log that could not be written. */
import type { PollHold, PollHolds } from '../../archive/journeys.ts'
import { durationWords } from '../../core/durations.ts'

/** What no poll could leave for. */
export const holdCauses = ['paused', 'log_unavailable'] as const
/** One of them. */
export type HoldCause = (typeof holdCauses)[number]

/** The cause of a wait, and the clause that follows "because". */
export interface HoldReason {
  cause: HoldCause
  because: string
}

/**
 * The hold that covers most of the time between these two, where that is at least half of what is to be explained; null where
 * none does. `explainedMs`: by default all of that time.
 */
export function explainingHold(
  { pause, outage }: PollHolds,
  fromMs: number,
  toMs: number,
  explainedMs = toMs - fromMs,
): HoldReason | null {
  const pausedMs = coveredMs(pause, fromMs, toMs)
  const unwritableMs = coveredMs(outage, fromMs, toMs)
  const mostMs = Math.max(pausedMs, unwritableMs)
  if (mostMs <= 0 || 2 * mostMs < explainedMs) return null
  const words = durationWords(mostMs)
  return pausedMs === mostMs
    ? { cause: 'paused', because: `an operator had paused polling for ${words} of the wait` }
    : {
        cause: 'log_unavailable',
        because: `the log could not be written for ${words} of the wait, and no poll leaves without it`,
      }
}

function coveredMs(hold: PollHold | null, fromMs: number, toMs: number): number {
  return hold === null ? 0 : Math.min(hold.toMs, toMs) - Math.max(hold.fromMs, fromMs)
}
