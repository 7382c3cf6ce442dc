/** Backs up the embedded log to one file while a bridge goes on writing it, and checks the copy. */
import { existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isoMillis } from '../core/dates.ts'
import { BridgeError } from '../errors.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { copyDatabase, openDatabase } from '../storage/database.ts'
import { checkContents, type LogContents, writeTakenAt } from './contents.ts'
import { DATABASE_SUFFIXES, LOG_FILE, syncPath } from './files.ts'

/** Suffix of a backup that is not complete. */
const PART = '.part'

/** What to back up. */
export interface BackupOptions {
  /** Of the bridge, which may be running. */
  dataDir: string
  /** A file that does not exist in a directory that does, or a directory, which gets a file named by the time. */
  target: string
  clock: Clock
}

/** A backup that was checked. */
export interface Backup extends LogContents {
  file: string
  bytes: number
}

/**
 * Copies the log as it is at one moment, and checks the copy. The target appears only once it is complete.
 * @throws BridgeError `failed` when there is no log, the target exists or its directory does not, `log_damaged` when the copy fails the check,
 *   `log_unavailable` when a file cannot be read or written
 */
export async function backUp({ dataDir, target, clock }: BackupOptions): Promise<Backup> {
  const source = join(dataDir, LOG_FILE)
  if (!existsSync(source)) {
    throw new BridgeError('failed', `there is no log to back up: ${source} does not exist`, {
      hint: 'Set BRIDGE_DATA_DIR to the data directory of the bridge, as for bridge run.',
    })
  }
  const takenAt = isoMillis(clock.now())
  const file = fileOf(target, takenAt)
  if (existsSync(file)) {
    throw new BridgeError('failed', `${file} exists already: a backup never overwrites a file`, {
      hint: 'Name another file, or a directory, which gets a new file each time.',
    })
  }
  requireDirectory(dirname(file))
  const part = `${file}${PART}`
  try {
    removeDatabase(part)
    await copyDatabase(source, part)
    const contents = checkCopy(part, takenAt)
    syncPath(part)
    renameSync(part, file)
    syncPath(dirname(file))
    return { file, bytes: statSync(file).size, ...contents }
  } catch (error) {
    removeDatabase(part)
    throw error
  }
}

function checkCopy(path: string, takenAt: string): LogContents {
  const db = openDatabase({ path, durable: true })
  try {
    writeTakenAt(db, takenAt)
    const contents = checkContents(db)
    // One file, which can also be read from a medium without write permission.
    db.exec('PRAGMA journal_mode = DELETE')
    return contents
  } finally {
    db.close()
  }
}

function fileOf(target: string, takenAt: string): string {
  const isDirectory =
    target.endsWith('/') || statSync(target, { throwIfNoEntry: false })?.isDirectory() === true
  const stamp = takenAt.replace(/[-:.]/g, '')
  return resolve(isDirectory ? join(target, `bridge-${stamp}.db`) : target)
}

/** A missing directory is not made: it may be the mount point of a volume that is away, and the backup would lie beside the log. */
function requireDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return
  throw new BridgeError('failed', `the directory of the backup, ${path}, does not exist`, {
    hint: 'Mount its volume or make it, or name another directory.',
  })
}

function removeDatabase(path: string): void {
  for (const suffix of [...DATABASE_SUFFIXES, '-journal']) rmSync(`${path}${suffix}`, { force: true })
}
