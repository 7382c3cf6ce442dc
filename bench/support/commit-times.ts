/**
 * When the events of a log on Kafka became readable: by the broker's clock, at the ends of their transactions, as the broker
 * itself has kept them. Owns reading its files, so that no reader's delay is in the times. Refuses to run beside anything
 * that is timed.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RecordBatch, readBatch } from '../../src/log-kafka/client/record-batch.ts'
import { sequenceOf } from '../../src/log-kafka/client/records.ts'

const SEGMENT = '.log'
/** Of a transaction's end, the second half of its key; an abort has 0. */
const COMMIT = 1

/** ms since 1970 by sequence, of the committed events of topic `all` with that name; `logFolder` is its leader's. */
export function commitTimes(logFolder: string, topic: string): Map<number, number> {
  const folder = join(logFolder, `${topic}-0`)
  const segments = readdirSync(folder).filter((name) => name.endsWith(SEGMENT))
  const times = new Map<number, number>()
  /** Sequences of the transactions that have not ended, by their producers. */
  const open = new Map<number, number[]>()
  for (const name of segments.sort()) {
    for (const batch of splitIntoBatches(readFileSync(join(folder, name)))) {
      const { producerId, records, latestMs } = batch
      const before = open.get(producerId) ?? []
      if (!batch.isControl) {
        open.set(producerId, [...before, ...records.map(sequenceOf)])
        continue
      }
      if (records[0]?.key?.readInt16BE(2) === COMMIT)
        for (const sequence of before) times.set(sequence, latestMs)
      open.delete(producerId)
    }
  }
  return times
}

function* splitIntoBatches(bytes: Buffer): Generator<RecordBatch> {
  for (let at = 0; ; ) {
    const next = readBatch(bytes, at)
    if (next === null) return
    yield next.batch
    at = next.end
  }
}
