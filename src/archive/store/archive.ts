/**
 * The ordered copy of the log in one SQLite file, with its indexes. Owns what is written for each event and that
 * sequences follow one another. Refuses to answer filters (`query.ts`) and to assign sequences: the log does.
 * On the embedded log the same file is the log itself (`src/log-embedded`).
 */
import { encodeCursor } from '../../core/cursor.ts'
import type { Committed } from '../../core/event.ts'
import { BridgeError } from '../../errors.ts'
import type { Database } from '../../storage/database.ts'
import { openDatabase } from '../../storage/database.ts'
import { removeOldest } from './prune.ts'
import { insertEvent, readCommitted } from './record.ts'
import { clearTables, ensureSchema } from './schema.ts'
import { finishUpgrade, type UpgradeProgress } from './upgrade.ts'

/** Stands for the epoch in a cursor that is made before the log has one. Such a cursor is before the first event. */
export const NO_EPOCH = '00000000'

/** The latest revision held of a guid. */
export interface Held {
  revision: number
  /** `contentHash` of its item. */
  hash: string
}

/** Every operation throws BridgeError as `Database` does. */
export interface Archive {
  readonly db: Database
  /** null before the first event, or before the embedded log's first claim. */
  readonly epoch: string | null
  /** Sequence of the first event kept; `latest + 1` where there is none. */
  readonly oldest: number
  /** Sequence of the last event; 0 before the first. */
  readonly latest: number
  /** Adds events in their order, all or nothing. Throws `log_damaged` on a hole in the sequence or another epoch. */
  append(committed: readonly Committed[]): void
  /** As `append`, inside a `transaction` of the caller. */
  write(committed: readonly Committed[]): void
  /** Runs `work` as one transaction; what this archive says of itself is right again however it ends. */
  transaction<T>(work: () => T): T
  /** Gives a store without events its epoch. Inside a `transaction`. */
  begin(epoch: string): void
  /** The latest revision of each guid that is held. */
  known(guids: readonly string[]): Map<string, Held>
  /** Events with a sequence greater than `after`, at most `limit`, as they were committed. */
  committed(after: number, limit: number): Committed[]
  /** The resume point just after `sequence`. One that is not held (dropped, or not yet here) has the nearest's time. */
  cursorAt(sequence: number): string
  /** The position before the lowest sequence whose time is at or after `timeMs`; `latest` where there is none. */
  sequenceSince(timeMs: number): number
  /**
   * Forgets the oldest events before `sequence`, at most `limit`, but never the newest event of all, which says where
   * this store ends. Returns how many; 0 = done.
   */
  forget(sequence: number, limit: number): number
  /** When the first event kept was recorded, ms since 1970; null where none is. */
  oldestRecordedMs(): number | null
  /** Forgets everything, epoch included, so that the copy can be filled afresh. */
  clear(): void
  /** Callable twice. */
  close(): void
}

export interface ArchiveOptions {
  /** Of the file, or `:memory:`. */
  path: string
  /** The kind upstream writes for its own categories. */
  nativeKind: string
  /** As `openDatabase`; a copy that can be rebuilt need not be. */
  durable: boolean
  /** As `openDatabase`. */
  onDamage?: (error: BridgeError) => void
  /** Told how far the upgrade of a file of an older version has come: it takes a minute for a million events. */
  onUpgrade?: (progress: UpgradeProgress) => void
}

/** Opens or makes the archive. A file of this version is never read through, however large. */
export function openArchive(options: ArchiveOptions): Archive {
  const db = openDatabase(options)
  try {
    ensureSchema(db)
    finishUpgrade(db, options.nativeKind, options.onUpgrade)
    return archiveOver(db, options.nativeKind)
  } catch (error) {
    db.close()
    throw error
  }
}

/** What the store says of itself, kept beside it so that asking is free. */
interface Ends {
  epoch: string | null
  oldest: number
  latest: number
  /** Latest time of any event. */
  highMs: number
}

