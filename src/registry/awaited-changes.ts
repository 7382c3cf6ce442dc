/**
 * That a write counts here before whoever asked for it hears of it. Owns the waiting for the change that this node reads
 * back from its own write. Refuses to write and to read: whoever keeps the rows does both.
 */

/** Writes that are waited for. */
export interface AwaitedChanges {
  /**
   * Resolves when a change of that key has been seen here after the write, or this node stops. Two writes of one key at
   * a time would share what they wait for. Throws what the write throws.
   */
  write(key: string, write: () => Promise<void>): Promise<void>
  /** A change of that key has been seen and taken. */
  seen(key: string): void
}

/** Nothing is waited for yet; nothing is any more once `stopped` aborts. */
export function createAwaitedChanges(stopped: AbortSignal): AwaitedChanges {
  const awaited = new Map<string, PromiseWithResolvers<void>>()
  stopped.addEventListener(
    'abort',
    () => {
      for (const { resolve } of awaited.values()) resolve()
    },
    { once: true },
  )
  return {
    async write(key, write) {
      const change = awaited.get(key) ?? Promise.withResolvers<void>()
      awaited.set(key, change)
      try {
        await write()
        if (!stopped.aborted) await change.promise
      } finally {
        awaited.delete(key)
      }
    },
    seen: (key) => awaited.get(key)?.resolve(),
  }
}
