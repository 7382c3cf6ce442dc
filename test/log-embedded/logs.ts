/** Opens embedded logs in temporary directories, and closes and deletes them after the test. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Archive } from '../../src/archive/store/archive.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import type { Log } from '../../src/log/log.ts'
import { openSqliteLog } from '../../src/log-embedded/log.ts'

/** The directories and logs of one test. */
export interface LogFolders {
  folder(): string
  open(dataDir: string, onRestored?: (replaced: string | null) => void): { log: Log; archive: Archive }
  clean(): Promise<void>
}

/** None yet. */
export function createLogFolders(): LogFolders {
  const folders: string[] = []
  const opened: Log[] = []
  return {
    folder() {
      const folder = mkdtempSync(join(tmpdir(), 'bridge-log-'))
      folders.push(folder)
      return folder
    },
    open(dataDir, onRestored) {
      const options = { dataDir, nativeKind: 'Native', clock: systemClock }
      const both = openSqliteLog({ ...options, ...(onRestored && { onRestored }) })
      opened.push(both.log)
      return both
    },
    async clean() {
      for (const log of opened.splice(0)) await log.close()
      for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
    },
  }
}
