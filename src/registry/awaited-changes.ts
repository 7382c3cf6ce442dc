/**
 * Makes a write to a table of the log resolve only once this node has read the change back. The caller of the write
 * therefore sees its own change.
 */

/** Writes that are waited for. */
export interface AwaitedChanges {
  /**
   * Resolves when a change of that key has been seen here after the call, or this node stops. Of two writes of one key at a
   * time the change of either counts for both, the failure of one not for the other. Throws what the write throws.
   */
  write(key: string, write: () => Promise<void>): Promise<void>
  /** A change of that key has been seen and taken. */
  seen(key: string): void
}

/** Nothing is waited for yet; nothing is any more once `stopped` aborts. */
export function createAwaitedChanges(stopped: AbortSignal): AwaitedChanges {
  const awaited = new Map<string, Set<() => void>>()
  const seen: AwaitedChanges['seen'] = (key) => {
    for (const resolve of awaited.get(key) ?? []) resolve()
  }
  stopped.addEventListener(
    'abort',
    () => {
      for (const key of awaited.keys()) seen(key)
    },
    { once: true },
  )
  return {
    async write(key, write) {
      const change = Promise.withResolvers<void>()
      const own = awaited.get(key) ?? new Set()
      awaited.set(key, own.add(change.resolve))
      try {
        await write()
        if (!stopped.aborted) await change.promise
      } finally {
        own.delete(change.resolve)
        if (own.size === 0) awaited.delete(key)
      }
    },
    seen,
  }
}
