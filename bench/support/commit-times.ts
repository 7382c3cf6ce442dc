/**
 * Reads from the broker's files when each event became readable: the broker's time at the end of its transaction. No
 * reader's delay is included. It must not run during a measurement.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodeBatches } from '../../src/log-kafka/client/partition-protocol.ts'
import { sequenceOf } from '../../src/log-kafka/client/records.ts'

const SEGMENT = '.log'
/** Of a transaction's end, the second half of its key; an abort has 0. */
const COMMIT = 1

/** ms since 1970 by sequence, of the committed events of topic `all` with that name; `logFolder` is its leader's. */
export async function commitTimes(logFolder: string, topic: string): Promise<Map<number, number>> {
  const folder = join(logFolder, `${topic}-0`)
  const segments = readdirSync(folder).filter((name) => name.endsWith(SEGMENT))
  const times = new Map<number, number>()
  /** Sequences of the transactions that have not ended, by their producers. */
  const open = new Map<string, number[]>()
  for (const name of segments.sort()) {
    for (const batch of await decodeBatches(readFileSync(join(folder, name)))) {
      const { producerId, records, maxTimestamp } = batch
      const before = open.get(producerId) ?? []
      if (!batch.isControlBatch) {
        const sequences = records
          .map((record) =>
            sequenceOf({ ...record, offset: Number(record.offset), timestampMs: Number(record.timestamp) }),
          )
          .filter((sequence) => sequence !== null)
        open.set(producerId, [...before, ...sequences])
        continue
      }
      if (records[0]?.key?.readInt16BE(2) === COMMIT)
        for (const sequence of before) times.set(sequence, Number(maxTimestamp))
      open.delete(producerId)
    }
  }
  return times
}
