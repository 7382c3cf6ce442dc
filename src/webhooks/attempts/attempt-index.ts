/**
 * What this node knows of attempts and deliveries: a file that follows the journal. Owns following it from where the file
 * stopped, in slices, forgetting what is old or of no endpoint any more, and making a damaged file anew. Refuses to stop the
 * process, whatever becomes of journal or file: neither is the truth.
 */
import { rmSync } from 'node:fs'
import { type Backoff, backoffMs } from '../../core/backoff.ts'
import { BridgeError, isBridgeError } from '../../errors.ts'
import { type Chance, type Clock, sleep, yieldToEventLoop } from '../../lifecycle/clock.ts'
import type { Journal } from '../../log/journal.ts'
import type { Logger } from '../../obs/logger.ts'
import type { Endpoints } from '../../registry/endpoints.ts'
import { createGathering, type Gathering } from './attempt-buffer.ts'
import { ATTEMPTS_KEPT_MS, type AttemptPage, readAttemptPage } from './attempt-record.ts'
import { type AttemptStore, openAttemptStore } from './attempt-store.ts'

/** Its file in the data directory. */
export const ATTEMPTS_FILE = 'attempts.db'
/** What SQLite keeps beside its file. */
const SIDES = ['', '-wal', '-shm']
/** Attempts forgotten between two turns of the event loop: some five milliseconds. */
const SLICE = 500
/** Between two looks at what is old. */
const FORGET_EVERY_MS = 3_600_000
/** Between two searches for rows of endpoints that were deleted. */
const SWEEP_MS = 30_000
/** Between two tries after file or journal failed. */
const AGAIN: Backoff = { baseMs: 1000, factor: 2, maxMs: 60_000, jitter: 0.2 }

/** Reads throw BridgeError `log_unavailable` where the file cannot be read now. */
export interface AttemptIndex extends Pick<AttemptStore, 'attempts' | 'deliveries'> {
  /** Follows the journal until the signal aborts. Rejects with a fault of ours only. */
  run(signal: AbortSignal): Promise<void>
  /** Callable twice. */
  close(): void
}

/** What it needs of the process. */
export interface AttemptIndexOptions {
  /** Of its file, in a directory that this process has alone; made where it is missing. */
  path: string
  journal: Journal<AttemptPage>
  endpoints: Endpoints
  clock: Clock
  chance: Chance
  logger: Logger
}

/** A file that is open, and the end of its use. */
interface Opened {
  store: AttemptStore
  gathering: Gathering
  damaged: AbortController
}

