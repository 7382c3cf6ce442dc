/**
 * A journal: a topic of one partition that Kafka shortens by age. Owns that appending never waits for long. Refuses to
 * index records: whoever reads them does.
 */

import { yieldToEventLoop } from '../../lifecycle/clock.ts'
import type { Journal } from '../../log/journal.ts'
import { storedValue } from '../../log/stored-value.ts'
import { JOURNAL_BATCH, positionOf } from '../../log-shared/local-journal.ts'
import { recordTexts } from '../../log-shared/stored-rows.ts'
import type { ReaderParts } from '../client/connection.ts'
import { unavailable } from '../client/faults.ts'
import { PlainWriter } from '../client/plain-writer.ts'
import type { KafkaRecord } from '../client/record-batch.ts'
import { withTimeout } from '../client/with-timeout.ts'
import { readPartition } from '../reading/partition-reader.ts'

/** How long an append waits for a log that has not begun, ms; as long as one for its answer. */
const BEGIN_LIMIT_MS = 10_000

/** What a journal needs. */
export interface JournalParts extends ReaderParts {
  /** Throws once the log is closed, which `closed` tells. */
  open(): void
  closed: AbortSignal
  /** Resolves when the topic is there. Rejects with the signal's reason when it aborts first. */
  ready(signal: AbortSignal): Promise<void>
}

/** The journal on that topic. */
export function createKafkaJournal<V>(parts: JournalParts, topic: string): Journal<V> {
  const { clock, open, closed, ready } = parts
  const writer = new PlainWriter(parts, topic)
  return {
    async append(records) {
      open()
      const texts = recordTexts(records)
      if (texts.length === 0) return
      try {
        await withTimeout(clock, BEGIN_LIMIT_MS, closed, ready(closed))
      } catch (error) {
        throw unavailable(`writing to ${topic}`, error)
      }
      await Promise.all(texts.map((value) => writer.write({ partition: 0, key: null, value })))
    },
    async *read(after, signal) {
      open()
      const ended = AbortSignal.any([signal, closed])
      const from = positionOf(after)
      try {
        await ready(ended)
      } catch (error) {
        if (ended.aborted) return
        throw error
      }
      for await (const { records, nextOffset } of readPartition(parts, topic, from, ended)) {
        for (const part of splitIntoBatches(records)) {
          if (ended.aborted) return
          const last = part.at(-1)
          const values = part.map(({ offset, value }) =>
            storedValue<V>(`offset ${offset} of ${topic}`, String(value)),
          )
          const next = last === records.at(-1) ? nextOffset : Number(last?.offset) + 1
          yield { records: values, position: String(next) }
          await yieldToEventLoop()
        }
      }
    },
  }
}

/** The records of one fetch, which may be megabytes, as they are handed to a reader at once. */
function splitIntoBatches(records: readonly KafkaRecord[]): KafkaRecord[][] {
  const batches: KafkaRecord[][] = []
  let bytes = 0
  for (const record of records) {
    const batch = batches.at(-1)
    const isFull = bytes >= JOURNAL_BATCH.characters || batch?.length === JOURNAL_BATCH.records
    if (batch === undefined || isFull) {
      batches.push([record])
      bytes = 0
    } else batch.push(record)
    bytes += record.value?.length ?? 0
  }
  return batches
}
