/**
 * Time and chance of the machine, behind seams. Owns every call to the machine's clock, timers and random source:
 * a lint rule refuses them elsewhere. Refuses to know what anybody waits for.
 */

/** Wall-clock milliseconds since 1970 and timers on it. A test gives a clock that moves when told to. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number
  /** Calls back once after `delayMs` (at once where it is not positive). Returns the cancel. */
  after(delayMs: number, callback: () => void): () => void
}

/** A number in [0, 1). */
export type Chance = () => number

/** Longest delay a machine timer takes (2^31 − 1 ms); a longer wait is cut into such pieces. */
const LONGEST_TIMER_MS = 2_147_483_647

/** The machine's own clock. */
export const systemClock: Clock = {
  // biome-ignore lint/plugin: the one place that asks the machine for the time
  now: () => Date.now(),
  after(delayMs, callback) {
    let timer: NodeJS.Timeout
    const arm = (leftMs: number): void => {
      const pieceMs = Math.min(Math.max(0, leftMs), LONGEST_TIMER_MS)
      timer = setTimeout(() => (leftMs > pieceMs ? arm(leftMs - pieceMs) : callback()), pieceMs)
    }
    arm(delayMs)
    return () => clearTimeout(timer)
  },
}

/** The machine's own chance. */
// biome-ignore lint/plugin: the one place that asks the machine for chance
export const systemChance: Chance = () => Math.random()

/** Resolves after `delayMs`, or at once when the signal aborts; never rejects. The caller looks at the signal. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = (): void => {
      cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.after(delayMs, done)
    signal?.addEventListener('abort', done, { once: true })
  })
}

/** Gives the event loop a turn, so that a long piece of work never holds it. */
export function yieldTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
