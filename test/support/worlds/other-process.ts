/**
 * Another process on the same key, for simulations of shared limits. Owns how it asks. Refuses to know who else does.
 */
import type { SeededChance } from '../../../src/core/chance.ts'
import type { Limits } from '../../../src/sandbox/limits.ts'

/** A job of it: so many answers, asked for at that pace; after a 429 it waits. */
export interface OtherJob {
  startMs: number
  requests: number
  everyMs: number
  waitMs: number
}

/** Returns what lets it act up to a moment, and says how many requests that were. It gives up on a spent quota. */
export function otherProcess(
  limits: Limits,
  { startMs, requests, everyMs, waitMs }: OtherJob,
): (untilMs: number) => number {
  let left = requests
  let nextMs = startMs
  return (untilMs) => {
    let asked = 0
    for (; left > 0 && nextMs < untilMs; asked++) {
      const taken = limits.take(nextMs)
      if (taken === 'ok') left -= 1
      if (taken === 'quota') left = 0
      nextMs += taken === 'ok' ? everyMs : Math.max(everyMs, waitMs)
    }
    return asked
  }
}

/** Spread evenly over orders of magnitude. */
export function lasting(low: number, high: number, chance: SeededChance): number {
  return low * (high / low) ** chance.next()
}
