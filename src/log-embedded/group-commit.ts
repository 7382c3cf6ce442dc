/**
 * Groups small writes into one SQLite transaction, soon after the first write; slow disks get longer pauses between
 * transactions.
 */
import type { Clock } from '../lifecycle/clock.ts'
import type { Metrics } from '../obs/metrics.ts'
import type { Database } from '../storage/database.ts'

/** Shortest time between the starts of two transactions, ms: at most a hundred disk flushes a second. */
export const APART_MS = 10
/** Longest such time, ms: a caller that needs its write durable waits for up to two transactions. */
export const MOST_APART_MS = 60
/** Within those bounds transactions take a twentieth of the time: their distance is this multiple of their duration. */
const TIMES_AS_LONG = 20
/** Weight of the last transaction in the mean duration; a clock of whole milliseconds is too coarse for single ones. */
const WEIGHT = 1 / 8

/** A queue of writes. */
export interface GroupCommit {
  /**
   * Runs `write` in the next transaction, in the order of the calls, and resolves when it is durable. If a transaction of
   * several writes fails, it is rolled back and each write runs again alone. A caller thus gets only the error of its own
   * write, and a large write that finds no space does not fail small ones.
   */
  run(write: () => void): Promise<void>
  /** Writes everything that is queued, now. Callable twice. */
  flush(): void
}

/** What the tables, shards and journals of one file share. */
export interface StoreParts {
  db: Database
  commits: GroupCommit
  clock: Clock
  /** Throws once the log is closed; then `closed` is aborted. */
  open(): void
  closed: AbortSignal
}

interface Waiting {
  sinceMs: number
  write(): void
  resolve(): void
  reject(error: unknown): void
}

/** What is measured of the queue. */
export type GroupCommitMetrics = Pick<Metrics, 'groupCommitWaiting' | 'groupCommitWait'>

/** An empty queue. */
export function createGroupCommit(db: Database, clock: Clock, metrics?: GroupCommitMetrics): GroupCommit {
  let waiting: Waiting[] = []
  let lastMs = Number.NEGATIVE_INFINITY
  /** Mean duration of a transaction. */
  let meanMs = 0
  let cancel: (() => void) | null = null

  const apartMs = (): number => Math.min(MOST_APART_MS, Math.max(APART_MS, TIMES_AS_LONG * meanMs))
  const runTogether = (group: readonly Waiting[]): void =>
    db.transaction(() => {
      for (const { write } of group) write()
    })
  /** Limited above, because the clock may have been set meanwhile. */
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
    metrics?.groupCommitWaiting.set({}, 0)
    try {
      runTogether(group)
    } catch (error) {
      const [first, ...others] = group
      if (others.length === 0) first?.reject(error)
      else for (const one of group) runAlone(one)
      return
    } finally {
      const nowMs = clock.now()
      tookUntil(nowMs)
      for (const { sinceMs } of group)
        metrics?.groupCommitWait.observe({}, Math.max(0, nowMs - sinceMs) / 1000)
    }
    for (const { resolve } of group) resolve()
  }
  return {
    run(write) {
      return new Promise((resolve, reject) => {
        const nowMs = clock.now()
        waiting.push({ sinceMs: nowMs, write, resolve, reject })
        metrics?.groupCommitWaiting.set({}, waiting.length)
        // The clock may have been set back.
        const delayMs = Math.min(apartMs(), Math.max(0, lastMs + apartMs() - nowMs))
        cancel ??= clock.after(delayMs, flush)
      })
    },
    flush,
  }
}
