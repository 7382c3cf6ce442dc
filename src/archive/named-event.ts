/** Finds the event that the path of a request names by its id or sequence, and refuses the request where there is none. */
import { HttpProblem } from '../http/problem.ts'
import { findSequence } from './reading/one-event.ts'
import type { Reader } from './reading/reader.ts'
import { requireCompleteReplica } from './replica/replica-incomplete.ts'
import type { Archive } from './store/archive.ts'

/** Gives the sequence of the event of that id or sequence. Throws as `sequenceOfName`. */
export type SequenceOfName = (name: string) => number

/**
 * The sequence of the event of that name. Reads no text.
 * @throws HttpProblem `not_found`, `cursor_too_old` with the oldest cursor; BridgeError while the replica is incomplete
 */
export function sequenceOfName(archive: Archive, reader: Reader, name: string): number {
  requireCompleteReplica(reader.replica)
  const found = findSequence(archive, reader, name)
  if (found.kind === 'missing') throw noEvent()
  if (found.kind === 'found') return found.sequence
  throw new HttpProblem('cursor_too_old', 'the event of this sequence is no longer kept', {
    extra: { oldest: reader.cursorAt(reader.oldest - 1) },
  })
}

/** The refusal where there is no such event, or no longer. */
export function noEvent(): HttpProblem {
  return new HttpProblem('not_found', 'no event has this id or sequence')
}
