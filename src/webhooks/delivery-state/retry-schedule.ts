/** Computes when a failed delivery is tried again: after delays that rise from 5 seconds to a day, spread by jitter. */
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../core/durations.ts'

/** Delay after the first failed try, after the second, and so on. */
const DELAYS_MS = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  HOUR_MS,
  4 * HOUR_MS,
  10 * HOUR_MS,
  24 * HOUR_MS,
] as const

/** A delay is at most this share longer or shorter, at random. */
const JITTER = 0.1

/** Tries of a delivery in all, with the first. */
export const MOST_TRIES = DELAYS_MS.length + 1

/**
 * Milliseconds from the end of a failed try to the next; null after the last. `tries` counts those made, from 1;
 * `chance` is a number in [0, 1).
 */
export function retryDelayMs(tries: number, chance: number): number | null {
  const plainMs = DELAYS_MS[tries - 1]
  return plainMs === undefined ? null : Math.round(plainMs * (1 + JITTER * (2 * chance - 1)))
}
