/**
 * Time and chance, behind seams. Owns the platform's timer and random source. Refuses to know what anybody waits for.
 */

/** Timers. A test gives one that moves when told to. */
export interface Clock {
  /** Calls back once after `delayMs`. Returns the cancel. */
  after(delayMs: number, callback: () => void): () => void
}

/** A number in [0, 1). */
export type Chance = () => number

/** The platform's own timers. */
export const systemClock: Clock = {
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs)
    return () => clearTimeout(timer)
  },
}

/** The platform's own chance. */
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
