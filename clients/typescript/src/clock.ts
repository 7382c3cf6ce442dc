/**
 * Wraps the platform's timer and random source, so that tests can replace both.
 */

/** Timers. A test passes a clock that it moves itself. */
export interface Clock {
  /** Calls back once after `delayMs`. Returns the cancel. */
  after(delayMs: number, callback: () => void): () => void
}

/** A number in [0, 1). */
export type Chance = () => number

/** The platform's timers. */
export const systemClock: Clock = {
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs)
    return () => clearTimeout(timer)
  },
}

/** The platform's random numbers. */
export const systemChance: Chance = () => Math.random()

/** Resolves after `delayMs`, or at once when the signal aborts; never rejects. */
export function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = (): void => {
      cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.after(delayMs, done)
    signal.addEventListener('abort', done)
  })
}
