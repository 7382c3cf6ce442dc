/** Notes the last backup in the data directory, so that a running bridge can say how old it is. */
import { chownSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../errors.ts'
import type { Backup } from './backup.ts'
import { BACKUP_NOTE } from './files.ts'

/** Replaces the note of the backup before. Returns why it could not; null: it is written. The backup is good in any case. */
export function noteBackup(dataDir: string, { file, bytes, takenAt }: Backup): string | null {
  const note = join(dataDir, BACKUP_NOTE)
  const part = `${note}.part`
  try {
    writeFileSync(part, JSON.stringify({ takenAt, file, bytes }), { mode: 0o600 })
    const { uid, gid } = statSync(dataDir)
    // root may back up for the user of the bridge, which has to read the note.
    if (uid !== process.getuid?.()) chownSync(part, uid, gid)
    renameSync(part, note)
    return null
  } catch (error) {
    rmSync(part, { force: true })
    return messageOf(error)
  }
}

/** When the last backup that was noted was taken, ms since 1970. @throws Error where there is no note, or none that can be read */
export function lastBackupMs(dataDir: string): number {
  const { takenAt } = JSON.parse(readFileSync(join(dataDir, BACKUP_NOTE), 'utf8')) as { takenAt: string }
  const takenMs = Date.parse(takenAt)
  if (Number.isNaN(takenMs)) throw new Error(`${BACKUP_NOTE} names no time`)
  return takenMs
}
