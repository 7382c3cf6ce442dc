/**
 * Implements the key-value tables on one compacted Kafka topic, which every process reads from its start. Each row is a
 * record of its own, written outside transactions.
 */
import { BridgeError } from '../../errors.ts'
import type { ChangeFeed } from '../../log/change-feed.ts'
import type { Table } from '../../log/tables.ts'
import type { LogParts } from '../client/connection.ts'
import { unavailable } from '../client/faults.ts'
import { ForeignRecords } from '../client/foreign-records.ts'
import { PartitionWriter } from '../client/partition-writer.ts'
import { abortable, withTimeout } from '../client/with-timeout.ts'
import { readPartition } from '../reading/partition-reader.ts'
import { TableRows } from './table-rows.ts'

/** How long a written value may take to be read back, ms; usually some ms. */
const VISIBLE_LIMIT_MS = 10_000

/** The tables of one topic. A write resolves when this process has read it back. */
export class KafkaTables {
  readonly #parts: LogParts
  readonly #topic: string
  readonly #rows: TableRows
  readonly #writer: PartitionWriter
  /** Writes that wait until the rows hold their offset. */
  readonly #waiting = new Set<{ offset: number; resolve: () => void }>()
  /** Resolves when the topic was first read to its end; rejects when it cannot be. */
  readonly #loaded = Promise.withResolvers<void>()

  constructor(parts: LogParts, topic: string) {
    this.#parts = parts
    this.#topic = topic
    const foreign = new ForeignRecords(topic, (fields) => parts.logger.warn('log.foreign_record', fields))
    this.#rows = new TableRows({ topic, onForeign: (record) => foreign.skipped(record) })
    // Who waits for it hears of a failure; without anyone it is no unhandled rejection.
    this.#loaded.promise.catch(() => undefined)
    this.#writer = new PartitionWriter(parts, topic, parts.closed)
  }

  /** The table of that name, which holds no slash. */
  table<V>(name: string): Table<V> {
    if (name.includes('/'))
      throw new BridgeError('failed', `the table name "${name}" must not contain a slash`)
    const { open, closed } = this.#parts
    const feed = this.#rows.feedOf(name) as ChangeFeed<V>
    return {
      load: async () => {
        open()
        await abortable(closed, this.#loaded.promise)
        return new Map([...this.#rows.textsOf(name)].map(([key, text]) => [key, JSON.parse(text) as V]))
      },
      put: (key, value) => this.#write(`${name}/${key}`, JSON.stringify(value)),
      delete: (key) => this.#write(`${name}/${key}`, null),
      changes(signal) {
        open()
        return feed.subscribe(AbortSignal.any([signal, closed]))
      },
    }
  }

  /**
   * Reads the topic until the signal aborts, then resolves.
   * @throws BridgeError `log_damaged` when the value of a row is not JSON, and its table is in use
   */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#read(signal)
    } catch (error) {
      this.#loaded.reject(error)
      throw error
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    for await (const batch of readPartition(this.#parts, this.#topic, 'compacted', signal)) {
      this.#rows.take(batch)
      for (const { offset, resolve } of this.#waiting) if (offset < this.#rows.nextOffset) resolve()
      if (batch.atEnd) this.#loaded.resolve()
    }
  }

  async #write(key: string, value: string | null): Promise<void> {
    const { open, closed, clock } = this.#parts
    open()
    await abortable(closed, this.#loaded.promise)
    const offset = await this.#writer.write({ partition: 0, key, value })
    if (offset < this.#rows.nextOffset) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiting = { offset, resolve }
    this.#waiting.add(waiting)
    try {
      await withTimeout(clock, VISIBLE_LIMIT_MS, closed, promise)
    } catch (error) {
      throw unavailable('reading a written value back', error)
    } finally {
      this.#waiting.delete(waiting)
    }
  }
}
