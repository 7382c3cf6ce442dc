/**
 * Implements the interface of `log/log.ts` on one SQLite file, for one process. The archive's table of events is the log
 * itself; the same file holds the writer's state, tables, shards and journals.
 */
import { join } from 'node:path'
import type { Archive, ArchiveOptions } from '../archive/store/archive.ts'
import { openArchiveInSteps } from '../archive/store/archive.ts'
import { BridgeError } from '../errors.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { atOnce, type Steps } from '../lifecycle/slices.ts'
import { createWakeup, followStore } from '../lifecycle/wakeup.ts'
import type { FaultHooks } from '../log/fault-hooks.ts'
import type { Journal } from '../log/journal.ts'
import type { Log } from '../log/log.ts'
import type { Shards } from '../log/shards.ts'
import type { Table } from '../log/tables.ts'
import { fencedError } from '../log-shared/fenced.ts'
import { createLocalRequests } from '../log-shared/local-requests.ts'
import { LOG_FILE } from './files.ts'
import { createGroupCommit, type GroupCommitMetrics } from './group-commit.ts'
import { createSqliteJournal } from './journal.ts'
import { lockDirectory, type Unlock } from './lock.ts'
import { finishSwap } from './restore-swap.ts'
import { createSqliteShards } from './shards.ts'
import { createSqliteTable } from './table.ts'
import { claimWriter } from './writer.ts'
import {
  ensureLogTables,
  readRejectedPage,
  readSqliteRejectedHashes,
  rejectedDropped,
  rejectedKept,
} from './writer-tables.ts'

/** How the embedded log is opened. */
export interface SqliteLogOptions {
  /** Created where it is missing; locked by this process. */
  dataDir: string
  /** The kind upstream writes for its own categories, e.g. `Native`. */
  nativeKind: string
  clock: Clock
  faultHooks?: FaultHooks
  metrics?: GroupCommitMetrics
  onUpgrade?: NonNullable<ArchiveOptions['onUpgrade']>
  /** Called when this opening has completed a restore that was killed, with the directory of the files that it replaced. */
  onRestored?: (replaced: string | null) => void
}

/** The log, and the archive that it shares its file with. */
interface SqliteLog {
  log: Log
  archive: Archive
}

/**
 * Opens the log in `dataDir` and the archive that it shares its file with. Closing the log closes both.
 * @throws BridgeError `log_locked`, `log_damaged`, `log_unavailable`
 */
export function openSqliteLog(options: SqliteLogOptions): SqliteLog {
  return atOnce(openSqliteLogInSteps(options))
}

/** As `openSqliteLog`, with a step for each batch of an upgrade of the store. */
export function* openSqliteLogInSteps(options: SqliteLogOptions): Steps<SqliteLog> {
  const { dataDir, nativeKind, clock, faultHooks, metrics, onUpgrade, onRestored } = options
  const unlock = lockDirectory(dataDir, clock)
  let archive: Archive | null = null
  try {
    const finished = finishSwap(dataDir, clock.now())
    if (finished !== null) onRestored?.(finished.replaced)
    const path = join(dataDir, LOG_FILE)
    const store = { path, nativeKind, durable: true, ...(onUpgrade && { onUpgrade }) }
    archive = yield* openArchiveInSteps(store)
    return { log: logOver(archive, { clock, faultHooks, metrics, unlock }), archive }
  } catch (error) {
    archive?.close()
    unlock()
    throw error
  }
}

/** The log in the file of that archive. Closing it closes the archive and calls `unlock`. */
export function logOver(
  archive: Archive,
  {
    clock,
    faultHooks,
    metrics,
    unlock,
  }: {
    clock: Clock
    faultHooks?: FaultHooks | undefined
    metrics?: GroupCommitMetrics | undefined
    unlock?: Unlock
  },
): Log {
  const { db } = archive
  ensureLogTables(db)
  const commits = createGroupCommit(db, clock, metrics)
  const wakeup = createWakeup()
  const closing = new AbortController()
  const closed = closing.signal
  const tables = new Map<string, Table<unknown>>()
  const shards = new Map<string, Shards<unknown>>()
  const journals = new Map<string, Journal<unknown>>()
  const open = (): void => {
    if (closed.aborted)
      throw new BridgeError('failed', 'the event log is closed because this process is stopping')
  }
  const parts = { db, commits, clock, open, closed }
  return {
    kind: 'embedded',
    async campaign(signal) {
      open()
      signal.throwIfAborted()
      return { lost: closed, end: async () => undefined }
    },
    async claim(term, signal) {
      open()
      signal.throwIfAborted()
      if (term.lost.aborted) throw fencedError()
      return claimWriter({ archive, clock, wakeup, faultHooks, closed })
    },
    follow(after, signal) {
      open()
      return followStore(archive.committed, wakeup, after, AbortSignal.any([signal, closed]))
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
    async rejectedPage(page) {
      open()
      return readRejectedPage(db, page)
    },
    rejectedKept() {
      open()
      return rejectedKept(db)
    },
    rejectedDropped() {
      open()
      return rejectedDropped(db)
    },
    async rejectedHashes(limit) {
      open()
      return readSqliteRejectedHashes(db, limit)
    },
    table<V>(name: string): Table<V> {
      open()
      const table = tables.get(name) ?? createSqliteTable<unknown>(parts, name)
      tables.set(name, table)
      return table as Table<V>
    },
    shards<V>(name: string, count: number): Shards<V> {
      open()
      const found = shards.get(name) ?? createSqliteShards<unknown>(parts, name, count)
      shards.set(name, found)
      return found as Shards<V>
    },
    journal<V>(name: string, retentionMs: number): Journal<V> {
      open()
      const found = journals.get(name) ?? createSqliteJournal<unknown>(parts, name, retentionMs)
      journals.set(name, found)
      return found as Journal<V>
    },
    requests: createLocalRequests(open, closed),
    async close() {
      closing.abort()
      commits.flush()
      archive.close()
      unlock?.()
    },
  }
}
