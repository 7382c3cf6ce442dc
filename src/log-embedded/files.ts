/** Names the files of a data directory, and forces renames of files to disk. */
import { closeSync, fsyncSync, openSync } from 'node:fs'

/** The file of the embedded log. */
export const LOG_FILE = 'bridge.db'

/** What `bridge backup` leaves in a data directory: when the last backup was taken. */
export const BACKUP_NOTE = 'backup.json'

/** Suffixes of a database and of the files that SQLite keeps beside it. */
export const DATABASE_SUFFIXES = ['', '-wal', '-shm'] as const

/** Every file of the product in a data directory, except the lock. */
export const DATA_FILES: readonly string[] = [
  LOG_FILE,
  'copy.db',
  'attempts.db',
  'attempts.db.damaged',
  'audit.db',
].flatMap((name) => DATABASE_SUFFIXES.map((suffix) => `${name}${suffix}`))

/** Forces a file, or the entries of a directory, to disk. */
export function syncPath(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
