/**
 * Wakes the readers of a log in this process after a commit, and reads a stored log in batches.
 * A wake-up carries no data: each reader continues from its own position, so a lost wake-up loses nothing.
 */
import type { Committed } from '../core/event.ts'
import { yieldToEventLoop } from './clock.ts'

/** Most events in one batch of a reader, and the characters of their items after which it has no further one. */
const BATCH = 500
const BATCH_CHARACTERS = 8 * 1024 * 1024

/** A signal that can be raised any number of times. */
export interface Wakeup {
  /** Resolves all current waits. */
  wake(): void
  /** Resolves at the next `wake`, or when the signal aborts. Never rejects. */
  wait(signal: AbortSignal): Promise<void>
}

/** A wake-up without waiters. */
export function createWakeup(): Wakeup {
  const waiting = new Set<() => void>()
  return {
    wake() {
      for (const resume of waiting) resume()
    },
    wait(signal) {
      if (signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const resume = (): void => {
          waiting.delete(resume)
          signal.removeEventListener('abort', resume)
          resolve()
        }
        waiting.add(resume)
        signal.addEventListener('abort', resume, { once: true })
      })
    },
  }
}

/** Implements `Log.follow` on a store read in batches: `read` returns committed events. */
export async function* followStore(
  read: (after: number, limit: number, mostCharacters: number) => Committed[],
  wakeup: Wakeup,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<Committed[]> {
  let position = after
  while (!signal.aborted) {
    const batch = read(position, BATCH, BATCH_CHARACTERS)
    const last = batch.at(-1)
    if (last === undefined) {
      await wakeup.wait(signal)
    } else {
      position = last.sequence
      yield batch
      await yieldToEventLoop()
    }
  }
}
