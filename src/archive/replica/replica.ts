/**
 * Opens this node's replica of a log on Kafka. A replica file that cannot be used is deleted, and the replicator fills a new
 * one from the log.
 */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { BridgeError, isBridgeError } from '../../errors.ts'
import type { Steps } from '../../lifecycle/slices.ts'
import { type Archive, type ArchiveOptions, openArchiveInSteps } from '../store/archive.ts'

const FILE = 'copy.db'
/** Suffixes of the database file and of those that SQLite keeps beside it. */
const SUFFIXES = ['', '-wal', '-shm']

/** How a replica is opened. */
export interface ReplicaOptions extends Pick<ArchiveOptions, 'nativeKind' | 'onUpgrade'> {
  /** An existing directory that only this process uses. */
  dataDir: string
  /** Called before a damaged replica is deleted: while it is opened, or later when a read finds the damage. */
  onDamage(error: BridgeError): void
}

/**
 * Opens the replica in the directory, in the steps of `openArchiveInSteps`; creates an empty one where there is none, or where the one found is damaged or was
 * written by a newer version. If damage shows only later, the files are deleted while the open replica serves what is
 * readable, and the next start fills a new one.
 * @throws BridgeError `log_unavailable` when the directory cannot be written
 */
export function* openReplica({ dataDir, onDamage, ...options }: ReplicaOptions): Steps<Archive> {
  const path = join(dataDir, FILE)
  const discard = (error: BridgeError): void => {
    onDamage(deletedReplica(error))
    for (const suffix of SUFFIXES) rmSync(`${path}${suffix}`, { force: true })
  }
  let isWatched = false
  const onDamageFound = (error: BridgeError): void => {
    if (isWatched) discard(error)
    isWatched = false
  }
  const open = (): Steps<Archive> =>
    openArchiveInSteps({ ...options, path, durable: false, onDamage: onDamageFound })
  const archive = (yield* openOrDiscard(open, path, discard)) ?? (yield* open())
  isWatched = true
  return archive
}

/** null when the file at `path` was damaged and has been deleted. */
function* openOrDiscard(
  open: () => Steps<Archive>,
  path: string,
  discard: (error: BridgeError) => void,
): Steps<Archive | null> {
  try {
    return yield* open()
  } catch (error) {
    if (!isBridgeError(error, 'log_damaged') || !existsSync(path)) throw error
    discard(error)
    return null
  }
}

/** The same fault with a hint for a replica: unlike the embedded log it needs no backup. */
function deletedReplica({ code, message, cause }: BridgeError): BridgeError {
  const hint =
    'Nothing needs to be done: the replica was deleted and will be filled again from Kafka. If it happens again, check the disk.'
  return new BridgeError(code, message, { hint, cause })
}
