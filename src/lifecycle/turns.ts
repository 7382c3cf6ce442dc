/**
 * Work on one thing at a time: what is asked for while something is under way for the same key waits for its end. Owns
 * the order. Refuses to know what is done.
 */

/** Does the work when everything asked for before with that key has ended, well or not; the result is the work's own. */
export type InTurn = <T>(key: string, work: () => Promise<T>) => Promise<T>

/** Nothing is under way. */
export function createTurns(): InTurn {
  const last = new Map<string, Promise<unknown>>()
  return async (key, work) => {
    const before = last.get(key) ?? Promise.resolve()
    const own = before.then(work)
    const ended = own.catch(() => undefined)
    last.set(key, ended)
    try {
      return await own
    } finally {
      if (last.get(key) === ended) last.delete(key)
    }
  }
}
