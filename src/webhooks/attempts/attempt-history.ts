/**
 * Keeps a node's history of webhook delivery attempts in a SQLite file. On Kafka, it reads the attempts of all nodes
 * from a journal of the log; on the embedded log, the only process writes its attempts directly. Attempts older than a
 * week, or of a deleted endpoint, are removed, and the oldest of the tenant that has most where the file grows too large.
 */
import type { SearchSlices } from '../../archive/reading/search-slices.ts'
import { type Backoff, backoffMs } from '../../core/backoff.ts'
import { isoMillis } from '../../core/dates.ts'
import { HOUR_MS } from '../../core/durations.ts'
import { BridgeError } from '../../errors.ts'
import { type Chance, type Clock, sleep, yieldToEventLoop } from '../../lifecycle/clock.ts'
import type { Journal } from '../../log/journal.ts'
import type { Logger } from '../../obs/logger.ts'
import type { Endpoints } from '../../registry/endpoints.ts'
import { AttemptFile, type OpenAttemptFile } from './attempt-file.ts'
import type { KeptAttempt } from './attempt-list.ts'
import type { AttemptSink } from './attempt-queue.ts'
import { ATTEMPTS_KEPT_MS, type AttemptPage, type AttemptRecord, readAttemptPage } from './attempt-record.ts'
import type { AttemptStore, KeptDelivery } from './attempt-store.ts'

/** The file in the data directory. */
export const ATTEMPTS_FILE = 'attempts.db'
/** Attempts written or removed per event-loop tick: some five milliseconds. */
const SLICE = 500
/** Attempts from the journal are held back until there are so many of them, or so long: small writes would rewrite every page of the file over and over. */
const HOLD_BACK = { attempts: 10_000, ms: 5000 }
/** Between two looks at attempts that are a week old. */
const FORGET_EVERY_MS = HOUR_MS
/** Most bytes of the file that are in use, and how far down it is brought once there are more. */
const MAX_BYTES = 2 * 1024 ** 3
const TRIMMED_SHARE = 0.9
/** Attempts of one endpoint and outcome that are counted to find the tenant that has most. */
const MOST_COUNTED = 100_000
/** Part of a tenant's time that is forgotten at once, from its oldest attempt on. */
const TRIM_STEP = 1 / 16
/** Between two looks at the size of the file. */
const TRIM_EVERY_MS = 10_000
/** Between two searches for attempts of endpoints that were deleted. */
const DELETED_CHECK_MS = 30_000
/** Between two tries to follow the journal after it or the file failed. */
const FOLLOW_BACKOFF: Backoff = { baseMs: 1000, factor: 2, maxMs: 60_000, jitter: 0.2 }
/** Bounds of the time in which attempts are gathered for a direct write. Between them, writing takes a hundredth of the time. */
const DIRECT_GATHER = { leastMs: 500, mostMs: 5000, timesAsLong: 100 }
/** Most attempts of a direct write. */
const DIRECT_ATTEMPTS = 10_000

/** What the history needs of the process. */
export interface AttemptHistoryOptions {
  /** Of its file, in a directory that this process has alone; made where it is missing. */
  path: string
  /** Attempts of all processes; of an older version where they are written directly. */
  journal: Pick<Journal<AttemptPage>, 'read'>
  /** True where attempts are written directly: no other process needs them, and the file has the only copy. */
  isDirect: boolean
  endpoints: Endpoints
  /** In which searches by event take turns with all other searches. */
  searchSlices: SearchSlices
  /** Most bytes of the file; 2 GiB by default. */
  maxBytes?: number
  clock: Clock
  chance: Chance
  logger: Logger
}

/** The attempt history of a node. Reads throw BridgeError `log_unavailable` where the file cannot be read now. */
export class AttemptHistory {
  /** Writes attempts directly. */
  readonly sink: AttemptSink
  readonly #options: AttemptHistoryOptions
  readonly #file: AttemptFile
  /** Gives the attempts of these endpoints that are not written yet. */
  #pendingOf = (_endpointIds: ReadonlySet<string>): readonly AttemptRecord[] => []
  /** Attempts from the journal that are not written yet. After a crash the journal is read again from the file's position. */
  #held: AttemptRecord[] = []
  /** How long the last direct write kept the process busy. */
  #lastWriteMs = 0
  /** Failures to follow the journal in a row. */
  #failures = 0

  constructor(options: AttemptHistoryOptions) {
    const { path, isDirect: isOnlyCopy, logger } = options
    this.#options = options
    this.#file = new AttemptFile({ path, isOnlyCopy, logger })
    const gatherMs = (): number => this.#gatherMs()
    this.sink = {
      maxAttempts: DIRECT_ATTEMPTS,
      get gatherMs() {
        return gatherMs()
      },
      write: async (attempts) => {
        this.#lastWriteMs = await this.#write(attempts)
      },
    }
  }

  /** Lists show the attempts that this gives too, before they are written. */
  includePending(pendingOf: (endpointIds: ReadonlySet<string>) => readonly AttemptRecord[]): void {
    this.#pendingOf = pendingOf
  }

