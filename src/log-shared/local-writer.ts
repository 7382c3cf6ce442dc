/**
 * The writer of the adapters that live in this process (embedded, memory): each operation is one synchronous write.
 * Owns the writer's end: what it threw once it throws for ever. Refuses to store: the adapter's `persist` does.
 */
import type { Committed } from '../core/event.ts'
import { BridgeError, isBridgeError, messageOf } from '../errors.ts'
import type { RejectedItem, Writer, WriterState } from '../log/log.ts'
import { COMMIT_LIMIT } from '../log/log.ts'
import { afterCommit, afterSpend, placed } from '../log/writer-state.ts'

/** One write, all or nothing. */
export interface Write {
  before: WriterState
  after: WriterState
  events: readonly Committed[]
  rejected: readonly RejectedItem[]
}

/** Makes the write durable and visible, or throws: `log_fenced` and `log_damaged` as such, the rest as unknown. */
export type Persist = (write: Write) => void

/** The error of a writer that has been overtaken. */
export function fencedError(): BridgeError {
  return new BridgeError('log_fenced', 'a later writer has claimed the log', {
    hint: 'Step down and campaign again.',
  })
}

/** A writer that begins with what the claim has read. */
export function createLocalWriter(claimed: WriterState, persist: Persist): Writer {
  let state = claimed
  let ended: BridgeError | null = null
  const attempt = (write: Omit<Write, 'before'>): void => {
    if (ended !== null) throw ended
    try {
      persist({ before: state, ...write })
      state = write.after
    } catch (error) {
      ended = endingOf(error)
      throw ended
    }
  }
  return {
    get state() {
      return state
    },
    async spend(units, purpose, atMs) {
      attempt({ after: afterSpend(state, units, purpose, atMs), events: [], rejected: [] })
    },
    async commit(commit) {
      if (commit.events.length > COMMIT_LIMIT) {
        throw new RangeError(`a commit of ${commit.events.length} events: at most ${COMMIT_LIMIT}`)
      }
      const events = placed(state.head, commit)
      attempt({ after: afterCommit(state, commit, events), events, rejected: commit.rejected ?? [] })
      return events
    },
    async release() {
      ended ??= fencedError()
    },
  }
}

function endingOf(error: unknown): BridgeError {
  if (isBridgeError(error, 'log_fenced') || isBridgeError(error, 'log_damaged')) return error
  const hint = error instanceof BridgeError ? error.hint : undefined
  return new BridgeError('log_unknown', `the commit has no known outcome: ${messageOf(error)}`, {
    hint: hint ?? 'Claim again: it reads what is stored.',
    cause: error,
  })
}
