/**
 * Assigns sequences to new events, and converts the log's epoch and last sequence to the key-value rows that commits store.
 * The adapters for Kafka and SQLite share it.
 */
import type { Committed, NewEvent } from '../core/event.ts'
import { BridgeError } from '../errors.ts'
import { COMMIT_LIMIT } from '../log/events.ts'
import { storedValue } from '../log/stored-value.ts'

/** Key of the row that holds the log's epoch. */
const EPOCH_KEY = 'head/epoch'
/** Key of the row that holds the sequence of the last event. */
export const SEQUENCE_KEY = 'head/sequence'

/** The epoch and last sequence of a log. */
export interface CommittedHead {
  readonly epoch: string
  /** Of the last event; 0 before the first. */
  readonly sequence: number
}

/** Throws RangeError when there are more than COMMIT_LIMIT events. */
export function checkCommitSize({ length }: readonly NewEvent[]): void {
  if (length > COMMIT_LIMIT) throw new RangeError(`a commit of ${length} events: at most ${COMMIT_LIMIT}`)
}

/** Copies of the events, with the sequences after that head; and the head after them. */
export function sequenceEvents(
  given: readonly NewEvent[],
  { epoch, sequence }: CommittedHead,
): { events: Committed[]; after: CommittedHead } {
  const events = given.map((event, index) => ({ ...event, sequence: sequence + 1 + index, epoch }))
  return { events, after: { epoch, sequence: sequence + events.length } }
}

/** The rows that differ between two heads; both rows where there was no head before. */
export function placeRows(before: CommittedHead | null, after: CommittedHead): Map<string, string> {
  const rows = new Map<string, string>()
  if (before?.epoch !== after.epoch) rows.set(EPOCH_KEY, JSON.stringify(after.epoch))
  if (before?.sequence !== after.sequence) rows.set(SEQUENCE_KEY, JSON.stringify(after.sequence))
  return rows
}

/**
 * Splits stored rows into the log's head and the rows of its caller; null where there are none.
 * @throws BridgeError `log_damaged` when there are rows but not those of the head
 */
export function placedRows(
  stored: ReadonlyMap<string, string>,
): { place: CommittedHead; rows: Map<string, string> } | null {
  if (stored.size === 0) return null
  const rows = new Map(stored)
  const epoch = stored.get(EPOCH_KEY)
  const sequence = stored.get(SEQUENCE_KEY)
  if (epoch === undefined || sequence === undefined) {
    throw new BridgeError('log_damaged', 'the stored writer state has no epoch or no sequence', {
      hint: 'Stop, keep a copy of what is stored, and put the last good backup back with bridge restore.',
    })
  }
  rows.delete(EPOCH_KEY)
  rows.delete(SEQUENCE_KEY)
  const place = {
    epoch: storedValue<string>(EPOCH_KEY, epoch),
    sequence: storedValue<number>(SEQUENCE_KEY, sequence),
  }
  return { place, rows }
}
