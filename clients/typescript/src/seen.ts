/**
 * Remembers the ids of the last events, so that a repeated event is dropped.
 */

/** Remembers the last ids. */
export interface Seen {
  /** True the first time; false for an id among the last ones. */
  isNew(id: string): boolean
}

/** Remembers the last `limit` ids. */
export function createSeen(limit: number): Seen {
  // A set iterates in insertion order.
  const ids = new Set<string>()
  return {
    isNew(id) {
      if (ids.has(id)) return false
      ids.add(id)
      if (ids.size > limit) {
        const [oldest = id] = ids
        ids.delete(oldest)
      }
      return true
    },
  }
}
