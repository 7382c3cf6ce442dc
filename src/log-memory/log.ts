/** Implements the log port in memory, for tests and as its shortest reference. */
import type { Committed } from '../core/event.ts'
import { BridgeError } from '../errors.ts'
import { type Clock, systemClock } from '../lifecycle/clock.ts'
import { createWakeup, followStore } from '../lifecycle/wakeup.ts'
import type { RejectedItem } from '../log/events.ts'
import type { FaultHooks } from '../log/fault-hooks.ts'
import type { Journal } from '../log/journal.ts'
import type { Log } from '../log/log.ts'
import type { Shards } from '../log/shards.ts'
import type { Table } from '../log/tables.ts'
import { newEpoch } from '../log-shared/epoch.ts'
import { createLocalJournal } from '../log-shared/local-journal.ts'
import { createLocalRequests } from '../log-shared/local-requests.ts'
import { createLocalShards } from '../log-shared/local-shards.ts'
import { createLocalWriter, fencedError } from '../log-shared/local-writer.ts'
import { hashesWithin, REJECTED_WINDOW_BYTES } from '../log-shared/rejected-window.ts'
import { createMemoryJournalStore, createMemoryShardStore } from './shard-rows.ts'
import { createMemoryTable } from './table.ts'

/** An unused log. `clock` gives the age of journal records. */
export function createMemoryLog(options: { faultHooks?: FaultHooks; clock?: Clock } = {}): Log {
  const { clock = systemClock } = options
  const events: Committed[] = []
  const rejected: RejectedItem[] = []
  const tables = new Map<string, Table<unknown>>()
  const shards = new Map<string, Shards<unknown>>()
  const journals = new Map<string, Journal<unknown>>()
  const wakeup = createWakeup()
  const closing = new AbortController()
  const rows = new Map<string, string>()
  let epoch: string | null = null
  let fence = 0
  const open = (): void => {
    if (closing.signal.aborted) throw new BridgeError('failed', 'the log is closed')
  }
  const life = { open, closed: closing.signal }

  return {
    kind: 'memory',
    async campaign(signal) {
      open()
      signal.throwIfAborted()
      return { lost: closing.signal, end: async () => undefined }
    },
    async claim(term, signal) {
      open()
      signal.throwIfAborted()
      if (term.lost.aborted) throw fencedError()
      fence += 1
      const mine = fence
      epoch ??= newEpoch()
      return createLocalWriter({ epoch, sequence: events.length }, new Map(rows), (write) => {
        if (mine !== fence || closing.signal.aborted) throw fencedError()
        options.faultHooks?.beforeCommit?.()
        for (const event of write.events) events.push(Object.freeze(event))
        rejected.push(...structuredClone(write.rejected))
        for (const [key, text] of write.rows) {
          if (text === null) rows.delete(key)
          else rows.set(key, text)
        }
        wakeup.wake()
        options.faultHooks?.afterCommit?.()
      })
    },
    follow(after, signal) {
      open()
      const read = (position: number, limit: number): Committed[] => events.slice(position, position + limit)
      return followStore(read, wakeup, after, AbortSignal.any([signal, closing.signal]))
    },
    async end(signal) {
      open()
      signal.throwIfAborted()
      return { epoch, sequence: events.length }
    },
    async oldest(signal) {
      open()
      signal.throwIfAborted()
      return events[0]?.sequence ?? null
    },
    async rejected(limit) {
      open()
      return limit > 0 ? structuredClone(rejected.slice(-limit)) : []
    },
    async rejectedHashes(limit) {
      open()
      const texts = rejected.toReversed().map(({ raw }) => raw)
      return hashesWithin(texts, { limit, mostBytes: REJECTED_WINDOW_BYTES })
    },
    table<V>(name: string): Table<V> {
      open()
      const table = tables.get(name) ?? createMemoryTable<unknown>(open, closing.signal)
      tables.set(name, table)
      return table as Table<V>
    },
    shards<V>(name: string, count: number): Shards<V> {
      open()
      const found = shards.get(name) ?? createLocalShards<unknown>(createMemoryShardStore(), count, life)
      shards.set(name, found)
      return found as Shards<V>
    },
    journal<V>(name: string, retentionMs: number): Journal<V> {
      open()
      const found =
        journals.get(name) ?? createLocalJournal(createMemoryJournalStore(clock, retentionMs), life)
      journals.set(name, found)
      return found as Journal<V>
    },
    requests: createLocalRequests(open, closing.signal),
    async close() {
      closing.abort()
    },
  }
}
