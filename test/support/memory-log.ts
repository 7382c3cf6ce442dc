/** Opens an unused log that keeps everything in memory: the embedded log over an in-memory SQLite file. */
import { openArchive } from '../../src/archive/store/archive.ts'
import { type Clock, systemClock } from '../../src/lifecycle/clock.ts'
import type { Log } from '../../src/log/log.ts'
import { logOver } from '../../src/log-embedded/log.ts'

/** `clock` gives the age of journal records. The pauses between transactions are real: a test's clock does not advance by itself. */
export function createMemoryLog({ clock = systemClock }: { clock?: Clock } = {}): Log {
  const archive = openArchive({ path: ':memory:', nativeKind: 'Native', durable: false })
  return logOver(archive, { clock: { ...systemClock, now: () => clock.now() } })
}
