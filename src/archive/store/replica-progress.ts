/**
 * Tracks whether readers may use this node's replica: only once it was compared with the log and filled up to the log's end.
 * `replicator.ts` reports the progress.
 */
import { aborted } from '../../lifecycle/aborted.ts'

/** The fill level of an incomplete replica. */
export interface Filling {
  /** The last sequence stored; 0 where none is. */
  sequence: number
  /** The sequence at which the replica is complete; null until it was compared with the log. */
  goal: number | null
  /** Share of the log's events that is stored, from 0 to 1; 0 until the replica was compared. */
  share: number
}

/** Whether readers may use the replica. */
export interface ReplicaState {
  /** Events that it lacks: 0 once it is complete, MAX_SAFE_INTEGER until it was compared with the log. */
  readonly missing: number
  /** True where the store is the log itself: then no position can be ahead of it. */
  readonly isLog: boolean
  /** null once the replica holds what the log held when they were compared; newer events may still be missing. */
  readonly filling: Filling | null
  /** Resolves when the replica is complete, or the signal aborts. Never rejects. */
  untilComplete(signal: AbortSignal): Promise<void>
}

/** The state of a store that needs no filling, because it is the log itself. */
export const COMPLETE_REPLICA: ReplicaState = {
  missing: 0,
  isLog: true,
  filling: null,
  untilComplete: async () => undefined,
}

/** The replica's state with the methods of the replicator, which fills it. */
export type ReplicaProgress = ReturnType<typeof createReplicaProgress>

/** The state of a replica not yet compared with the log. `extent`: its current range, `oldest` > `latest` where empty. */
export function createReplicaProgress(extent: () => { oldest: number; latest: number }) {
  let goal: number | null = null
  let isComplete = false
  let waiting = Promise.withResolvers<void>()
  const check = (): void => {
    if (isComplete || goal === null || extent().latest < goal) return
    isComplete = true
    waiting.resolve()
  }
  return {
    get missing(): number {
      if (isComplete) return 0
      return goal === null ? Number.MAX_SAFE_INTEGER : Math.max(1, goal - extent().latest)
    },
    isLog: false,
    get filling(): Filling | null {
      if (isComplete) return null
      const { oldest, latest } = extent()
      const held = latest - oldest + 1
      return { sequence: latest, goal, share: goal === null || held <= 0 ? 0 : held / (goal - oldest + 1) }
    },
    async untilComplete(signal: AbortSignal): Promise<void> {
      while (!isComplete && !signal.aborted) await Promise.race([waiting.promise, aborted(signal)])
    },
    /** The replica belongs to this log, which ends at `sequence`. */
    compared(sequence: number): void {
      goal = sequence
      check()
    },
    /** Events were added. */
    advanced: check,
    /** The replica was emptied; the log ends at `sequence` or later. */
    emptied(sequence: number): void {
      if (isComplete) waiting = Promise.withResolvers()
      isComplete = false
      if (goal !== null) goal = sequence
    },
  }
}
