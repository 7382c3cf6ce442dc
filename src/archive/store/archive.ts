/**
 * Stores the ordered events of the log with their indexes in one SQLite file; a write that leaves a hole in the sequence is
 * refused. With the embedded log this file is the log itself; with Kafka it is a replica.
 */
import { encodeCursor } from '../../core/cursor.ts'
import { type Committed, eventIdOf } from '../../core/event.ts'
import { BridgeError } from '../../errors.ts'
import { atOnce, type Steps } from '../../lifecycle/slices.ts'
import type { EarlierEpochs } from '../../log/events.ts'
import type { Database } from '../../storage/database.ts'
import { openDatabase } from '../../storage/database.ts'
import { catchUpLinks, markLinks } from './catch-up.ts'
import { readEarlierEpochs, sharedThrough, writeEarlierEpochs } from './earlier-epochs.ts'
import { removeOldest } from './prune.ts'
import { insertEvent, readCommitted } from './record.ts'
import { clearTables, ensureSchema } from './schema.ts'
import { finishUpgrade, type UpgradeProgress } from './upgrade.ts'

/** The epoch of a cursor that was made before the log had one. Such a cursor is before the first event. */
export const NO_EPOCH = '00000000'

/** The latest revision stored of a guid. */
export interface StoredRevision {
  revision: number
  /** `contentHash` of its item. */
  hash: string
}

/** The events that this node stores. Every operation throws BridgeError as `Database` does. */
export type Archive = ReturnType<typeof archiveOver>

/** How the archive is opened. */
export interface ArchiveOptions {
  /** Path of the file, or `:memory:`. */
  path: string
  /** The `kind` that upstream gives its own categories. */
  nativeKind: string
  /** As in `openDatabase`; false for a replica, which can be rebuilt. */
  durable: boolean
  /** As in `openDatabase`. */
  onDamage?: (error: BridgeError) => void
  /** Called with the progress of upgrading a file of an older version, which takes a minute for a million events. */
  onUpgrade?: (progress: UpgradeProgress) => void
}

/** Opens or creates the archive. A file of the current version is opened without a scan, however large. */
export function openArchive(options: ArchiveOptions): Archive {
  return atOnce(openArchiveInSteps(options))
}

/** As `openArchive`, with a step for each batch of an upgrade. */
export function* openArchiveInSteps(options: ArchiveOptions): Steps<Archive> {
  const db = openDatabase(options)
  try {
    ensureSchema(db)
    yield* finishUpgrade(db, options.nativeKind, options.onUpgrade)
    yield* catchUpLinks(db, options.onUpgrade)
    return archiveOver(db, options.nativeKind)
  } catch (error) {
    db.close()
    throw error
  }
}

/** Cached first and last position of the store. */
interface Extent {
  epoch: string | null
  oldest: number
  latest: number
  /** Latest time of any event, ms since 1970. */
  maxTimeMs: number
}

