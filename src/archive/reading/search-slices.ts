/**
 * Searches of the archive take turns: however many there are, together they hold the event loop no longer than one. Without
 * it each would look for its own 15 ms before anybody else is served. Owns how long a turn of the loop may be theirs.
 * Refuses to know what is looked for, and how long one look takes: `query.ts` bounds that.
 */
import { type Clock, yieldTurn } from '../../lifecycle/clock.ts'

/** Of a turn of the event loop, ms; the look that is under way then is finished. */
const TURN_MS = 15

/** Who may look now. */
export interface SearchTurns {
  /** Looks at once where this turn of the loop has time left and nobody waits, else behind those who do. */
  take<T>(look: () => T): Promise<T>
}

/** Nobody looks yet. */
export function createSearchTurns(clock: Clock): SearchTurns {
  const waiting: (() => void)[] = []
  /** When this turn's first look began; null where there was none. */
  let beganMs: number | null = null

  /** The first look of a turn always may. */
  const hasTime = (): boolean => {
    if (beganMs !== null) return clock.now() - beganMs < TURN_MS
    beganMs = clock.now()
    void nextTurn()
    return true
  }
  const nextTurn = async (): Promise<void> => {
    await yieldTurn()
    beganMs = null
    while (waiting.length > 0 && hasTime()) waiting.shift()?.()
  }
  return {
    take: (look) =>
      new Promise((resolve, reject) => {
        const job = (): void => {
          try {
            resolve(look())
          } catch (error) {
            reject(error)
          }
        }
        if (waiting.length === 0 && hasTime()) job()
        else waiting.push(job)
      }),
  }
}
