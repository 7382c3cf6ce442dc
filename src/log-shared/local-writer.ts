/**
 * Creates the writer of the adapters without other processes (embedded, memory): each commit is one synchronous write.
 * The first error ends the writer: every later operation throws it again.
 */
import type { Committed } from '../core/event.ts'
import { BridgeError, isBridgeError, messageOf } from '../errors.ts'
import { COMMIT_LIMIT, type RejectedItem, type RowChanges, type Writer } from '../log/events.ts'
import type { CommittedHead } from './place-rows.ts'

/** One write, all or nothing. */
export interface Write {
  before: CommittedHead
  after: CommittedHead
  events: readonly Committed[]
  rejected: readonly RejectedItem[]
  rows: RowChanges
}

/** Makes the write durable and visible, or throws: `log_fenced` and `log_damaged` as such, the rest as unknown. */
export type Persist = (write: Write) => void

/** The error of a writer that a later claim has fenced. */
export function fencedError(): BridgeError {
  return new BridgeError('log_fenced', 'a later writer has claimed the log', {
    hint: 'Step down and campaign again.',
  })
}

/** A writer that continues after that head; `rows` are those that the claim has read. */
export function createLocalWriter(
  claimed: CommittedHead,
  rows: ReadonlyMap<string, string>,
  persist: Persist,
): Writer {
  let place = claimed
  let ended: BridgeError | null = null
  return {
    get epoch() {
      return place.epoch
    },
    get sequence() {
      return place.sequence
    },
    rows,
    async commit(commit) {
      const { epoch, sequence } = place
      if (commit.events.length > COMMIT_LIMIT) {
        throw new RangeError(`a commit of ${commit.events.length} events: at most ${COMMIT_LIMIT}`)
      }
      if (ended !== null) throw ended
      const events = commit.events.map((event, index) => ({
        ...event,
        sequence: sequence + 1 + index,
        epoch,
      }))
      const after = { epoch, sequence: sequence + events.length }
      try {
        const { rejected = [], rows: changed = new Map() } = commit
        persist({ before: place, after, events, rejected, rows: changed })
        place = after
      } catch (error) {
        ended = endingOf(error)
        throw ended
      }
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