function archiveOver(db: Database, nativeKind: string) {
  let extent = readExtent(db)
  let filling = 1

  const write = (committed: readonly Committed[]): void => {
    for (const event of committed) {
      checkNext(extent, event)
      if (extent.epoch === null) setEpoch(db, event.epoch)
      insertEvent(db, event, extent.maxTimeMs, nativeKind)
      const oldest = extent.latest === 0 ? event.sequence : extent.oldest
      const maxTimeMs = Math.max(extent.maxTimeMs, event.timeMs)
      extent = { epoch: event.epoch, oldest, latest: event.sequence, maxTimeMs }
    }
    if (committed.length > 0) markLinks(db, extent.latest)
  }
  const transaction = <T>(work: () => T): T => {
    try {
      return db.transaction(work)
    } finally {
      extent = readExtent(db)
    }
  }

  return {
    db,
    /** The `kind` that upstream gives its own categories. */
    nativeKind,
    /** null before the first event, or before the first writer of the embedded log. */
    get epoch(): string | null {
      return extent.epoch
    },
    /** Sequence of the first event kept; `latest + 1` where there is none. */
    get oldest(): number {
      return extent.oldest
    },
    /** Sequence of the last event; 0 before the first. */
    get latest(): number {
      return extent.latest
    },
    /** Adds events in their order, all or nothing. Throws `log_damaged` on a hole in the sequence or another epoch. */
    append: (committed: readonly Committed[]): void => transaction(() => write(committed)),
    /** As `append`, within a `transaction` of the caller. */
    write,
    /** Runs `work` as one transaction. If it is rolled back, `epoch`, `oldest` and `latest` are too. */
    transaction,
    /** Sets the epoch of a store without events, within a `transaction`. */
    setEpoch: (epoch: string): void => setEpoch(db, epoch),
    /** The latest revision of each of these guids that is stored. */
    known: (guids: readonly string[]): Map<string, StoredRevision> => latestRevisions(db, guids),
    /** As `readCommitted`; by default without a bound on their text. */
    committed: (after: number, limit: number, mostCharacters = Number.POSITIVE_INFINITY): Committed[] =>
      readCommitted(db, after, { limit, mostCharacters }, extent.epoch ?? NO_EPOCH),
    /** The resume point just after `sequence`. For an event that is not stored it has the time of the nearest one. */
    cursorAt: (sequence: number): string =>
      encodeCursor({ epoch: extent.epoch ?? NO_EPOCH, sequence, timeMs: timeAt(db, sequence) }),
    /** The time of the event at `sequence`, ms since 1970; null where it is not stored. */
    timeOf: (sequence: number): number | null =>
      db.prepare<{ time_ms: number }>('SELECT time_ms FROM facts WHERE sequence = ?').get(sequence)
        ?.time_ms ?? null,
    /** When the bridge first held the event at `sequence`, ms since 1970; null where it is not stored. */
    recordedAt: (sequence: number): number | null =>
      db.prepare<{ recorded_ms: number }>('SELECT recorded_ms FROM facts WHERE sequence = ?').get(sequence)
        ?.recorded_ms ?? null,
    /** Stores which epochs the log had before; null: it was never restored. */
    setEarlierEpochs: (earlier: EarlierEpochs | null): void =>
      db.transaction(() => writeEarlierEpochs(db, earlier)),
    /** The last sequence that this log may share with another epoch; null where it was never restored. */
    sharedThrough: (epoch: string): number | null => sharedThrough(readEarlierEpochs(db), epoch),
    /** The position before the lowest sequence whose time is at or after `timeMs`; `latest` where there is none. */
    sequenceSince: (timeMs: number): number => {
      const record = db
        .prepare<{ sequence: number }>(
          'SELECT sequence FROM highs WHERE time_ms >= ? ORDER BY time_ms LIMIT 1',
        )
        .get(timeMs)
      return record === undefined ? extent.latest : record.sequence - 1
    },
    /**
     * Deletes the oldest events before `sequence`, at most `limit`, but never the newest event of all: it marks the end of
     * the store. Returns how many; 0 = done.
     */
    prune: (sequence: number, limit: number): number =>
      transaction(() => removeOldest(db, Math.min(sequence, extent.latest), limit)),
    /** Sequence by event id, for those of these disclosures that are stored up to the sequence `latest`. */
    sequencesOf: (ids: readonly string[], latest: number): ReadonlyMap<string, number> =>
      sequencesOf(db, ids, latest),
    /** Ids of the events of that guid that are stored up to the sequence `latest`, the oldest revision first. */
    revisionsOf: (guid: string, latest: number): string[] =>
      db
        .prepare<{ revision: number }>(
          'SELECT revision FROM facts WHERE guid = ? AND sequence <= ? ORDER BY revision',
        )
        .all(guid, latest)
        .map(({ revision }) => eventIdOf(guid, revision)),
    /** When the first event kept was recorded, ms since 1970; null where none is. */
    oldestRecordedMs: (): number | null =>
      db.prepare<{ recorded_ms: number }>('SELECT recorded_ms FROM facts ORDER BY sequence LIMIT 1').get()
        ?.recorded_ms ?? null,
    /** Deletes everything, epoch included, so that the replica can be filled again. */
    clear(): void {
      filling += 1
      transaction(() => clearTables(db))
    },
    /** Another number after each `clear`: what was derived from the events before it is no longer true. */
    get filling(): number {
      return filling
    },
    /** Callable twice. */
    close: (): void => db.close(),
  }
}

