/**
 * Whose turn it is to begin deliveries: a few for each endpoint after the other, and not many between two turns of the event
 * loop. Owns that a burst reaches every endpoint soon, and that answers are heard while requests leave, so that connections
 * are used again instead of made. Refuses to limit how many are under way: one that hangs holds up nobody.
 */
import { yieldTurn } from '../lifecycle/clock.ts'

/** Begun between two turns of the event loop: some five milliseconds of work. */
const BATCH = 32
/** Begun for one of them in its turn: what leaves together ends at about the same time, and is one write then. */
export const TURN = 4

/** Something that has deliveries to begin. */
export interface Starter {
  /** Begins one. False when it has none for now. Never throws. */
  startNext(): boolean
}

export interface StartQueue {
  /** It may have something to begin. At once where nobody waits, else behind those who do; who waits already keeps its place. */
  add(starter: Starter): void
}

/** A queue in which nobody waits. */
export function createStartQueue(): StartQueue {
  /** In the order of their turns. */
  const waiting = new Set<Starter>()
  let isRunning = false
  const startBatch = (): void => {
    let left = BATCH
    for (const starter of waiting) {
      if (left <= 0) return
      waiting.delete(starter)
      let begun = 0
      while (begun < TURN && starter.startNext()) begun += 1
      if (begun === TURN) waiting.add(starter)
      left -= Math.max(1, begun)
    }
  }
  const run = async (): Promise<void> => {
    isRunning = true
    startBatch()
    while (waiting.size > 0) {
      await yieldTurn()
      startBatch()
    }
    isRunning = false
  }
  return {
    add(starter) {
      waiting.add(starter)
      if (!isRunning) void run()
    },
  }
}
