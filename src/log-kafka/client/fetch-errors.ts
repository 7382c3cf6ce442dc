/**
 * The errors that a broker answers inside a fetch. Owns their numbers and their sentence. Refuses to act on them.
 */
import { BridgeError } from '../../errors.ts'
import type { Fetched } from './partition-protocol.ts'

/** The offset asked for is not kept any more, or does not exist yet. */
export const OFFSET_OUT_OF_RANGE = 1

const NAMES: Readonly<Record<number, string>> = {
  [OFFSET_OUT_OF_RANGE]: 'the offset does not exist',
  3: 'the topic does not exist',
  5: 'the partition has no leader',
  6: 'another broker leads the partition',
  29: 'this user may not read the topic',
}

/** @throws BridgeError `log_unavailable` when the partition has answered an error */
export function requireNoError(topic: string, { errorCode }: Fetched): void {
  if (errorCode === 0) return
  const reason = NAMES[errorCode] ?? `Kafka answers error ${errorCode}`
  throw new BridgeError('log_unavailable', `${topic} cannot be read: ${reason}`, {
    hint: 'This process tries again. If it goes on, look at the topic and at the rights of this user.',
  })
}
