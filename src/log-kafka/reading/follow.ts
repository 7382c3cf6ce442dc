/** Follows the topic of all events from a sequence on, and verifies that no event is missing. */
import type { Committed } from '../../core/event.ts'
import { BridgeError } from '../../errors.ts'
import { patientRead } from '../client/bounded-read.ts'
import type { ReaderParts } from '../client/connection.ts'
import { ForeignRecords } from '../client/foreign-records.ts'
import type { PartitionClient } from '../client/kafkajs-internals.ts'
import { eventOf } from '../client/records.ts'
import { offsetAfter, oldestSequence } from './offset-lookup.ts'
import { readPartition } from './partition-reader.ts'

/**
 * Every committed event after `after`, in sequence, in batches; then tails until the signal aborts, and ends. Skips records
 * that no bridge wrote: that no event is missing is proven by the sequences, not by the offsets.
 * @throws BridgeError `log_damaged` when an event is missing that was not dropped by age
 */
export async function* followTopic(
  parts: ReaderParts,
  topic: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<Committed[]> {
  const read = <T>(doing: string, reading: (partitions: PartitionClient) => Promise<T>) =>
    patientRead({ ...parts, topic }, doing, signal, reading)
  /** True where the topic keeps no event before that one: those that a reader missed were dropped by age. */
  const isOldest = async (sequence: number): Promise<boolean> => {
    const oldest = await read('finding the oldest event', (partitions) => oldestSequence(partitions, topic))
    return oldest === null || oldest >= sequence
  }
  try {
    const from = await read('finding an event', (partitions) => offsetAfter(partitions, topic, after))
    let position = after
    const foreign = new ForeignRecords(topic, (fields) => parts.logger.error('log.foreign_event', fields))
    for await (const { records, rewound } of readPartition(parts, topic, from, signal)) {
      if (rewound !== null && rewound.asked > rewound.end) throw missing(topic, position + 1)
      const events: Committed[] = []
      for (const record of records) {
        const event = eventOf(record)
        if (event === null) {
          foreign.skipped(record)
          continue
        }
        // A mirror that was restarted copies records a second time.
        if (event.sequence <= position) continue
        if (event.sequence !== position + 1 && !(await isOldest(event.sequence)))
          throw missing(topic, position + 1)
        position = event.sequence
        events.push(event)
      }
      if (events.length > 0) yield events
      if (signal.aborted) return
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

function missing(topic: string, sequence: number): BridgeError {
  return new BridgeError('log_damaged', `${topic} has lost event ${sequence}`, {
    hint: 'A broker has lost committed records. Stop, and restore the topics of this prefix from one backup.',
  })
}
