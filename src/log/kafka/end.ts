/**
 * Where the log ends, read from what its last writer left. Owns trying until Kafka answers. Refuses to look at events:
 * they may all have been dropped by age.
 */
import { isBridgeError } from '../../errors.ts'
import type { LogEnd } from '../log.ts'
import { booksOf } from './books.ts'
import { untilDecided } from './decided.ts'
import { committedRecords } from './find.ts'
import type { ReaderParts } from './partition-reader.ts'
import { shortRead } from './short-read.ts'

/**
 * The end of the log by its state topic, which is small: it is read whole.
 * @throws the signal's reason; BridgeError `log_damaged` when the state is not whole
 */
export async function readEnd(parts: ReaderParts, topic: string, signal: AbortSignal): Promise<LogEnd> {
  for (;;) {
    try {
      const records = await shortRead(parts, 'reading the end of the log', signal, async (partitions) => {
        await untilDecided(partitions, topic, parts.clock)
        return committedRecords(partitions, topic)
      })
      const rows = new Map<string, string>()
      for (const { key, value } of records) {
        if (value === null) rows.delete(String(key))
        else rows.set(String(key), value.toString('utf8'))
      }
      const head = booksOf(rows)?.state.head
      return { epoch: head?.epoch ?? null, sequence: head?.sequence ?? 0 }
    } catch (error) {
      signal.throwIfAborted()
      if (isBridgeError(error, 'log_damaged')) throw error
      parts.logger.warn('log.reader_away', { topic, error })
    }
  }
}
