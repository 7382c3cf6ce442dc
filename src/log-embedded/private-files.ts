/**
 * Keeps the data directory and the files of the product in it for their owner alone, and reports what other users of the
 * machine may read.
 */
import { chmodSync, readdirSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { BACKUP_NOTE, DATA_FILES, DATABASE_SUFFIXES } from './files.ts'

/** The rights of group and others in a file's mode. */
const OF_OTHERS = 0o077
/** The mode of directories that the product makes. Its files get theirs from the umask of the process. */
export const PRIVATE_DIRECTORY = 0o700
/** The lock, and the note that names its holder. */
const LOCK_FILES = [...DATABASE_SUFFIXES.map((suffix) => `lock.db${suffix}`), 'lock.db-journal', 'owner.json']
const OWN_FILES: readonly string[] = [...DATA_FILES, ...LOCK_FILES, BACKUP_NOTE]

/**
 * Takes the rights of other users away from the product's files, and from the directory where it holds nothing else. What
 * belongs to another user, or lies on a file system without rights, stays as it is: the doctor reports it.
 */
export function keepPrivate(dataDir: string): void {
  const names = readdirSync(dataDir)
  const isOurs = names.every((name) => OWN_FILES.includes(name))
  const own = names.filter((name) => OWN_FILES.includes(name)).map((name) => join(dataDir, name))
  for (const path of [...(isOurs ? [dataDir] : []), ...own]) {
    const stats = statSync(path, { throwIfNoEntry: false })
    if (stats === undefined || stats.uid !== process.getuid?.() || (stats.mode & OF_OTHERS) === 0) continue
    try {
      chmodSync(path, stats.mode & 0o7700)
    } catch {
      // Reported by the doctor; the bridge works without it.
    }
  }
}

/**
 * Which of the directory and its files other users of the machine have rights to; empty where it is no directory, or this
 * user may not look at it.
 */
export function openToOthers(dataDir: string): string[] {
  if (statsOf(dataDir)?.isDirectory() !== true || !isOpenToOthers(dataDir)) return []
  const files = namesIn(dataDir)
    .filter((name) => OWN_FILES.includes(name))
    .map((name) => join(dataDir, name))
  return [dataDir, ...files.filter(isOpenToOthers)]
}

/** Whether users besides the owner have any right to that file or directory; false where this user sees none. */
export function isOpenToOthers(path: string): boolean {
  return ((statsOf(path)?.mode ?? 0) & OF_OTHERS) !== 0
}

function statsOf(path: string): Stats | null {
  try {
    return statSync(path)
  } catch {
    return null
  }
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}
