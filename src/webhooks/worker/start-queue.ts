/**
 * Whose turn it is to begin deliveries: a few for each endpoint after the other, and not many between two turns of the event
 * loop, nor before the first of them are answered. Owns that a burst reaches every endpoint at once, and that answers are heard
 * while requests leave, so that connections are used again instead of made: ten thousand at once would wait for each other
 * in the receiver's queue. Refuses to limit how many are under way: one that hangs holds up the others for an instant.
 */
import { type Clock, yieldTurn } from '../../lifecycle/clock.ts'

/** Begun between two turns of the event loop: some five milliseconds of work. */
const BATCH = 32
/** Begun for one of them in its turn: what leaves together ends at about the same time, and is one write then. */
export const TURN = 4
/**
 * So many may be begun and not answered, of those that are young: receivers near by set the pace, and those that are far or
 * hang do not. By both together five thousand a second begin at the least, which is what one core sends.
 */
export const MOST_YOUNG = 256
export const YOUNG_MS = 50

/** Something that has deliveries to begin. */
export interface Starter {
  /** Begins one, and tells when it has ended; null where there is none for now. Never throws; what it rejects with is its own. */
  startNext(): Promise<unknown> | null
  /** It has begun nothing for some time: it is first, and gets one only, so that a burst reaches all before any has more. */
  hasRested(): boolean
}

export interface StartQueue {
  /**
   * It may have something to begin. At once where nobody waits, else behind those who do, of whom the rested are first; who
   * waits already keeps its place.
   */
  add(starter: Starter): void
}

/** A queue in which nobody waits. */
export function createStartQueue(clock: Clock): StartQueue {
  /** Those that have rested, in the order in which they came: before all others. */
  const rested = new Set<Starter>()
  /** The others, in the order of their turns. */
  const waiting = new Set<Starter>()
  const young = new Set<Promise<unknown>>()
  let roomCame = (): void => undefined
  let isRunning = false

  const ended = (one: Promise<unknown>): void => {
    if (young.delete(one)) roomCame()
  }
  const startTurn = (starter: Starter): number => {
    const most = starter.hasRested() ? 1 : TURN
    for (let begun = 0; begun < most; begun++) {
      const one = starter.startNext()
      if (one === null) return begun
      young.add(one)
      const over = (): void => ended(one)
      one.then(over, over)
    }
    waiting.add(starter)
    return most
  }
  const startBatch = (): void => {
    let left = BATCH
    for (const group of [rested, waiting]) {
      for (const starter of group) {
        if (left <= 0 || young.size >= MOST_YOUNG) return
        group.delete(starter)
        left -= Math.max(1, startTurn(starter))
      }
    }
  }
  /** Resolves when one of the young has ended, or all of them are young no longer. */
  const room = async (): Promise<void> => {
    const present = [...young]
    const { promise, resolve } = Promise.withResolvers<void>()
    roomCame = resolve
    const cancel = clock.after(YOUNG_MS, () => {
      for (const one of present) young.delete(one)
      resolve()
    })
    await promise
    cancel()
  }
  const run = async (): Promise<void> => {
    isRunning = true
    startBatch()
    while (rested.size + waiting.size > 0) {
      if (young.size >= MOST_YOUNG) await room()
      await yieldTurn()
      startBatch()
    }
    isRunning = false
  }
  return {
    add(starter) {
      if (!starter.hasRested()) waiting.add(starter)
      else if (!waiting.has(starter)) rested.add(starter)
      if (!isRunning) void run()
    },
  }
}
