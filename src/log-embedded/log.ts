/**
 * Implements the log port on SQLite: the archive's events table is the log, and the same file holds the writer's rows.
 */
import { join } from 'node:path'
import type { Archive, ArchiveOptions } from '../archive/store/archive.ts'
import { openArchive } from '../archive/store/archive.ts'
import { BridgeError } from '../errors.ts'
import type { Clock } from '../lifecycle/clock.ts'
import type { Wakeup } from '../lifecycle/wakeup.ts'
import { createWakeup, followStore } from '../lifecycle/wakeup.ts'
import type { Writer } from '../log/events.ts'
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
import { type CommittedHead, placedRows, placeRows } from '../log-shared/place-rows.ts'
import { hashesWithin, REJECTED_WINDOW_BYTES } from '../log-shared/rejected-window.ts'
import { createGroupCommit } from './group-commit.ts'
import type { Unlock } from './lock.ts'
import { lockDirectory } from './lock.ts'
import { createSqliteJournalStore, createSqliteShardStore, ensureShardTables } from './shard-rows.ts'
import { createSqliteTable } from './table.ts'
import {
  currentFence,
  ensureLogTables,
  raiseFence,
  readRejectedRows,
  readRows,
  rejectedTexts,
  writeRejected,
  writeRows,
} from './writer-tables.ts'

export interface SqliteLogOptions {
  /** Created where it is missing; locked by this process. */
  dataDir: string
  /** The kind upstream writes for its own categories, e.g. `Native`. */
  nativeKind: string
  clock: Clock
  faultHooks?: FaultHooks
  onUpgrade?: NonNullable<ArchiveOptions['onUpgrade']>
}

/**
 * Opens the log in `dataDir` and the archive that it shares its file with. Closing the log closes both.
 * @throws BridgeError `log_locked`, `log_damaged`, `log_unavailable`
 */
export function openSqliteLog(options: SqliteLogOptions): { log: Log; archive: Archive } {
  const unlock = lockDirectory(options.dataDir, options.clock)
  let archive: Archive | null = null
  try {
    const path = join(options.dataDir, 'bridge.db')
    const { nativeKind, onUpgrade } = options
    archive = openArchive({ path, nativeKind, durable: true, ...(onUpgrade && { onUpgrade }) })
    ensureLogTables(archive.db)
    ensureShardTables(archive.db)
    return { log: logOver(archive, unlock, options), archive }
  } catch (error) {
    archive?.close()
    unlock()
    throw error
  }
}

function logOver(archive: Archive, unlock: Unlock, { clock, faultHooks }: SqliteLogOptions): Log {
  const { db } = archive
  const commits = createGroupCommit(db, clock)
  const wakeup = createWakeup()
  const closing = new AbortController()
  const tables = new Map<string, Table<unknown>>()
  const shards = new Map<string, Shards<unknown>>()
  const journals = new Map<string, Journal<unknown>>()
  const open = (): void => {
    if (closing.signal.aborted) throw new BridgeError('failed', 'the log is closed')
  }
  const life = { open, closed: closing.signal }
  return {
    kind: 'embedded',
    async campaign(signal) {
      open()
      signal.throwIfAborted()
      return { lost: closing.signal, end: async () => undefined }
    },
    async claim(term, signal) {
      open()
      signal.throwIfAborted()
      if (term.lost.aborted) throw fencedError()
      return claimWriter(archive, wakeup, faultHooks, closing.signal)
    },
    follow(after, signal) {
      open()
      return followStore(archive.committed, wakeup, after, AbortSignal.any([signal, closing.signal]))
    },
    async end(signal) {
      open()
      signal.throwIfAborted()
      return { epoch: archive.epoch, sequence: archive.latest }
    },
    async oldest(signal) {
      open()
      signal.throwIfAborted()
      return archive.latest === 0 ? null : archive.oldest
    },
    async rejected(limit) {
      open()
      return readRejectedRows(db, limit)
    },
    async rejectedHashes(limit) {
      open()
      return hashesWithin(rejectedTexts(db), { limit, mostBytes: REJECTED_WINDOW_BYTES })
    },
    table<V>(name: string): Table<V> {
      open()
      const table = tables.get(name) ?? createSqliteTable<unknown>(db, name, open, closing.signal)
      tables.set(name, table)
      return table as Table<V>
    },
    shards<V>(name: string, count: number): Shards<V> {
      open()
      const found =
        shards.get(name) ?? createLocalShards(createSqliteShardStore(db, commits, name), count, life)
      shards.set(name, found)
      return found as Shards<V>
    },
    journal<V>(name: string, retentionMs: number): Journal<V> {
      open()
      const store = createSqliteJournalStore({ db, commits, clock }, name, retentionMs)
      const found = journals.get(name) ?? createLocalJournal(store, life)
      journals.set(name, found)
      return found as Journal<V>
    },
    requests: createLocalRequests(open, closing.signal),
    async close() {
      closing.abort()
      commits.flush()
      archive.close()
      unlock()
    },
  }
}

function claimWriter(
  archive: Archive,
  wakeup: Wakeup,
  faultHooks: FaultHooks | undefined,
  closed: AbortSignal,
): Writer {
  const { db } = archive
  const { mine, place, rows } = archive.transaction(() => {
    const fence = raiseFence(db)
    return { mine: fence, ...readPlace(archive) }
  })
  return createLocalWriter(place, rows, (write) => {
    if (closed.aborted) throw fencedError()
    archive.transaction(() => {
      if (currentFence(db) !== mine) throw fencedError()
      archive.write(write.events)
      writeRejected(db, write.rejected)
      writeRows(db, placeRows(write.before, write.after))
      writeRows(db, write.rows)
      faultHooks?.beforeCommit?.()
    })
    if (write.events.length > 0) wakeup.wake()
    faultHooks?.afterCommit?.()
  })
}

/** The stored epoch, sequence and rows, checked against the events; an unused log gets its epoch. */
function readPlace(archive: Archive): { place: CommittedHead; rows: Map<string, string> } {
  const stored = placedRows(readRows(archive.db))
  const { epoch, latest } = archive
  if (stored === null && epoch === null && latest === 0) {
    const place = { epoch: newEpoch(), sequence: 0 }
    archive.setEpoch(place.epoch)
    writeRows(archive.db, placeRows(null, place))
    return { place, rows: new Map() }
  }
  if (stored === null || stored.place.sequence !== latest || stored.place.epoch !== epoch) {
    const known =
      stored === null ? 'nothing' : `event ${stored.place.sequence} of epoch ${stored.place.epoch}`
    throw new BridgeError(
      'log_damaged',
      `the writer's rows know ${known}, the events end with ${latest} of epoch ${epoch}`,
      { hint: 'Stop, keep a copy of the data directory, and restore the last good backup.' },
    )
  }
  return stored
}
