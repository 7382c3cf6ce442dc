/** Groups small writes into one SQLite transaction, soon after the first of them; slow disks get longer pauses in between. */

import type { Clock } from '../lifecycle/clock.ts'
import type { Database } from '../storage/database.ts'

/** Between the beginnings of two transactions, ms, at least: then a disk is waited for a hundred times a second at most. */
export const APART_MS = 10
/** The same at most: who sends on when a write is durable waits for one transaction, and the next. */
export const MOST_APART_MS = 60
/** Between those bounds the transactions have a twentieth of the time: they are as many times as long apart as they take. */
const TIMES_AS_LONG = 20
/** Weight of the last transaction in the mean of what they take; a clock of whole milliseconds tells it in the mean only. */
const WEIGHT = 1 / 8

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
  /** What a transaction takes, in the mean. */
  let meanMs = 0
  let cancel: (() => void) | null = null

  const apartMs = (): number => Math.min(MOST_APART_MS, Math.max(APART_MS, TIMES_AS_LONG * meanMs))
  const runTogether = (group: readonly Waiting[]): void =>
    db.transaction(() => {
      for (const { write } of group) write()
    })
  /** The clock may have been set meanwhile: more than the most counts as the most. */
  const tookUntil = (nowMs: number): void => {
    const tookMs = Math.min(MOST_APART_MS, Math.max(0, nowMs - lastMs))
    meanMs += WEIGHT * (tookMs - meanMs)
  }
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
    } finally {
      tookUntil(clock.now())
    }
    for (const { resolve } of group) resolve()
  }
  return {
    run(write) {
      return new Promise((resolve, reject) => {
        waiting.push({ write, resolve, reject })
        // The clock may have been set back.
        const delayMs = Math.min(apartMs(), Math.max(0, lastMs + apartMs() - clock.now()))
        cancel ??= clock.after(delayMs, flush)
      })
    },
    flush,
  }
}
