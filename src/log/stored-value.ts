/** Parses JSON that this program stored; text that is not JSON means damage, not bad input. */
import { BridgeError } from '../errors.ts'

/**
 * The value of that text, which was stored under `key`.
 * @throws BridgeError `log_damaged` when it is not JSON
 */
export function storedValue<V>(key: string, text: string): V {
  try {
    return JSON.parse(text) as V
  } catch (error) {
    throw new BridgeError('log_damaged', `the value stored under ${key} is not JSON`, {
      cause: error,
      hint:
        'Another program wrote there, or the storage is faulty. Stop, keep a copy of what is stored, and put the last good ' +
        'backup back with bridge restore; on Kafka, check who may write to the internal topics.',
    })
  }
}
