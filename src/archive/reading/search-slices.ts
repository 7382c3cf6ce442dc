/**
 * Shares one time slice per event-loop tick among all searches of the archive: many searches together block the loop no
 * longer than one. It does not interrupt a search; `query.ts` bounds how long one call takes.
 */
import { type Clock, yieldToEventLoop } from '../../lifecycle/clock.ts'

/** Milliseconds of one tick in which a search may begin; the one that runs then is finished. */
const SLICE_MS = 15

/** Runs searches within the time slice of a tick. */
export type SearchSlices = ReturnType<typeof createSearchSlices>

/** Time slices that no search uses yet. */
export function createSearchSlices(clock: Clock) {
  const waiting: (() => void)[] = []
  /** When this tick's first search began; null where there was none. */
  let beganMs: number | null = null

  /** The first search of a tick always has time. */
  const hasTime = (): boolean => {
    if (beganMs !== null) return clock.now() - beganMs < SLICE_MS
    beganMs = clock.now()
    void nextSlice()
    return true
  }
  const nextSlice = async (): Promise<void> => {
    await yieldToEventLoop()
    beganMs = null
    while (waiting.length > 0 && hasTime()) waiting.shift()?.()
  }
  return {
    /** Runs `search` now if this tick has time left and no search waits, else after those that wait. */
    run: <T>(search: () => T): Promise<T> =>
      new Promise((resolve, reject) => {
        const job = (): void => {
          try {
            resolve(search())
          } catch (error) {
            reject(error)
          }
        }
        if (waiting.length === 0 && hasTime()) job()
        else waiting.push(job)
      }),
  }
}
