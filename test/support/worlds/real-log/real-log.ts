/** Opens real logs for `replay.ts`: the embedded one and the one on Kafka, which a process can leave at any moment. */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RecentEvents } from '../../../../src/archive/reading/recent-events.ts'
import { Replicator } from '../../../../src/archive/replica/replicator.ts'
import { type Archive, openArchive } from '../../../../src/archive/store/archive.ts'
import { systemClock } from '../../../../src/lifecycle/clock.ts'
import type { FaultHooks } from '../../../../src/log/fault-hooks.ts'
import type { Log } from '../../../../src/log/log.ts'
import { LOG_FILE } from '../../../../src/log-embedded/files.ts'
import { openSqliteLog } from '../../../../src/log-embedded/log.ts'
import { openKafkaLog } from '../../../../src/log-kafka/log.ts'
import { kafkaLogOptions } from '../../kafka/kafka-logs.ts'
import { keepingLogger } from '../../keeping-logger.ts'

/** A log that is unused at first, and the process that runs it. Disposing of it removes what it stored. */
export interface RealLog extends AsyncDisposable {
  /** Of the present process. */
  readonly log: Log
  /** The events as the present process reads them: the log itself, or a replica. */
  readonly archive: Archive
  /** Read at each commit and claim. */
  readonly faultHooks: FaultHooks
  /** The hooks in which a commit can be lost without being stored. */
  readonly losing: readonly ('afterSend' | 'beforeCommit')[]
  /** Resolves when `archive` has everything up to that sequence. */
  caughtUp(sequence: number, epoch: string): Promise<void>
  /** Keeps what is on disk at this moment for `restart`; also callable in a hook, in the middle of a commit. */
  freeze(): void
  /** The process ends without a word, and the next one opens what was frozen, or else what is stored now. */
  restart(): Promise<void>
}

const NATIVE_KIND = 'Native'
/** A kill leaves these. The third file of SQLite is shared memory, which the next process builds again. */
const LEFT_BY_A_KILL = [LOG_FILE, `${LOG_FILE}-wal`]

/** The embedded log in a temporary directory. Each process opens a copy of the files that the one before left. */
export function embeddedLog(): RealLog {
  const root = mkdtempSync(join(tmpdir(), 'bridge-replay-'))
  const faultHooks: FaultHooks = {}
  let number = 0
  const directory = (of: number): string => join(root, String(of))
  const open = () =>
    openSqliteLog({ dataDir: directory(number), nativeKind: NATIVE_KIND, clock: systemClock, faultHooks })
  let current = open()
  const freeze = (): void => {
    mkdirSync(directory(number + 1))
    for (const name of LEFT_BY_A_KILL) {
      const path = join(directory(number), name)
      if (existsSync(path)) copyFileSync(path, join(directory(number + 1), name))
    }
  }
  return {
    get log() {
      return current.log
    },
    get archive() {
      return current.archive
    },
    faultHooks,
    losing: ['beforeCommit'],
    async caughtUp() {},
    freeze,
    async restart() {
      if (!existsSync(directory(number + 1))) freeze()
      await current.log.close()
      rmSync(directory(number), { recursive: true })
      number += 1
      current = open()
    },
    async [Symbol.asyncDispose]() {
      await current.log.close()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/**
 * A log of its own topics on those brokers, and a replica of it. The brokers see a process that ends as one that has lost
 * its connections: the next one has to fence it, with whatever transaction it left open.
 */
export function kafkaLog(brokers: readonly string[]): RealLog {
  const faultHooks: FaultHooks = {}
  const options = { ...kafkaLogOptions(brokers), faultHooks }
  const archive = openArchive({ path: ':memory:', nativeKind: NATIVE_KIND, durable: false })
  const open = () => {
    const log = openKafkaLog(options)
    const stop = new AbortController()
    const replicator = new Replicator({
      ...{ log, archive, recentEvents: new RecentEvents(archive.latest), clock: systemClock },
      ...{ logger: keepingLogger().logger, shared: false, silentSinceMs: () => null },
    })
    const running = replicator.run(stop.signal)
    const close = async (): Promise<void> => {
      stop.abort()
      await running
      await log.close()
    }
    return { log, replicator, running, stop, close }
  }
  let current = open()
  return {
    get log() {
      return current.log
    },
    archive,
    faultHooks,
    losing: ['afterSend', 'beforeCommit'],
    async caughtUp(sequence, epoch) {
      const { replicator, running, stop } = current
      await Promise.race([running, replicator.caughtUp(sequence, epoch, stop.signal)])
    },
    freeze() {},
    async restart() {
      await current.close()
      current = open()
    },
    async [Symbol.asyncDispose]() {
      await current.close()
      archive.close()
    },
  }
}
