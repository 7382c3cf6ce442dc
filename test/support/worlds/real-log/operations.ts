/** Defines what a simulated world does to its log, so that `replay.ts` can do the same to a real one. */
import type { StoredRevision } from '../../../../src/archive/store/archive.ts'
import type { NewEvent } from '../../../../src/core/event.ts'
import type { Purpose } from '../../../../src/core/purpose.ts'
import type { PollerCommit } from '../../../../src/ingest/writer-state/poller-writer.ts'
import type { WriterState } from '../../../../src/ingest/writer-state/rows.ts'
import type { RejectedItem } from '../../../../src/log/events.ts'

/**
 * One operation, with what the simulated log answered; `rejected` counts the rejected items that it has, and `atMs` is on our
 * clock. A commit that is sent and never ended was cut off and not stored.
 */
export type LogOperation =
  | { type: 'claimed'; after: WriterState; rejected: number }
  | { type: 'spent'; purpose: Purpose; atMs: number }
  | { type: 'looked-up'; guids: readonly string[]; found: ReadonlyMap<string, StoredRevision> }
  | { type: 'commit-sent'; commit: PollerCommit }
  | { type: 'commit-ended'; stored: boolean; answered: boolean; after: WriterState }
  | { type: 'died' }

/** What a simulated world did to its log, and what that holds in the end. */
export interface RecordedWorld {
  operations: readonly LogOperation[]
  end: WriterState
  events: readonly (NewEvent & { sequence: number })[]
  rejected: readonly RejectedItem[]
}
