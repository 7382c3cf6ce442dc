/**
 * This node's copy of a log that lies elsewhere. Owns its file, and that one which cannot be used is thrown away: the
 * follower fills a new one from the log. Refuses to be the log itself, whose file is never thrown away.
 */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type BridgeError, isBridgeError } from '../../errors.ts'
import { type Archive, type ArchiveOptions, openArchive } from '../store/archive.ts'

const FILE = 'copy.db'
/** What SQLite keeps beside its file. */
const SIDES = ['', '-wal', '-shm']

/** What a copy is opened with. */
export interface CopyOptions extends Pick<ArchiveOptions, 'nativeKind' | 'onUpgrade'> {
  /** A directory that is there and that this process has alone. */
  dataDir: string
  /** Told why a copy was thrown away: at once when it is opened, or later, when what is read of it shows its damage. */
  onDamage(error: BridgeError): void
}

/**
 * Opens the copy in the directory; makes an empty one where there is none, or where the one found is damaged or was
 * written by a newer version. One whose damage shows only later goes on being read where it can: its files are gone, so
 * that the next start fills a new one.
 * @throws BridgeError `log_unavailable` when the directory cannot be written
 */
export function openCopy({ dataDir, onDamage, ...options }: CopyOptions): Archive {
  const path = join(dataDir, FILE)
  const throwAway = (error: BridgeError): void => {
    onDamage(error)
    for (const side of SIDES) rmSync(`${path}${side}`, { force: true })
  }
  let isWatched = false
  const onDamageFound = (error: BridgeError): void => {
    if (isWatched) throwAway(error)
    isWatched = false
  }
  const open = (): Archive => openArchive({ ...options, path, durable: false, onDamage: onDamageFound })
  const archive = openOrNull(open, path, throwAway) ?? open()
  isWatched = true
  return archive
}

/** null when what is at `path` was damaged; it is thrown away then. */
function openOrNull(
  open: () => Archive,
  path: string,
  throwAway: (error: BridgeError) => void,
): Archive | null {
  try {
    return open()
  } catch (error) {
    if (!isBridgeError(error, 'log_damaged') || !existsSync(path)) throw error
    throwAway(error)
    return null
  }
}
