/**
 * Restores the embedded log from a backup: copies and checks the backup, begins a new epoch in the copy, and puts it into the
 * place of the present log, whose files are set aside. The backup itself is only read.
 */
import { constants, copyFileSync, existsSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Archive, openArchive } from '../archive/store/archive.ts'
import { readEarlierEpochs } from '../archive/store/earlier-epochs.ts'
import { renewEpoch } from '../archive/store/renew-epoch.ts'
import type { UpgradeProgress } from '../archive/store/upgrade.ts'
import { BridgeError, isBridgeError, messageOf } from '../errors.ts'
import type { Clock } from '../lifecycle/clock.ts'
import type { RowChanges } from '../log/events.ts'
import { type EndedLog, earlierAfterRestore } from '../log-shared/earlier-epochs.ts'
import { newEpoch } from '../log-shared/epoch.ts'
import { placeRows } from '../log-shared/place-rows.ts'
import { openDatabase } from '../storage/database.ts'
import { checkContents, type LogContents, readContents, writeTakenAt } from './contents.ts'
import { LOG_FILE, syncPath } from './files.ts'
import { holderOf, lockDirectory, type Unlock } from './lock.ts'
import { finishSwap, stagingDirectory, swapIn } from './restore-swap.ts'
import { readStoredPlace } from './writer.ts'
import { raiseFence, writeRows } from './writer-tables.ts'

/** What to restore. */
export interface RestoreOptions {
  /** Locked meanwhile; created where it is missing. */
  dataDir: string
  /** A file that `bridge backup` has written, or a directory with a copy of a data directory. It is only read. */
  backup: string
  /** The kind upstream writes for its own categories, e.g. `Native`. */
  nativeKind: string
  clock: Clock
  /** Called with the progress of upgrading a backup of an older version. */
  onUpgrade?: (progress: UpgradeProgress) => void
  /** Called with the progress of writing the new epoch: the last sequence that has it. */
  onRenewed?: (sequence: number) => void
}

/** A backup that was copied into the data directory and checked, and has not replaced anything yet. */
export interface StagedRestore {
  /** What the backup holds; its epoch ends with the restore. */
  readonly backup: LogContents & { epoch: string }
  /** The rows of the writer's caller in the backup. */
  readonly rows: ReadonlyMap<string, string>
  /** What the data directory holds now; null where it holds no log, or one that cannot be read. */
  readonly present: LogContents | null
  /** Why the present log cannot be read; null where it can, or where there is none. */
  readonly presentFault: string | null
  /**
   * Begins a new epoch that keeps the events of the backup, writes these rows, and replaces the present log.
   * @returns the new epoch, and the directory with the files that were replaced; null where there were none
   */
  replace(rows: RowChanges): { epoch: string; replaced: string | null }
  /** Removes what is left of the preparation and unlocks the directory. Callable twice. */
  release(): void
}

/**
 * Locks the data directory, then copies the backup into it and checks the copy.
 * @throws BridgeError `log_locked` when a process uses the directory or the backup, `failed` when there is no backup,
 *   `log_damaged` when it fails the check, `log_unavailable`
 */
export function stageRestore(options: RestoreOptions): StagedRestore {
  const { dataDir, clock } = options
  const source = backupFile(options.backup, dataDir)
  const unlock = lockDirectory(dataDir, clock)
  const staging = stagingDirectory(dataDir)
  try {
    finishSwap(dataDir, clock.now())
    copyFiles(source, staging)
    return staged(options, openStaged(options, join(staging, LOG_FILE)), unlock)
  } catch (error) {
    rmSync(staging, { recursive: true, force: true })
    unlock()
    throw error
  }
}

