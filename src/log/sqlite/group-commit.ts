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
   * Runs `write` in the next transaction, after those that came before it, and resolves when it is durable. A transaction
   * of several that fails is undone, and each of its writes is run once more by itself: a caller hears of no fault but that
   * of its own write, so that a large one which finds no room takes no small one with it.
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

  const runTogether = (group: readonly Waiting[]): void =>
    db.transaction(() => {
      for (const { write } of group) write()
    })
  const runAlone = (one: Waiting): void => {
    try {
      runTogether([one])
    } catch (error) {
      one.reject(error)
      return
    }
    one.resolve()
  }
  const flush = (): void => {
    cancel?.()
    cancel = null
    const group = waiting
    waiting = []
    if (group.length === 0) return
    lastMs = clock.now()
    try {
      runTogether(group)
    } catch (error) {
      const [first, ...others] = group
      if (others.length === 0) first?.reject(error)
      else for (const one of group) runAlone(one)
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
