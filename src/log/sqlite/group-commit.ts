/**
 * Many small writes in one transaction: a transaction waits for the disk, whatever is in it. Owns when it is run. Refuses
 * to know what is written.
 */
import type { Database } from '../../archive/db.ts'
import type { Clock } from '../../lifecycle/clock.ts'

/** Between the beginnings of two transactions, ms, at least: then a disk is waited for a hundred times a second at most. */
const APART_MS = 10

/** A queue of writes. */
export interface GroupCommit {
  /**
   * Runs `write` in the next transaction, after those that came before it, and resolves when it is durable. When any write
   * of a transaction throws, or the disk refuses it, nothing of the transaction is written and all of its callers hear why.
   */
  run(write: () => void): Promise<void>
  /** Writes everything that waits, now. Callable twice. */
  flush(): void
}

interface Waiting {
  write(): void
  resolve(): void
  reject(error: unknown): void
}

/** A queue in which nothing waits yet. */
export function createGroupCommit(db: Database, clock: Clock): GroupCommit {
  let waiting: Waiting[] = []
  let lastMs = Number.NEGATIVE_INFINITY
  let cancel: (() => void) | null = null

  const flush = (): void => {
    cancel?.()
    cancel = null
    const group = waiting
    waiting = []
    if (group.length === 0) return
    lastMs = clock.now()
    try {
      db.transaction(() => {
        for (const { write } of group) write()
      })
    } catch (error) {
      for (const { reject } of group) reject(error)
      return
    }
    for (const { resolve } of group) resolve()
  }
  return {
    run(write) {
      return new Promise((resolve, reject) => {
        waiting.push({ write, resolve, reject })
        // The clock may have been set back.
        const delayMs = Math.min(APART_MS, Math.max(0, lastMs + APART_MS - clock.now()))
        cancel ??= clock.after(delayMs, flush)
      })
    },
    flush,
  }
}
