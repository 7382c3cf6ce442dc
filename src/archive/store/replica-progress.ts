/**
 * Whether readers may have this node's copy of the log: not before it was compared with the log, and not while it is
 * filled. Owns that answer and the waiting for it. Refuses to fill: `replicator.ts` does.
 */
import { aborted } from '../../lifecycle/aborted.ts'

/** A copy that is not whole yet. */
export interface Filling {
  /** The last sequence that is here; 0 where none is. */
  sequence: number
  /** The sequence at which the copy is whole; null until it was compared with the log. */
  goal: number | null
  /** How much of what the log keeps is here, from 0 to 1; 0 until the copy was compared. */
  share: number
}

/** What readers are told of the copy. */
export interface CopyState {
  /** null once the copy holds what the log held when it was compared; the newest events may still be on their way. */
  readonly filling: Filling | null
  /** Resolves when nothing is filled any more, or the signal aborts. Never rejects. */
  whole(signal: AbortSignal): Promise<void>
}

/** The state of a store that is the log itself, or complete for another reason. */
export const WHOLE: CopyState = { filling: null, whole: async () => undefined }

/** The same with the side of who fills the copy. */
export interface CopyProgress extends CopyState {
  /** The copy is of this log, which ends at `sequence`. */
  compared(sequence: number): void
  /** More may be here. */
  advanced(): void
  /** Everything was thrown away; the log goes to `sequence` at least. */
  emptied(sequence: number): void
}

/** Of a copy that nobody has compared yet. `here`: what it holds at the moment, `oldest` > `latest` where nothing. */
export function createCopyProgress(here: () => { oldest: number; latest: number }): CopyProgress {
  let goal: number | null = null
  let isWhole = false
  let waiting = Promise.withResolvers<void>()
  const look = (): void => {
    if (isWhole || goal === null || here().latest < goal) return
    isWhole = true
    waiting.resolve()
  }
  return {
    get filling() {
      if (isWhole) return null
      const { oldest, latest } = here()
      const held = latest - oldest + 1
      return { sequence: latest, goal, share: goal === null || held <= 0 ? 0 : held / (goal - oldest + 1) }
    },
    async whole(signal) {
      while (!isWhole && !signal.aborted) await Promise.race([waiting.promise, aborted(signal)])
    },
    compared(sequence) {
      goal = sequence
      look()
    },
    advanced: look,
    emptied(sequence) {
      if (isWhole) waiting = Promise.withResolvers()
      isWhole = false
      if (goal !== null) goal = sequence
    },
  }
}