function readExtent(db: Database): Extent {
  const epoch = db.prepare<{ value: string }>("SELECT value FROM meta WHERE name = 'epoch'").get()
  const first = db.prepare<{ low: number | null }>('SELECT min(sequence) AS low FROM events').get()
  const last = db.prepare<{ high: number | null }>('SELECT max(sequence) AS high FROM events').get()
  const record = db.prepare<{ high: number | null }>('SELECT max(time_ms) AS high FROM highs').get()
  const latest = last?.high ?? 0
  return {
    epoch: epoch?.value ?? null,
    oldest: first?.low ?? latest + 1,
    latest,
    maxTimeMs: record?.high ?? Number.NEGATIVE_INFINITY,
  }
}

function checkNext(extent: Extent, event: Committed): void {
  const hole = extent.latest !== 0 && event.sequence !== extent.latest + 1
  if (!hole && (extent.epoch === null || extent.epoch === event.epoch)) return
  throw new BridgeError(
    'log_damaged',
    `event ${event.sequence} of epoch ${event.epoch} cannot be stored after event ${extent.latest} of epoch ${extent.epoch}: sequences must be consecutive`,
    {
      hint: 'With Kafka: stop and delete copy.db in the data directory, the next start refills it. With the embedded log: put a backup back with bridge restore.',
    },
  )
}

function setEpoch(db: Database, epoch: string): void {
  db.prepare("INSERT INTO meta(name, value) VALUES ('epoch', ?)").run(epoch)
}

function latestRevisions(db: Database, guids: readonly string[]): Map<string, StoredRevision> {
  const newest = db.prepare<{ revision: number; hash: string }>(
    'SELECT revision, hash FROM facts WHERE guid = ? ORDER BY revision DESC LIMIT 1',
  )
  const revisions = new Map<string, StoredRevision>()
  for (const guid of guids) {
    const row = newest.get(guid)
    if (row !== undefined) revisions.set(guid, { revision: row.revision, hash: row.hash })
  }
  return revisions
}

/** By event id: a guid, or a guid with its revision. Gap events are not indexed and never found. */
function sequencesOf(db: Database, ids: readonly string[], latest: number): ReadonlyMap<string, number> {
  const find = db.prepare<{ sequence: number }>(
    'SELECT sequence FROM facts WHERE guid = ? AND revision = ? AND sequence <= ?',
  )
  const found = new Map<string, number>()
  for (const id of ids) {
    const revised = /^(.+)#([2-9]|[1-9]\d{1,8})$/.exec(id)
    const row =
      find.get(id, 1, latest) ??
      (revised === null ? undefined : find.get(revised[1] ?? '', Number(revised[2]), latest))
    if (row !== undefined) found.set(id, row.sequence)
  }
  return found
}

function timeAt(db: Database, sequence: number): number {
  if (sequence === 0) return 0
  const after = db.prepare<{ time_ms: number }>(
    'SELECT time_ms FROM facts WHERE sequence >= ? ORDER BY sequence LIMIT 1',
  )
  const last = db.prepare<{ time_ms: number }>('SELECT time_ms FROM facts ORDER BY sequence DESC LIMIT 1')
  return (after.get(sequence) ?? last.get())?.time_ms ?? 0
}
