/**
 * Removes events and rejected items older than the retention from the embedded log, in small steps between which commits and
 * reads run, and returns the space of their pages. Readers then see a log that begins later.
 */
import type { Archive } from '../archive/store/archive.ts'
import { isoMillis } from '../core/dates.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/durations.ts'
import { isBridgeError, messageOf } from '../errors.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { sleep } from '../lifecycle/clock.ts'
import type { Logger } from '../obs/logger.ts'
import type { Database } from '../storage/database.ts'
import { fileSpace, hasSpareSpace, returnSpace, walBacklog } from '../storage/space.ts'
import { dropRejectedBefore } from './writer-tables.ts'

/** Pause between two runs, ms. */
const INTERVAL_MS = HOUR_MS
/** Events removed in one transaction: about 20 ms of work. */
const STEP_EVENTS = 100
/** Pause after each step, ms: removing takes a tenth of the time, also where a log of years gets a retention. */
const PAUSE_MS = 250
/** Steps after which the write-ahead log is looked at. */
const STEPS_PER_LOOK = 16
/** Pages of the write-ahead log that another program may keep from being copied before removing waits: 64 MiB. */
const MOST_WAL_PAGES = 8192
/** How long a log of a version that ignored the retention keeps everything after its first start with it. */
const NOTICE_MS = DAY_MS

/** Name in `meta`: the retention of the last start, and from when on it applies. Versions without it ignore the row. */
const META_NAME = 'retention'

/** What the retention works on. */
export interface RetentionParts {
  archive: Archive
  retentionMs: number
  /** Nothing is removed before, ms since 1970: what `noteRetention` has returned. */
  beginsMs: number
  clock: Clock
  logger: Logger
}

/**
 * Stores which retention this start has (null: everything is kept), and returns from when on it applies, ms since 1970: at
 * once, or after a day of notice where the log was written by a version that ignored the setting.
 * @throws BridgeError as `Archive`
 */
export function noteRetention(archive: Archive, retentionMs: number | null, nowMs: number): number {
  const { db } = archive
  const row = db.prepare<{ value: string }>('SELECT value FROM meta WHERE name = ?').get(META_NAME)
  const [knownMs, knownBeginsMs] = row === undefined ? [undefined, 0] : readNote(row.value)
  const isEarlier = row === undefined && archive.latest > 0 && retentionMs !== null
  const stillMs = knownMs === retentionMs ? Math.min(knownBeginsMs, nowMs + NOTICE_MS) : nowMs
  const beginsMs = isEarlier ? nowMs + NOTICE_MS : stillMs
  const value = JSON.stringify([retentionMs, beginsMs])
  if (value !== row?.value)
    archive.transaction(() =>
      db.prepare('INSERT OR REPLACE INTO meta(name, value) VALUES (?, ?)').run(META_NAME, value),
    )
  return beginsMs
}

function readNote(text: string): [retentionMs: number | null, beginsMs: number] {
  return JSON.parse(text) as [number | null, number]
}

/**
 * Applies the retention from `beginsMs` on, every hour until the signal aborts, then resolves. What the disk refuses is
 * retried an hour later.
 * @throws BridgeError `log_damaged`
 */
export async function runRetention(parts: RetentionParts, signal: AbortSignal): Promise<void> {
  const { archive, beginsMs, clock, logger } = parts
  if (beginsMs > clock.now()) {
    logger.warn('log.retention_begins', { from: isoMillis(beginsMs) })
    await sleep(clock, beginsMs - clock.now(), signal)
  }
  if (!signal.aborted && !fileSpace(archive.db).isIncremental) logger.info('log.space_kept')
  while (!signal.aborted) {
    try {
      await removeExpired(parts, signal)
      await returnFreeSpace(parts, signal)
    } catch (error) {
      if (!isBridgeError(error, 'log_unavailable')) throw error
      logger.warn('log.not_pruned', { reason: messageOf(error) })
    }
    await sleep(clock, INTERVAL_MS, signal)
  }
}

/** Removes what is beyond the retention now, with a pause after each step. */
async function removeExpired(
  { archive, retentionMs, clock, logger }: RetentionParts,
  signal: AbortSignal,
): Promise<void> {
  const { db, oldest } = archive
  const beforeMs = presentMs(db, clock.now()) - retentionMs
  for (let step = 1; !signal.aborted; step++) {
    const first = firstSince(db, beforeMs)
    if (first === null || archive.prune(first, STEP_EVENTS) === 0) break
    await sleep(clock, PAUSE_MS, signal)
    if (step % STEPS_PER_LOOK === 0) await untilWalIsCopied(db, { clock, logger }, signal)
  }
  const rejected = signal.aborted ? 0 : dropRejectedBefore(db, isoMillis(beforeMs))
  const events = archive.oldest - oldest
  if (events + rejected > 0) logger.info('log.pruned', { events, rejected, oldest: archive.oldest })
}

/**
 * The time from which ages count: that of the newest announcement where our clock is ahead of it. So a machine whose clock
 * is years ahead removes nothing that is young.
 */
function presentMs(db: Database, nowMs: number): number {
  const newest = db
    .prepare<{ time_ms: number }>(
      'SELECT time_ms FROM facts WHERE guid IS NOT NULL ORDER BY sequence DESC LIMIT 1',
    )
    .get()
  return Math.min(nowMs, newest?.time_ms ?? 0)
}

/** The first of the next events that was recorded at or after `beforeMs`, else what follows them; null where the oldest was. */
function firstSince(db: Database, beforeMs: number): number | null {
  const rows = db
    .prepareTuples<readonly [sequence: number, recordedMs: number]>(
      'SELECT sequence, recorded_ms FROM facts ORDER BY sequence LIMIT ?',
    )
    .all(STEP_EVENTS)
  const kept = rows.findIndex(([, recordedMs]) => recordedMs >= beforeMs)
  const last = kept < 0 ? rows.at(-1) : rows[kept - 1]
  return last === undefined ? null : last[0] + 1
}

/** Waits while another program reads an old state of the file, which keeps the write-ahead log from being copied. */
async function untilWalIsCopied(
  db: Database,
  { clock, logger }: { clock: Clock; logger: Logger },
  signal: AbortSignal,
): Promise<void> {
  for (let isSaid = false; !signal.aborted && walBacklog(db) > MOST_WAL_PAGES; isSaid = true) {
    if (!isSaid) logger.warn('log.pruning_waits')
    await sleep(clock, MINUTE_MS, signal)
  }
}

async function returnFreeSpace(
  { archive: { db }, clock, logger }: RetentionParts,
  signal: AbortSignal,
): Promise<void> {
  const bytes = hasSpareSpace(fileSpace(db)) ? await returnSpace({ db, clock }, signal) : 0
  if (bytes > 0) logger.info('log.space_returned', { bytes })
}
