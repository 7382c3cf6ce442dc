/**
 * Wraps node:sqlite: opens databases, prepares statements, runs transactions, and translates SQLite errors into errors with a
 * hint for the operator.
 */
import { statSync } from 'node:fs'
import { backup, DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { BridgeError, isBridgeError, messageOf } from '../errors.ts'

/** A value of a statement parameter. */
export type Value = SQLInputValue

/** A prepared statement whose rows have the columns of `Row`. Every method throws as `Database` does. */
export interface Statement<Row> {
  run(...values: Value[]): void
  /** The first row, or undefined. */
  get(...values: Value[]): Row | undefined
  all(...values: Value[]): Row[]
  /** Rows as they are found. Finish the loop without awaiting: an open iterator keeps the write-ahead log from shrinking. */
  iterate(...values: Value[]): Generator<Row, void, undefined>
}

/**
 * An open database. Every operation throws BridgeError: `log_damaged` when the file contradicts itself,
 * `log_unavailable` when the disk is full, fails, is read-only or another process locks the file.
 * A transaction, and `run` outside of one, also throw `log_unavailable` while the path no longer names the file: SQLite
 * would go on in a file without a name, and all that it takes would be gone with the process.
 */
export interface Database {
  /** The statement of that SQL, prepared once. */
  prepare<Row = Record<string, never>>(sql: string): Statement<Row>
  /** As `prepare`, with rows as tuples in column order: half the cost of objects for many short rows. */
  prepareTuples<Row extends readonly unknown[]>(sql: string): Statement<Row>
  /** Runs statements that return nothing. */
  exec(sql: string): void
  /** Runs `work` between BEGIN IMMEDIATE and COMMIT; if it throws, rolls back and rethrows. Not nestable. */
  transaction<T>(work: () => T): T
  /** Callable twice. */
  close(): void
}

const BUSY = { code: 'log_unavailable', hint: 'Another program has the file open; close it.' } as const
const DAMAGED = {
  code: 'log_damaged',
  hint: 'Stop the process, and put the last good backup back with bridge restore: it sets the present files aside.',
} as const

/** The result codes of SQLite (sqlite.org/rescode.html) that an operator can act on. */
const resultCodes: Readonly<Record<number, { code: 'log_damaged' | 'log_unavailable'; hint: string }>> = {
  5: BUSY,
  6: BUSY,
  8: {
    code: 'log_unavailable',
    hint: 'The file or its directory is not writable; give this user write permission.',
  },
  10: { code: 'log_unavailable', hint: 'The disk failed; check its health and the system log.' },
  11: DAMAGED,
  13: {
    code: 'log_unavailable',
    hint: 'The disk is full: free space on the volume of that file. A bridge that runs then goes on by itself; one that has ended must be started again.',
  },
  14: {
    code: 'log_unavailable',
    hint: 'The file cannot be opened; check the data directory and its permissions.',
  },
  19: DAMAGED,
  26: {
    code: 'log_damaged',
    hint: 'The file is not a database of this program: put a backup back with bridge restore, or use another data directory.',
  },
}

/** Pages of the write-ahead log before it is copied into the file: 16 MiB at 8 KiB a page. */
const CHECKPOINT_PAGES = 2000
/**
 * Pages of a file that are kept in memory, KiB: as many grow with any file. Searches and inserts of a store of a million events
 * take as long as with 32 MiB, because the operating system keeps the file too.
 */
const CACHE_KIB = 8 * 1024

/** Pages that a copy reads in one step: all of them, so that it shows one moment and no writer makes it start again. */
const ALL_PAGES = 2 ** 31 - 1

/** How a database is opened. */
export interface DatabaseOptions {
  path: string
  /** Whether a committed transaction survives loss of power; otherwise only the end of the process. */
  durable: boolean
  /** Pages that are kept in memory, KiB; absent: 8 MiB. */
  cacheKib?: number
  /** Called with every error that means damage, before it is thrown. */
  onDamage?: (error: BridgeError) => void
}

/** Translates an error of SQLite. */
type FaultOf = (error: unknown) => unknown

/**
 * Opens or creates the database at `path` (`:memory:` for one that is never written).
 * @throws BridgeError as `Database`
 */
export function openDatabase(options: DatabaseOptions): Database {
  const faultOf = (error: unknown): unknown => {
    const fault = translated(options.path, error)
    if (isBridgeError(fault, 'log_damaged')) options.onDamage?.(fault)
    return fault
  }
  const raw = guarded(faultOf, () => new DatabaseSync(options.path, { timeout: 5000 }))
  const db = wrapped({ raw, faultOf, requireInPlace: placeOf(options.path) })
  try {
    // Only a new file takes it, and an older one would be written to.
    const isNew = db.prepareTuples<readonly [number]>('PRAGMA page_count').get()?.[0] === 0
    db.exec(`
      PRAGMA page_size = 8192;
      ${isNew ? 'PRAGMA auto_vacuum = INCREMENTAL;' : ''}
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = ${options.durable ? 'FULL' : 'NORMAL'};
      PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};
      PRAGMA journal_size_limit = ${64 * 1024 * 1024};
      PRAGMA cache_size = -${options.cacheKib ?? CACHE_KIB};
      PRAGMA secure_delete = ON;
    `)
  } catch (error) {
    db.close()
    throw error
  }
  return db
}

/**
 * Locks the file at `path` for this process until the returned function is called or the process ends; the operating
 * system releases the lock even after a crash.
 * @returns null when another process holds the lock
 * @throws BridgeError as `Database`
 */
export function lockFile(path: string): (() => void) | null {
  const raw = guarded(
    (error) => translated(path, error),
    () => new DatabaseSync(path, { timeout: 0 }),
  )
  try {
    raw.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE')
  } catch (error) {
    raw.close()
    if (baseCode(error) === 5) return null
    throw translated(path, error)
  }
  return () => {
    if (raw.isOpen) raw.close()
  }
}

/**
 * Copies the database at `source` to a new file as it is at one moment, while other processes read and write it. The copy is
 * one file without a write-ahead log.
 * @throws BridgeError as `Database`
 */
export async function copyDatabase(source: string, target: string): Promise<void> {
  const faultOf = (error: unknown): unknown => translated(source, error)
  const raw = guarded(faultOf, () => new DatabaseSync(source, { readOnly: true, timeout: 5000 }))
  try {
    await backup(raw, target, { rate: ALL_PAGES })
  } catch (error) {
    throw faultOf(error)
  } finally {
    raw.close()
  }
  const copyFault = (error: unknown): unknown => translated(target, error)
  const copy = guarded(copyFault, () => new DatabaseSync(target))
  try {
    guarded(copyFault, () => copy.exec('PRAGMA journal_mode = DELETE'))
  } finally {
    copy.close()
  }
}

/**
 * Reads all of an open database and compares its tables with their indexes; minutes for some gigabytes.
 * @throws BridgeError `log_damaged` with the first contradiction
 */
export function checkDatabase(db: Database): void {
  const found = db.prepare<{ integrity_check: string }>('PRAGMA integrity_check(1)').get()?.integrity_check
  if (found === 'ok') return
  throw new BridgeError('log_damaged', `the database contradicts itself: ${found}`, { hint: DAMAGED.hint })
}

/**
 * Gives a function that throws where the path does not name the same file any more. SQLite itself compares the inode so, but
 * not where it has a write-ahead log. A database without a file never has a place.
 */
function placeOf(path: string): () => void {
  const opened = identityOf(path)
  return () => {
    if (identityOf(path) === opened) return
    throw new BridgeError(
      'log_unavailable',
      `${path} was deleted or replaced while this process has it open`,
      {
        hint: 'Nothing more is written. If the file was moved, move it back: the process then continues by itself. If it was deleted, its events can be read over the API until this process ends; stop it then, and put the last good backup back with bridge restore.',
      },
    )
  }
}

/** Device and inode; null where there is no file, or it cannot be looked at. */
function identityOf(path: string): string | null {
  try {
    const stats = statSync(path, { throwIfNoEntry: false })
    return stats === undefined ? null : `${stats.dev} ${stats.ino}`
  } catch {
    return null
  }
}

interface Opened {
  raw: DatabaseSync
  faultOf: FaultOf
  /** Throws where the file is no longer at its path. */
  requireInPlace: () => void
}

function wrapped(opened: Opened): Database {
  const { raw, faultOf, requireInPlace } = opened
  const statements = new Map<string, Statement<unknown>>()
  const tuples = new Map<string, Statement<unknown>>()
  const exec = (sql: string): void => guarded(faultOf, () => raw.exec(sql))
  const once = <Row>(known: Map<string, Statement<unknown>>, sql: string): Statement<Row> => {
    const statement = known.get(sql) ?? prepared<unknown>(opened, sql, known === tuples)
    known.set(sql, statement)
    return statement as Statement<Row>
  }
  return {
    prepare: (sql) => once(statements, sql),
    prepareTuples: (sql) => once(tuples, sql),
    exec,
    transaction(work) {
      requireInPlace()
      exec('BEGIN IMMEDIATE')
      try {
        const result = work()
        exec('COMMIT')
        return result
      } catch (error) {
        if (raw.isTransaction) exec('ROLLBACK')
        throw error
      }
    },
    close() {
      if (raw.isOpen) raw.close()
    },
  }
}

function prepared<Row>(
  { raw, faultOf, requireInPlace }: Opened,
  sql: string,
  asTuples: boolean,
): Statement<Row> {
  const statement = guarded(faultOf, () => raw.prepare(sql))
  statement.setReturnArrays(asTuples)
  return {
    run(...values) {
      if (!raw.isTransaction) requireInPlace()
      guarded(faultOf, () => statement.run(...values))
    },
    get: (...values) => guarded(faultOf, () => statement.get(...values)) as Row | undefined,
    all: (...values) => guarded(faultOf, () => statement.all(...values)) as Row[],
    *iterate(...values) {
      const rows = guarded(faultOf, () => statement.iterate(...values))
      try {
        for (const row of rows) yield row as Row
      } catch (error) {
        throw faultOf(error)
      }
    },
  }
}

function guarded<T>(faultOf: FaultOf, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw faultOf(error)
  }
}

function translated(path: string, error: unknown): unknown {
  const known = resultCodes[baseCode(error)]
  if (known === undefined) return error
  return new BridgeError(known.code, `${path}: ${messageOf(error)}`, { hint: known.hint, cause: error })
}

/** The primary result code, or 0 for an error that is not of SQLite. */
function baseCode(error: unknown): number {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : 0
  return typeof code === 'number' ? code & 0xff : 0
}