function staged(
  options: RestoreOptions,
  { archive, contents }: { archive: Archive; contents: LogContents & { epoch: string } },
  unlock: Unlock,
): StagedRestore {
  const { dataDir, clock, onRenewed } = options
  const present = presentLog(join(dataDir, LOG_FILE))
  const { rows } = readStoredPlace(archive) ?? { rows: new Map<string, string>() }
  return {
    backup: contents,
    rows,
    present: present.contents,
    presentFault: present.fault,
    replace(changes) {
      const epoch = newEpoch()
      const { sequence } = contents
      const ended = { epoch: contents.epoch, earlier: readEarlierEpochs(archive.db) }
      const earlier = earlierAfterRestore(sequence, ended, present.ended)
      renewEpoch(archive.db, { epoch, earlier }, onRenewed)
      archive.transaction(() => {
        raiseFence(archive.db)
        writeTakenAt(archive.db, null)
        writeRows(archive.db, placeRows({ epoch: contents.epoch, sequence }, { epoch, sequence }))
        writeRows(archive.db, changes)
      })
      // One file without a write-ahead log: it is moved alone.
      archive.db.exec('PRAGMA journal_mode = DELETE')
      archive.close()
      syncPath(join(stagingDirectory(dataDir), LOG_FILE))
      return { epoch, replaced: swapIn(dataDir, clock.now()) }
    },
    release() {
      archive.close()
      rmSync(stagingDirectory(dataDir), { recursive: true, force: true })
      unlock()
    },
  }
}

/** The file of the backup. */
function backupFile(backup: string, dataDir: string): string {
  const path = resolve(backup)
  const found = statSync(path, { throwIfNoEntry: false })
  const file = found?.isDirectory() ? join(path, LOG_FILE) : path
  if (!existsSync(file)) {
    throw new BridgeError('failed', `there is no backup: ${file} does not exist`, {
      hint: 'Name a file that bridge backup has written, or a copy of a data directory.',
    })
  }
  const holder = found?.isDirectory() && path !== resolve(dataDir) ? holderOf(path) : null
  if (holder === null) return file
  throw new BridgeError(
    'log_locked',
    `${path} is in use by ${holder}, and a copy of it could be incomplete`,
    {
      hint: 'Copy it with bridge backup, and restore that file.',
    },
  )
}

/** Copies the database with its write-ahead log, which a copied data directory may have. */
function copyFiles(source: string, staging: string): void {
  try {
    rmSync(staging, { recursive: true, force: true })
    mkdirSync(staging)
    for (const suffix of ['', '-wal']) {
      if (!existsSync(`${source}${suffix}`)) continue
      copyFileSync(`${source}${suffix}`, join(staging, `${LOG_FILE}${suffix}`), constants.COPYFILE_FICLONE)
    }
  } catch (error) {
    throw new BridgeError('log_unavailable', `the backup cannot be copied: ${messageOf(error)}`, {
      hint: 'The volume of the data directory needs room for the backup beside the present files, and read access to it.',
    })
  }
}

function openStaged(
  { backup, nativeKind, onUpgrade }: RestoreOptions,
  path: string,
): { archive: Archive; contents: LogContents & { epoch: string } } {
  const contents = readingBackup(backup, () => checkedContents(path))
  const { epoch } = contents
  if (epoch === null) {
    throw new BridgeError(
      'failed',
      'the backup holds a log that was never used: there is nothing to restore',
      {
        hint: 'Start the bridge with an empty data directory instead.',
      },
    )
  }
  const archive = openArchive({ path, nativeKind, durable: true, ...(onUpgrade && { onUpgrade }) })
  return { archive, contents: { ...contents, epoch } }
}

function checkedContents(path: string): LogContents {
  const db = openDatabase({ path, durable: true })
  try {
    return checkContents(db)
  } finally {
    db.close()
  }
}

/**
 * Runs `work`, which reads what was copied of that backup.
 * @throws BridgeError of `work`, which names the backup and asks for another one where it is `log_damaged`
 */
export function readingBackup<T>(backup: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!isBridgeError(error, 'log_damaged')) throw error
    throw new BridgeError(error.code, `the backup ${backup} cannot be used: ${error.message}`, {
      hint: 'Use another backup. Nothing was changed.',
      cause: error.cause,
    })
  }
}

/** What the present log holds, as far as it can be read: a restore often replaces a damaged one. */
function presentLog(path: string): {
  contents: LogContents | null
  ended: EndedLog | null
  fault: string | null
} {
  if (!existsSync(path)) return { contents: null, ended: null, fault: null }
  try {
    const db = openDatabase({ path, durable: true })
    try {
      const contents = readContents(db)
      const epoch = contents?.epoch ?? null
      return {
        contents,
        ended: epoch === null ? null : { epoch, earlier: readEarlierEpochs(db) },
        fault: null,
      }
    } finally {
      db.close()
    }
  } catch (error) {
    return { contents: null, ended: null, fault: messageOf(error) }
  }
}
