/**
 * Provides the only access to the machine's clock, timers and random source, behind interfaces that tests replace.
 * A lint rule rejects direct calls elsewhere.
 */

/** Wall-clock time and timers. Tests use a clock that they advance themselves. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number
  /** Calls back once after `delayMs` (as soon as possible if not positive). Returns a function that cancels the timer. */
  after(delayMs: number, callback: () => void): () => void
}

/** A random source: each call returns a number in [0, 1). */
export type Chance = () => number

/** Longest delay of a Node timer (2^31 − 1 ms); a longer one is split. */
const LONGEST_TIMER_MS = 2_147_483_647

/** The clock of the machine. */
export const systemClock: Clock = {
  // biome-ignore lint/plugin: the only place that reads the system time
  now: () => Date.now(),
  after(delayMs, callback) {
    if (delayMs <= LONGEST_TIMER_MS) {
      const timer = setTimeout(callback, Math.max(0, delayMs))
      return () => clearTimeout(timer)
    }
    let cancel = systemClock.after(LONGEST_TIMER_MS, () => {
      cancel = systemClock.after(delayMs - LONGEST_TIMER_MS, callback)
    })
    return () => cancel()
  },
}

/** The random source of the machine. */
// biome-ignore lint/plugin: the only place that reads system randomness
export const systemChance: Chance = () => Math.random()

/** Resolves after `delayMs`, or at once when the signal aborts; never rejects. The caller checks the signal. */
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

/** Resolves when the work does, after `limitMs`, or when the signal aborts; then the signal of the work aborts too. */
export async function within(
  clock: Clock,
  limitMs: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const enough = new AbortController()
  const either = AbortSignal.any([signal, enough.signal])
  try {
    await Promise.race([work(either), sleep(clock, limitMs, either)])
  } finally {
    enough.abort()
  }
}

/** Resolves in the next iteration of the event loop, so that long work does not block it. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
