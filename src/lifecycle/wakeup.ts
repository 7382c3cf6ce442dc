/**
 * Tells followers in this process that something was committed. Owns the wait. Refuses to carry what it was: a follower
 * reads on from its own position, so nothing is lost however late it looks.
 */
import type { Committed } from '../core/event.ts'
import { yieldTurn } from './clock.ts'

/** Events handed to a follower at once. */
const BATCH = 500

export interface Wakeup {
  /** Wakes everybody who waits now. */
  wake(): void
  /** Resolves at the next wake, or when the signal aborts. Never rejects. */
  wait(signal: AbortSignal): Promise<void>
}

/** A wake-up that nobody waits for yet. */
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

/** `Log.follow` over a store that is read in batches: `read(after, limit)` gives what is committed. */
export async function* followStore(
  read: (after: number, limit: number) => Committed[],
  wakeup: Wakeup,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<Committed[]> {
  let position = after
  while (!signal.aborted) {
    const batch = read(position, BATCH)
    const last = batch.at(-1)
    if (last === undefined) {
      await wakeup.wait(signal)
    } else {
      position = last.sequence
      yield batch
      await yieldTurn()
    }
  }
}
