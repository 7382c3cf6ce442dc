/** Appends to and reads a journal: a topic of one partition whose records Kafka drops by age. */
import { yieldToEventLoop } from '../../lifecycle/clock.ts'
import type { Journal, JournalBatch } from '../../log/journal.ts'
import { JOURNAL_BATCH, positionOf } from '../../log-shared/journal-position.ts'
import { recordTexts } from '../../log-shared/stored-rows.ts'
import type { RemadeTopicParts } from '../client/connection.ts'
import { mayPass, unavailable } from '../client/faults.ts'
import { ForeignRecords } from '../client/foreign-records.ts'
import type { KafkaRecord } from '../client/partition-protocol.ts'
import { PartitionWriter } from '../client/partition-writer.ts'
import { withTimeout } from '../client/with-timeout.ts'
import { readPartition } from '../reading/partition-reader.ts'

/** How long an append waits for the topic, ms; as long as for its acknowledgement. */
const READY_LIMIT_MS = 10_000

/** The journal on one topic. */
export class KafkaJournal<V> implements Journal<V> {
  readonly #parts: RemadeTopicParts
  readonly #topic: string
  readonly #writer: PartitionWriter
  readonly #foreign: ForeignRecords
  #remaking: Promise<void> | null = null

  constructor(parts: RemadeTopicParts, topic: string) {
    this.#parts = parts
    this.#topic = topic
    this.#foreign = new ForeignRecords(topic, (fields) => parts.logger.warn('log.foreign_record', fields))
    this.#writer = new PartitionWriter(parts, topic, parts.closed)
  }

  async append(records: readonly V[]): Promise<void> {
    const { clock, open, closed, ready } = this.#parts
    open()
    const texts = recordTexts(records)
    if (texts.length === 0) return
    try {
      await withTimeout(clock, READY_LIMIT_MS, closed, ready(closed))
    } catch (error) {
      throw unavailable(`writing to ${this.#topic}`, error)
    }
    try {
      await Promise.all(texts.map((value) => this.#writer.write({ partition: 0, key: null, value })))
    } catch (error) {
      this.#remake()
      throw error
    }
  }

  async *read(after: string | null, signal: AbortSignal): AsyncGenerator<JournalBatch<V>> {
    const { open, closed, ready } = this.#parts
    const topic = this.#topic
    open()
    const ended = AbortSignal.any([signal, closed])
    const from = positionOf(after)
    try {
      await ready(ended)
    } catch (error) {
      if (ended.aborted) return
      throw error
    }
    for await (const { records, nextOffset } of readPartition(this.#parts, topic, from, ended)) {
      for (const batch of journalBatches(records)) {
        if (ended.aborted) return
        const last = batch.at(-1)
        const next = last === records.at(-1) ? nextOffset : Number(last?.offset) + 1
        yield { records: batch.flatMap((record) => this.#valueOf(record)), position: next.toString() }
        await yieldToEventLoop()
      }
    }
  }

  /** The topic may have been deleted: later appends find it again. Where Kafka is away, the next one that fails tries. */
  #remake(): void {
    this.#remaking ??= this.#parts
      .remake()
      .catch((error) => {
        if (!mayPass(error)) this.#parts.logger.warn('topic.create_refused', { topic: this.#topic, error })
      })
      .finally(() => {
        this.#remaking = null
      })
  }

  /** The value of the record; nothing where it is not JSON, as no bridge writes one. */
  #valueOf(record: KafkaRecord): [V] | [] {
    try {
      return [JSON.parse(`${record.value}`) as V]
    } catch {
      this.#foreign.skipped(record)
      return []
    }
  }
}

/** Splits the records of one fetch, which may be megabytes, into batches that a reader handles in milliseconds. */
function journalBatches(records: readonly KafkaRecord[]): KafkaRecord[][] {
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