  /** As `AttemptStore.attempts`. */
  attempts(endpointId: string, query: Parameters<AttemptStore['attempts']>[1]) {
    return this.#read([endpointId], (store) => store.attempts(endpointId, query))
  }

  /** As `AttemptStore.attemptsOfEvent`, in the time slices that all searches share. None once `gone` aborts. */
  async attemptsOfEvent(
    endpointId: string,
    query: Parameters<AttemptStore['attemptsOfEvent']>[1],
    { gone, caller }: { gone: AbortSignal; caller: string },
  ): Promise<KeptAttempt[]> {
    const steps = this.#read([endpointId], (store) => store.attemptsOfEvent(endpointId, query))
    const takeStep = () => this.#file.use(() => steps.next())
    while (!gone.aborted) {
      const step = await this.#options.searchSlices.run(takeStep, caller)
      if (step.done === true) return step.value
    }
    return []
  }

  /** As `AttemptStore.deliveries`. */
  deliveries(endpointId: string, query: Parameters<AttemptStore['deliveries']>[1]) {
    return this.#read([endpointId], (store) => store.deliveries(endpointId, query))
  }

  /** The deliveries of one event of that epoch to these endpoints, by endpoint, as far as attempts of them are kept. */
  deliveriesOf(
    endpointIds: readonly string[],
    { epoch, sequence }: { epoch: string; sequence: number },
  ): Map<string, KeptDelivery> {
    return this.#read(endpointIds, (store) => {
      const found = endpointIds.flatMap((id) => {
        const delivery = store.delivery(id, epoch, sequence)
        return delivery === undefined ? [] : [[id, delivery] as const]
      })
      return new Map(found)
    })
  }

  /** As `AttemptStore.figures`. */
  figures(endpointId: string, ...query: [sinceMs: number, limit: number]) {
    return this.#read([endpointId], (store) => store.figures(endpointId, ...query))
  }

  /** Follows the journal and forgets old attempts until the signal aborts. Rejects only with a fault of the program. */
  async run(signal: AbortSignal): Promise<void> {
    await firstEndpoint(this.#options.endpoints, signal)
    await Promise.all([
      this.#follow(signal),
      this.#repeat(DELETED_CHECK_MS, signal, () => this.#forgetDeleted(signal)),
      this.#repeat(FORGET_EVERY_MS, signal, () => this.#forgetOld(signal)),
      this.#repeat(TRIM_EVERY_MS, signal, () => this.#trim(signal)),
    ])
  }

  /** Closes the file. Callable twice. */
  close(): void {
    this.#file.close()
  }

  #read<T>(endpointIds: readonly string[], read: (store: AttemptStore) => T): T {
    return this.#file.use(({ store }) => {
      const ids = new Set(endpointIds)
      const isOwn = ({ endpointId }: AttemptRecord): boolean => ids.has(endpointId)
      const pending = [...this.#held.filter(isOwn), ...this.#pendingOf(ids)]
      if (pending.length > 0) store.write(pending, null)
      this.#held = this.#held.filter((record) => !isOwn(record))
      return read(store)
    })
  }

  #gatherMs(): number {
    const { leastMs, mostMs, timesAsLong } = DIRECT_GATHER
    return Math.min(mostMs, Math.max(leastMs, timesAsLong * this.#lastWriteMs))
  }

  /**
   * Writes in slices, endpoint by endpoint: the rows of an endpoint are on pages of their own. Less when the signal aborts.
   * Returns how long that kept the process busy, ms.
   */
  async #write(attempts: readonly AttemptRecord[], signal?: AbortSignal): Promise<number> {
    const { clock } = this.#options
    const byEndpoint = Map.groupBy(attempts, ({ endpointId }) => endpointId)
    const sorted = [...byEndpoint.values()].flat()
    let tookMs = 0
    for (let at = 0; at < sorted.length && signal?.aborted !== true; at += SLICE) {
      const startedMs = clock.now()
      this.#file.use(({ store }) => store.write(sorted.slice(at, at + SLICE), null))
      tookMs += Math.max(0, clock.now() - startedMs)
      await yieldToEventLoop()
    }
    return tookMs
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { clock, chance, logger } = this.#options
    while (!signal.aborted) {
      try {
        await this.#followInto(this.#file.open(), signal)
      } catch (error) {
        if (!(error instanceof BridgeError)) throw error
        this.#failures += 1
        logger.warn('attempt_history.unavailable', { error, attempts: this.#failures })
        this.#file.close()
        await sleep(clock, backoffMs(this.#failures, FOLLOW_BACKOFF, chance), signal)
      }
    }
  }

  /** Reads the journal into the file until the signal aborts, or the file turns out to be damaged. */
  async #followInto({ store, damaged }: OpenAttemptFile, signal: AbortSignal): Promise<void> {
    const { journal, clock, logger } = this.#options
    const either = AbortSignal.any([signal, damaged])
    let heldSinceMs: number | null = null
    let readTo = store.position
    const writeHeld = async (cut: AbortSignal): Promise<void> => {
      await this.#write(this.#held, cut)
      if (cut.aborted) return
      store.write([], readTo)
      this.#held = []
      heldSinceMs = null
    }
    this.#held = []
    for await (const { records, position } of journal.read(store.position, either)) {
      const keptFromMs = clock.now() - ATTEMPTS_KEPT_MS
      const pages = records.map(readAttemptPage)
      const unreadable = pages.reduce((sum, page) => sum + page.unreadable, 0)
      if (unreadable > 0) logger.warn('attempt_history.entries_unreadable', { count: unreadable })
      const attempts = pages.flatMap((page) => page.attempts)
      const kept = attempts.filter(({ atMs }) => atMs >= keptFromMs)
      heldSinceMs ??= clock.now()
      for (const record of kept) this.#held.push(record)
      readTo = position
      await yieldToEventLoop()
      const isDue = Math.abs(clock.now() - heldSinceMs) >= HOLD_BACK.ms
      if (isDue || this.#held.length >= HOLD_BACK.attempts) await writeHeld(either)
      this.#failures = 0
    }
    if (!damaged.aborted) await writeHeld(damaged)
  }

  #endpointIds(): string[] {
    return this.#file.use(({ store }) => store.endpointIds())
  }

  async #forgetDeleted(signal: AbortSignal): Promise<void> {
    const { endpoints } = this.#options
    if (!endpoints.isLoaded) return
    const unknown = this.#endpointIds().filter((id) => endpoints.get(id) === null)
    const deleted = unknown.length === 0 ? [] : await endpoints.absent(unknown)
    for (const id of deleted) await this.#forget(id, null, signal)
  }

  async #forgetOld(signal: AbortSignal): Promise<void> {
    const beforeMs = this.#options.clock.now() - ATTEMPTS_KEPT_MS
    for (const id of this.#endpointIds()) await this.#forget(id, beforeMs, signal)
  }

  /** Brings a file that is too large down: again and again the tenant with most attempts loses its oldest. */
  async #trim(signal: AbortSignal): Promise<void> {
    const { maxBytes = MAX_BYTES, clock, logger } = this.#options
    const usedBytes = (): number => this.#file.use(({ store }) => store.usedBytes)
    if (usedBytes() <= maxBytes) return
    while (!signal.aborted && usedBytes() > maxBytes * TRIMMED_SHARE) {
      const largest = await this.#largestTenant()
      if (largest === null) return
      const { tenant, ids, oldestMs } = largest
      const beforeMs = oldestMs + 1 + Math.ceil(Math.max(0, clock.now() - oldestMs) * TRIM_STEP)
      for (const id of ids) await this.#forget(id, beforeMs, signal)
      logger.warn('attempt_history.trimmed', { tenant, from: isoMillis(oldestMs), to: isoMillis(beforeMs) })
    }
  }

  /** The tenant with most attempts, its endpoints, and when its oldest attempt began; null where there is none. */
  async #largestTenant(): Promise<{ tenant: string; ids: string[]; oldestMs: number } | null> {
    const tenants = new Map<string, { ids: string[]; count: number; oldestMs: number }>()
    for (const id of this.#endpointIds()) {
      const { count, oldestMs } = this.#file.use(({ store }) => store.extent(id, MOST_COUNTED))
      // Attempts of an endpoint that this node does not know are nobody's.
      const tenant = this.#options.endpoints.get(id)?.tenant ?? ''
      const sum = tenants.get(tenant) ?? { ids: [], count: 0, oldestMs: Number.POSITIVE_INFINITY }
      sum.ids.push(id)
      sum.count += count
      sum.oldestMs = Math.min(sum.oldestMs, oldestMs)
      tenants.set(tenant, sum)
      await yieldToEventLoop()
    }
    const [largest] = [...tenants].sort(([, one], [, other]) => other.count - one.count)
    return largest === undefined || largest[1].count === 0 ? null : { tenant: largest[0], ...largest[1] }
  }

  /** Forgets attempts of the endpoint from before a moment (null: all), slice by slice. */
  async #forget(endpointId: string, beforeMs: number | null, signal: AbortSignal): Promise<void> {
    const forgetSlice = (): number => this.#file.use(({ store }) => store.forget(endpointId, beforeMs, SLICE))
    while (!signal.aborted && forgetSlice() > 0) await yieldToEventLoop()
    await yieldToEventLoop()
  }

  /** Works at once and then in intervals. What fails because the log or the file is unavailable is done the next time. */
  async #repeat(everyMs: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      try {
        await work()
      } catch (error) {
        if (!(error instanceof BridgeError)) throw error
      }
      await sleep(this.#options.clock, everyMs, signal)
    }
  }
}

/** Before there is an endpoint there are no attempts, and the journal is not used: on Kafka it would cost a topic. */
async function firstEndpoint(endpoints: Endpoints, signal: AbortSignal): Promise<void> {
  for await (const ids of endpoints.changes(signal)) if (ids.length > 0) return
}