function archiveOver(db: Database, nativeKind: string): Archive {
  let ends = readEnds(db)

  const write = (committed: readonly Committed[]): void => {
    for (const event of committed) {
      checkNext(ends, event)
      if (ends.epoch === null) setEpoch(db, event.epoch)
      insertEvent(db, event, ends.highMs, nativeKind)
      const oldest = ends.latest === 0 ? event.sequence : ends.oldest
      const highMs = Math.max(ends.highMs, event.timeMs)
      ends = { epoch: event.epoch, oldest, latest: event.sequence, highMs }
    }
  }
  const transaction = <T>(work: () => T): T => {
    try {
      return db.transaction(work)
    } finally {
      ends = readEnds(db)
    }
  }

  return {
    db,
    get epoch() {
      return ends.epoch
    },
    get oldest() {
      return ends.oldest
    },
    get latest() {
      return ends.latest
    },
    append: (committed) => transaction(() => write(committed)),
    write,
    transaction,
    begin: (epoch) => setEpoch(db, epoch),
    known: (guids) => knownRevisions(db, guids),
    committed: (after, limit) => readCommitted(db, after, limit, ends.epoch ?? NO_EPOCH),
    cursorAt: (sequence) =>
      encodeCursor({ epoch: ends.epoch ?? NO_EPOCH, sequence, timeMs: timeAt(db, sequence) }),
    sequenceSince: (timeMs) => {
      const high = db
        .prepare<{ sequence: number }>(
          'SELECT sequence FROM highs WHERE time_ms >= ? ORDER BY time_ms LIMIT 1',
        )
        .get(timeMs)
      return high === undefined ? ends.latest : high.sequence - 1
    },
    forget: (sequence, limit) => transaction(() => removeOldest(db, Math.min(sequence, ends.latest), limit)),
    oldestRecordedMs: () =>
      db.prepare<{ recorded_ms: number }>('SELECT recorded_ms FROM facts ORDER BY sequence LIMIT 1').get()
        ?.recorded_ms ?? null,
    clear: () => transaction(() => clearTables(db)),
    close: () => db.close(),
  }
}

function readEnds(db: Database): Ends {
  const epoch = db.prepare<{ value: string }>("SELECT value FROM meta WHERE name = 'epoch'").get()
  const first = db.prepare<{ low: number | null }>('SELECT min(sequence) AS low FROM events').get()
  const last = db.prepare<{ high: number | null }>('SELECT max(sequence) AS high FROM events').get()
  const highs = db.prepare<{ high: number | null }>('SELECT max(time_ms) AS high FROM highs').get()
  const latest = last?.high ?? 0
  return {
    epoch: epoch?.value ?? null,
    oldest: first?.low ?? latest + 1,
    latest,
    highMs: highs?.high ?? Number.NEGATIVE_INFINITY,
  }
}

function checkNext(ends: Ends, event: Committed): void {
  const hole = ends.latest !== 0 && event.sequence !== ends.latest + 1
  if (!hole && (ends.epoch === null || ends.epoch === event.epoch)) return
  throw new BridgeError(
    'log_damaged',
    `event ${event.sequence} of epoch ${event.epoch} does not follow ${ends.latest} of epoch ${ends.epoch}`,
    { hint: 'Delete the copy in the data directory if the log is Kafka; restore a backup if it is the log.' },
  )
}

function setEpoch(db: Database, epoch: string): void {
  db.prepare("INSERT INTO meta(name, value) VALUES ('epoch', ?)").run(epoch)
}

function knownRevisions(db: Database, guids: readonly string[]): Map<string, Held> {
  const latest = db.prepare<{ revision: number; hash: string }>(
    'SELECT revision, hash FROM facts WHERE guid = ? ORDER BY revision DESC LIMIT 1',
  )
  const known = new Map<string, Held>()
  for (const guid of guids) {
    const row = latest.get(guid)
    if (row !== undefined) known.set(guid, { revision: row.revision, hash: row.hash })
  }
  return known
}

function timeAt(db: Database, sequence: number): number {
  if (sequence === 0) return 0
  const after = db.prepare<{ time_ms: number }>(
    'SELECT time_ms FROM facts WHERE sequence >= ? ORDER BY sequence LIMIT 1',
  )
  const last = db.prepare<{ time_ms: number }>('SELECT time_ms FROM facts ORDER BY sequence DESC LIMIT 1')
  return (after.get(sequence) ?? last.get())?.time_ms ?? 0
}