/** An index that knows nothing before it runs. */
export function createAttemptIndex(options: AttemptIndexOptions): AttemptIndex {
  const { path, journal, endpoints, clock, chance, logger } = options
  let opened: Opened | null = null
  /** In a row. */
  let failures = 0

  const throwAway = (): void => {
    opened?.store.close()
    opened = null
    for (const side of SIDES) rmSync(`${path}${side}`, { force: true })
  }
  /** What was gathered and not written is read again. */
  const letGo = (): void => {
    if (opened === null || opened.damaged.signal.aborted) return
    opened.store.close()
    opened = null
  }
  const openFile = (): Opened => {
    const damaged = new AbortController()
    const store = openAttemptStore(path, () => damaged.abort())
    return { store, gathering: createGathering(store, clock), damaged }
  }
  /** The file, opened where it is not, and anew where it is damaged. */
  const open = (): Opened => {
    if (opened !== null && !opened.damaged.signal.aborted) return opened
    if (opened !== null) {
      logger.warn('attempts.rebuilt')
      throwAway()
    }
    try {
      opened = openFile()
    } catch (error) {
      if (!isBridgeError(error, 'log_damaged')) throw error
      logger.warn('attempts.rebuilt', { error })
      throwAway()
      opened = openFile()
    }
    return opened
  }
  const reading = <T>(endpointId: string | null, read: (store: AttemptStore) => T): T => {
    try {
      const { store, gathering } = open()
      if (endpointId !== null) gathering.writeOf(endpointId)
      return read(store)
    } catch (error) {
      throw isBridgeError(error, 'log_damaged') ? notThere(error) : error
    }
  }

  /** Reads the journal into the file until the signal aborts, or the file turns out to be damaged. */
  const followInto = async ({ store, gathering, damaged }: Opened, signal: AbortSignal): Promise<void> => {
    const either = AbortSignal.any([signal, damaged.signal])
    for await (const { records, position } of journal.read(store.position, either)) {
      const keptFromMs = clock.now() - ATTEMPTS_KEPT_MS
      const read = records.map(readAttemptPage)
      const unreadable = read.reduce((sum, page) => sum + page.unreadable, 0)
      if (unreadable > 0) logger.warn('attempts.unreadable', { count: unreadable })
      const attempts = read.flatMap((page) => page.attempts)
      gathering.add(
        attempts.filter(({ atMs }) => atMs >= keptFromMs),
        position,
      )
      await yieldToEventLoop()
      if (gathering.isDue()) await gathering.write(either)
      failures = 0
    }
    if (!damaged.signal.aborted) await gathering.write(damaged.signal)
  }
  const follow = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      try {
        await followInto(open(), signal)
      } catch (error) {
        if (!(error instanceof BridgeError)) throw error
        failures += 1
        logger.warn('attempts.stuck', { error, attempts: failures })
        letGo()
        await sleep(clock, backoffMs(failures, AGAIN, chance), signal)
      }
    }
  }

  /** Forgets rows of the endpoint from before a moment (null: all), slice by slice. */
  const forget = async (endpointId: string, beforeMs: number | null, signal: AbortSignal): Promise<void> => {
    while (!signal.aborted && reading(endpointId, (store) => store.forget(endpointId, beforeMs, SLICE)) > 0) {
      await yieldToEventLoop()
    }
    await yieldToEventLoop()
  }
  /** Calls now and then until the signal aborts; what the log or the file does not let it do is left for the next time. */
  const repeat = async (everyMs: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> => {
    while (!signal.aborted) {
      try {
        await work()
      } catch (error) {
        if (!(error instanceof BridgeError)) throw error
      }
      await sleep(clock, everyMs, signal)
    }
  }
  const endpointIds = (): string[] => reading(null, (store) => store.endpointIds())
  const forgetGone = async (signal: AbortSignal): Promise<void> => {
    const strange = endpoints.isLoaded ? endpointIds().filter((id) => endpoints.get(id) === null) : []
    const gone = strange.length === 0 ? [] : await endpoints.absent(strange)
    for (const id of gone) await forget(id, null, signal)
  }
  const forgetOld = async (signal: AbortSignal): Promise<void> => {
    for (const id of endpointIds()) await forget(id, clock.now() - ATTEMPTS_KEPT_MS, signal)
  }

  return {
    attempts: (endpointId, query) => reading(endpointId, (store) => store.attempts(endpointId, query)),
    deliveries: (endpointId, query) => reading(endpointId, (store) => store.deliveries(endpointId, query)),
    async run(signal) {
      await firstEndpoint(endpoints, signal)
      await Promise.all([
        follow(signal),
        repeat(SWEEP_MS, signal, () => forgetGone(signal)),
        repeat(FORGET_EVERY_MS, signal, () => forgetOld(signal)),
      ])
    },
    close: letGo,
  }
}

/** Until there is an endpoint there are no attempts, and no journal is asked for: on Kafka it would cost a topic. */
async function firstEndpoint(endpoints: Endpoints, signal: AbortSignal): Promise<void> {
  for await (const ids of endpoints.changes(signal)) if (ids.length > 0) return
}

function notThere(cause?: unknown): BridgeError {
  return new BridgeError('log_unavailable', 'the index of attempts is being made', { cause })
}
