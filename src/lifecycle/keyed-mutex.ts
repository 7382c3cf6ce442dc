/**
 * Serialises asynchronous work by key: work for a key starts when all earlier work for that key has ended.
 */

/** Runs `work` when all earlier work for that key has ended, successfully or not. Resolves or rejects as `work` does. */
export type KeyedMutex = <T>(key: string, work: () => Promise<T>) => Promise<T>

/** A mutex that nobody holds. */
export function createKeyedMutex(): KeyedMutex {
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
