/**
 * The tables, all on one compacted topic that every process reads from the start. Owns that a written value is visible
 * here before its writer hears of it. Refuses transactions: a row stands for itself; and keeping rows: `table-rows.ts`.
 */
import { BridgeError } from '../../errors.ts'
import type { ChangeFeed } from '../../log/change-feed.ts'
import type { Table } from '../../log/tables.ts'
import type { ReaderParts } from '../client/connection.ts'
import { unavailable } from '../client/faults.ts'
import { PlainWriter } from '../client/plain-writer.ts'
import type { NewRecord } from '../client/records.ts'
import { abortable, withTimeout } from '../client/with-timeout.ts'
import { readPartition } from '../reading/partition-reader.ts'
import { createTableRows } from './table-rows.ts'

/** How long a written value may take to be read back here, ms; usually some ms. */
const VISIBLE_DEADLINE_MS = 10_000

export interface Tables {
  /** The table of that name, which holds no slash. */
  table<V>(name: string): Table<V>
  /** Reads until the signal aborts, then resolves. */
  run(signal: AbortSignal): Promise<void>
}

/** The tables on that topic. `open` throws once the log is closed, which `closed` tells. */
export function createTables(
  parts: ReaderParts & { open(): void; closed: AbortSignal },
  topic: string,
): Tables {
  const { clock, closed, open } = parts
  const rows = createTableRows()
  const reached = new Set<{ offset: number; resolve: () => void }>()
  const writer = new PlainWriter(parts, topic)
  const whole = Promise.withResolvers<void>()

  const visible = async (offset: number): Promise<void> => {
    if (offset < rows.nextOffset) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiting = { offset, resolve }
    reached.add(waiting)
    try {
      await withTimeout(clock, VISIBLE_DEADLINE_MS, closed, promise)
    } catch (error) {
      throw unavailable('reading a written value back', error)
    } finally {
      reached.delete(waiting)
    }
  }
  const write = async (name: string, key: string, value: string | null): Promise<void> => {
    open()
    await abortable(closed, whole.promise)
    const record: NewRecord = { partition: 0, key: `${name}/${key}`, value }
    const offset = await writer.write(record)
    await visible(offset)
  }

  return {
    table<V>(name: string): Table<V> {
      if (name.includes('/')) throw new BridgeError('failed', `a table's name holds no slash: ${name}`)
      const feed = rows.feedOf(name) as ChangeFeed<V>
      return {
        async load() {
          open()
          await abortable(closed, whole.promise)
          return new Map([...rows.textsOf(name)].map(([key, text]) => [key, JSON.parse(text) as V]))
        },
        put: (key, value) => write(name, key, JSON.stringify(value)),
        delete: (key) => write(name, key, null),
        changes(signal) {
          open()
          return feed.subscribe(AbortSignal.any([signal, closed]))
        },
      }
    },
    async run(signal) {
      for await (const batch of readPartition(parts, topic, 'compacted', signal)) {
        rows.take(batch)
        for (const waiting of reached) if (waiting.offset < rows.nextOffset) waiting.resolve()
        if (batch.atEnd) whole.resolve()
      }
    },
  }
}
