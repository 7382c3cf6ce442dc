/** Serialises shard rows and journal records to JSON text, and limits their size. */
import { BridgeError } from '../errors.ts'
import { LARGEST_ROW_BYTES } from '../log/shards.ts'
import type { Change } from '../log/tables.ts'

/** A change with its value as JSON text; null = deleted. */
export interface TextChange {
  key: string
  text: string | null
}

/** The changes as they are stored. Throws RangeError when one of them is too large. */
export function textChanges<V>(changes: readonly Change<V>[]): TextChange[] {
  return changes.map(({ key, value }) => {
    const text = value === null ? null : JSON.stringify(value)
    checkSize(Buffer.byteLength(key) + Buffer.byteLength(text ?? ''), `the row ${key.slice(0, 100)}`)
    return { key, text }
  })
}

/** The records as they are stored. Throws RangeError when one of them is too large. */
export function recordTexts(records: readonly unknown[]): string[] {
  return records.map((record) => {
    const text = JSON.stringify(record)
    checkSize(Buffer.byteLength(text), 'a record of the journal')
    return text
  })
}

/** The error of a write to a lost shard. */
export function shardLost(number: number): BridgeError {
  return new BridgeError('shard_lost', `shard ${number} is no longer assigned to this process`, {
    hint: 'Its new owner continues from the state stored last.',
  })
}

function checkSize(bytes: number, what: string): void {
  if (bytes > LARGEST_ROW_BYTES) {
    throw new RangeError(`${what} has ${bytes} bytes: at most ${LARGEST_ROW_BYTES}`)
  }
}
