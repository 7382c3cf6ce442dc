/**
 * Measures the space of an open database file, and returns free pages to the file system in small steps. Without this a
 * file never shrinks: SQLite keeps the pages of deleted rows for new ones.
 */
import type { Clock } from '../lifecycle/clock.ts'
import { sleep } from '../lifecycle/clock.ts'
import type { Database } from './database.ts'

/** The pages of a database file. */
export interface FileSpace {
  pageBytes: number
  pages: number
  /** Pages that hold nothing and wait for new rows. */
  freePages: number
  /** Whether free pages can be returned one by one. A file made before that was possible needs one `VACUUM`. */
  isIncremental: boolean
}

/** How the space of a file is returned. */
export interface SpacePace {
  /** Pages of one step: some milliseconds of work. */
  stepPages: number
  /** Pause between two steps, ms. */
  pauseMs: number
  /** Free bytes that stay for new rows, and the share of the file that does; the larger of both. */
  keepBytes: number
  keepShare: number
}

const PACE: SpacePace = { stepPages: 64, pauseMs: 100, keepBytes: 16 * 1024 * 1024, keepShare: 0.1 }

/** `auto_vacuum` of a file whose free pages can be returned one by one. */
const INCREMENTAL = 2

/** The space of the file as it is now. */
export function fileSpace(db: Database): FileSpace {
  return {
    pageBytes: pragma(db, 'page_size'),
    pages: pragma(db, 'page_count'),
    freePages: pragma(db, 'freelist_count'),
    isIncremental: pragma(db, 'auto_vacuum') === INCREMENTAL,
  }
}

/** Bytes of the file that are in use; deleted rows leave room in it. */
export function usedBytes(db: Database): number {
  const { pages, freePages, pageBytes } = fileSpace(db)
  return (pages - freePages) * pageBytes
}

/** Whether the file has more free pages than it keeps for new rows. */
export function hasSpareSpace(space: FileSpace, pace = PACE): boolean {
  return space.freePages > keptPages(space, pace)
}

/**
 * Returns free pages beyond those that stay for new rows, until the signal aborts. A file that cannot return them is left
 * alone.
 * @returns the bytes returned
 * @throws BridgeError as `Database`
 */
export async function returnSpace(
  { db, clock }: { db: Database; clock: Clock },
  signal: AbortSignal,
  pace = PACE,
): Promise<number> {
  const before = fileSpace(db)
  if (!before.isIncremental) return 0
  let space = before
  while (!signal.aborted && hasSpareSpace(space, pace)) {
    db.exec(`PRAGMA incremental_vacuum(${Math.min(pace.stepPages, space.freePages)})`)
    space = fileSpace(db)
    await sleep(clock, pace.pauseMs, signal)
  }
  return (before.pages - space.pages) * before.pageBytes
}

/**
 * Copies what it can of the write-ahead log into the file, without waiting for anybody.
 * @returns the pages that it could not copy, because another process still reads a state before them
 */
export function walBacklog(db: Database): number {
  const row = db.prepare<{ log: number; checkpointed: number }>('PRAGMA wal_checkpoint(PASSIVE)').get()
  return row === undefined ? 0 : Math.max(0, row.log - row.checkpointed)
}

function keptPages({ pages, pageBytes }: FileSpace, { keepBytes, keepShare }: SpacePace): number {
  return Math.max(Math.ceil(keepBytes / pageBytes), Math.ceil(pages * keepShare))
}

function pragma(db: Database, name: string): number {
  return db.prepareTuples<readonly [number]>(`PRAGMA ${name}`).get()?.[0] ?? 0
}
