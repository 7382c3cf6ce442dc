/**
 * The tables, all on one compacted topic that every process reads from the start. Owns the rows as they stand here, and
 * that a written value is visible here before its writer hears of it. Refuses transactions: a row stands for itself.
 */
import { BridgeError } from '../../errors.ts'
import { type ChangeFeed, createChangeFeed } from '../changes.ts'
import type { Table } from '../log.ts'
import { within } from './deadline.ts'
import { unavailable } from './faults.ts'
import { type ReadBatch, type ReaderParts, readPartition } from './partition-reader.ts'
import { createPlainWriter } from './plain-writer.ts'
import type { NewRecord } from './records.ts'

/** How long a written value may take to be read back here, ms; usually some ms. */
const VISIBLE_DEADLINE_MS = 10_000

export interface Tables {
  /** The table of that name, which holds no slash. */
  table<V>(name: string): Table<V>
  /** Reads until the signal aborts, then resolves. */
  run(signal: AbortSignal): Promise<void>
}

interface Rows {
  /** Values as JSON text, so that nobody changes one by holding it. */
  texts: Map<string, string>
  feed: ChangeFeed<unknown>
}

/** The tables on that topic. `open` throws once the log is closed, which `closed` tells. */
export function createTables(
  parts: ReaderParts & { open(): void; closed: AbortSignal },
  topic: string,
): Tables {
  const { clock, closed, open } = parts
  const tables = new Map<string, Rows>()
  const reached = new Set<{ offset: number; resolve: () => void }>()
  const writer = createPlainWriter(parts, topic)
  const whole = Promise.withResolvers<void>()
  let nextOffset = 0

  const rowsOf = (name: string): Rows => {
    const rows = tables.get(name) ?? { texts: new Map(), feed: createChangeFeed<unknown>() }
    tables.set(name, rows)
    return rows
  }
  const take = (batch: ReadBatch, live: boolean): void => {
    if (batch.rewound !== null) for (const { texts } of tables.values()) texts.clear()
    for (const { key, value } of batch.records) {
      const [name = '', ...rest] = String(key).split('/')
      const { texts, feed } = rowsOf(name)
      const row = rest.join('/')
      if (value === null) texts.delete(row)
      else texts.set(row, value.toString('utf8'))
      if (live) feed.publish({ key: row, value: value === null ? null : JSON.parse(value.toString('utf8')) })
    }
    nextOffset = batch.nextOffset
    for (const waiting of reached) {
      if (waiting.offset < nextOffset) waiting.resolve()
    }
  }
  const visible = async (offset: number): Promise<void> => {
    if (offset < nextOffset) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiting = { offset, resolve }
    reached.add(waiting)
    try {
      await within(clock, VISIBLE_DEADLINE_MS, closed, promise)
    } catch (error) {
      throw unavailable('reading a written value back', error)
    } finally {
      reached.delete(waiting)
    }
  }
  const write = async (name: string, key: string, value: string | null): Promise<void> => {
    open()
    await within(clock, null, closed, whole.promise)
    const record: NewRecord = { partition: 0, key: `${name}/${key}`, value }
    const offset = await writer.write(record)
    await visible(offset)
  }

  return {
    table<V>(name: string): Table<V> {
      if (name.includes('/')) throw new BridgeError('failed', `a table's name holds no slash: ${name}`)
      const rows = rowsOf(name)
      return {
        async load() {
          open()
          await within(clock, null, closed, whole.promise)
          return new Map([...rows.texts].map(([key, text]) => [key, JSON.parse(text) as V]))
        },
        put: (key, value) => write(name, key, JSON.stringify(value)),
        delete: (key) => write(name, key, null),
        changes(signal) {
          open()
          return (rows.feed as ChangeFeed<V>).subscribe(AbortSignal.any([signal, closed]))
        },
      }
    },
    async run(signal) {
      let live = false
      for await (const batch of readPartition(parts, topic, 'earliest', signal)) {
        take(batch, live)
        if (batch.atEnd) {
          live = true
          whole.resolve()
        }
      }
    },
  }
}
