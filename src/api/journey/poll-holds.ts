/** Judges whether a wait for a request was for a pause of polling, or for a log that could not be written. */
import type { PollHold, PollHolds } from '../../archive/journeys.ts'
import { durationWords } from '../../core/durations.ts'

/** What no poll could leave for. */
export const holdCauses = ['paused', 'log_unavailable'] as const
/** One of them. */
export type HoldCause = (typeof holdCauses)[number]

/** The hold that covers most of a wait. */
export interface LongestHold {
  cause: HoldCause
  because: string
  /** How much of the wait it covers, ms. */
  coveredMs: number
}

/** The hold that covers most of the time between these two; null where none covers any. */
export function longestHold({ pause, outage }: PollHolds, fromMs: number, toMs: number): LongestHold | null {
  const pausedMs = coveredMs(pause, fromMs, toMs)
  const unwritableMs = coveredMs(outage, fromMs, toMs)
  if (Math.max(pausedMs, unwritableMs) <= 0) return null
  if (pausedMs >= unwritableMs) {
    const because = `an operator had paused polling for ${durationWords(pausedMs)} of the wait`
    return { cause: 'paused', because, coveredMs: pausedMs }
  }
  const because = `the log could not be written for ${durationWords(unwritableMs)} of the wait, and no poll leaves without it`
  return { cause: 'log_unavailable', because, coveredMs: unwritableMs }
}

function coveredMs(hold: PollHold | null, fromMs: number, toMs: number): number {
  return hold === null ? 0 : Math.min(hold.toMs, toMs) - Math.max(hold.fromMs, fromMs)
}
