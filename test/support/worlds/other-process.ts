/**
 * Simulates another process that sends requests with the same key.
 */
import type { SeededChance } from '../../../src/core/chance.ts'
import type { Limits } from '../../../src/sandbox/limits.ts'

/** A job: the number of successful responses it needs, its pace, and its wait after a 429. */
export interface OtherJob {
  startMs: number
  requests: number
  everyMs: number
  waitMs: number
}

/** Returns a function that runs the job up to a moment and returns how many requests it sent. A spent quota ends it. */
export function otherProcess(
  limits: Pick<Limits, 'take'>,
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

/** A draw that is uniform over orders of magnitude. */
export function lasting(low: number, high: number, chance: SeededChance): number {
  return low * (high / low) ** chance.next()
}
