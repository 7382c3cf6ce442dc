/**
 * Values that this program stored as JSON. Owns what is said of one that is JSON no more: it is damage, not a bad input.
 */
import { BridgeError } from '../errors.ts'

/**
 * The value of that text, which was stored under `key`.
 * @throws BridgeError `log_damaged` when it is not JSON
 */
export function storedValue<V>(key: string, text: string): V {
  try {
    return JSON.parse(text) as V
  } catch (error) {
    throw new BridgeError('log_damaged', `what is stored under ${key} is not JSON`, {
      cause: error,
      hint:
        'Somebody else has written there, or the storage is faulty. Stop, keep a copy of what is stored, and restore ' +
        'the last good backup; on Kafka, look who may write to the internal topics.',
    })
  }
}
