/** Makes the error of a writer that may not write any more. */
import { BridgeError } from '../errors.ts'

/** The error of a writer that a later claim has fenced. */
export function fencedError(): BridgeError {
  return new BridgeError('log_fenced', 'a later writer has claimed the log', {
    hint: 'Step down and campaign again.',
  })
}
