/** Creates the `log_fenced` error: another process has become the writer of the log. */
import { BridgeError } from '../errors.ts'

/** The error of a writer that a later claim has fenced. */
export function fencedError(): BridgeError {
  return new BridgeError('log_fenced', 'another process has become the writer of the log', {
    hint: 'This process stops writing and stands for election as leader again.',
  })
}
