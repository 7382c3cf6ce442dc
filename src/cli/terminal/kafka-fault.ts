/** Turns the outage of Kafka that a bridge would wait for into the fault that ends a command. */
import { BridgeError, isBridgeError } from '../../errors.ts'

const TRIES_AGAIN = '; this process tries again'

/** A hint of the log on Kafka, without the words that only a running bridge can keep. */
export function hintForCommand(hint: string | undefined): string | undefined {
  return hint?.replace(TRIES_AGAIN, '')
}

/** @throws BridgeError `kafka` for a Kafka that cannot be reached; else the error itself */
export function endOnKafkaFault(error: unknown): never {
  if (!isBridgeError(error, 'log_unavailable')) throw error
  const { message, cause } = error
  const hint = hintForCommand(error.hint)
  throw new BridgeError('kafka', message, { ...(hint !== undefined && { hint }), cause })
}
