/**
 * Puts a restored log into the place of the present one by renames that a later start completes after a crash. The present
 * files are set aside and never deleted.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isoMillis } from '../core/dates.ts'
import { DATA_FILES, LOG_FILE, syncPath } from './files.ts'

/** Directory that exists from the moment when the restored log is ready until it is in its place. */
const READY = 'restoring'
/** Directory in it with the files that were replaced. */
const REPLACED = 'replaced'

/** The directory in which a restored log is prepared. */
export function stagingDirectory(dataDir: string): string {
  return join(dataDir, `${READY}.part`)
}

/**
 * Puts the prepared log into its place: from here on a crash no longer prevents it.
 * @returns the directory that holds the files that were there; null where there were none
 */
export function swapIn(dataDir: string, nowMs: number): string | null {
  renameSync(stagingDirectory(dataDir), join(dataDir, READY))
  syncPath(dataDir)
  return finishSwap(dataDir, nowMs)?.replaced ?? null
}

/**
 * Completes a restore that was interrupted after its log was ready; null where none was. `replaced` as `swapIn` returns it.
 * The caller has locked the directory.
 */
export function finishSwap(dataDir: string, nowMs: number): { replaced: string | null } | null {
  const ready = join(dataDir, READY)
  if (!existsSync(ready)) return null
  const replaced = join(ready, REPLACED)
  if (existsSync(join(ready, LOG_FILE))) {
    for (const name of DATA_FILES.filter((one) => existsSync(join(dataDir, one)))) {
      mkdirSync(replaced, { recursive: true })
      renameSync(join(dataDir, name), join(replaced, name))
    }
    syncPath(ready)
    syncPath(dataDir)
    renameSync(join(ready, LOG_FILE), join(dataDir, LOG_FILE))
    syncPath(dataDir)
  }
  const kept = existsSync(replaced) ? join(dataDir, `replaced-${stampOf(nowMs)}`) : null
  if (kept !== null) renameSync(replaced, kept)
  rmSync(ready, { recursive: true, force: true })
  syncPath(dataDir)
  return { replaced: kept }
}

function stampOf(nowMs: number): string {
  return isoMillis(nowMs).replace(/[-:.]/g, '')
}
