/**
 * Limits the batches that a reader of a journal gets, and parses the position from which the reader continues. A journal is
 * an append-only series of records.
 */
import { BridgeError } from '../errors.ts'

/** Largest batch for a reader: it takes some milliseconds to parse. At `characters` no further record is added. */
export const JOURNAL_BATCH = { records: 500, characters: 256 * 1024 }

/**
 * The number of a position; 0 for the beginning.
 * @throws BridgeError `log_damaged` when it is not a number
 */
export function positionOf(position: string | null): number {
  if (position === null) return 0
  const number = Number(position)
  if (/^\d+$/.test(position) && Number.isSafeInteger(number)) return number
  throw new BridgeError(
    'log_damaged',
    `${JSON.stringify(position.slice(0, 40))} is not a position of a journal`,
    {
      hint: 'Delete the position and what was built from the journal, then read it from the start.',
    },
  )
}
