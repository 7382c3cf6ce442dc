/**
 * What the poller tells the metrics. Owns which event becomes which figure. Refuses to decide anything.
 */
import type { Committed } from '../core/event.ts'
import type { Purpose } from '../log/log.ts'
import type { Answer, IngestState, PollResult, QueuedCommit } from './state.ts'

/** Told by the poller as things happen; never throws. */
export interface Observer {
  /** A request ended and was judged. */
  requestDone(purpose: Purpose, result: PollResult): void
  /** An answer came, before it was judged. */
  answered(answer: Answer): void
  /** A commit became durable. */
  committed(
    queued: QueuedCommit,
    events: readonly Committed[],
    timing: { startMs: number; nowMs: number },
  ): void
  /** A commit ended without being known to be durable. */
  commitBroke(code: 'unknown' | 'fenced', durationMs: number): void
  /** This process leads from now on, or no longer. */
  leads(isLeader: boolean): void
  /** The state after a step. */
  stateChanged(state: IngestState, nowMs: number): void
}
