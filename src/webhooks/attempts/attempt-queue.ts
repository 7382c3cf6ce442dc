/**
 * Queues webhook delivery attempts and writes them to the attempt history in groups, so that no delivery waits for a
 * write. The queue is bounded; attempts that do not fit or cannot be written are dropped, counted and reported.
 */
import { type Backoff, backoffMs } from '../../core/backoff.ts'
import { isBridgeError } from '../../errors.ts'
import { aborted } from '../../lifecycle/aborted.ts'
import { type Chance, type Clock, sleep } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import type { Metrics } from '../../obs/metrics.ts'
import { type Attempted, deliveriesOf } from '../send/delivery.ts'
import { type AttemptRecord, attemptRecord } from './attempt-record.ts'

/** Most attempts that wait to be written, and most bytes of them in memory; of more, the newest are dropped. */
export const queueBounds = { attempts: 50_000, bytes: 32 * 1024 * 1024 } as const

/** Share of the bytes at which a write starts early. */
const EARLY_SHARE = 0.25
/** Bytes in memory of an attempt without its texts. */
const PLAIN_BYTES = 300
/** Between two tries to write while the log or the file is unavailable. */
const WRITE_BACKOFF: Backoff = { baseMs: 500, factor: 2, maxMs: 15_000, jitter: 0.2 }
/** Dropped attempts are logged so often. */
const REPORT_EVERY_MS = 60_000
/** Time for the queue when the process stops. */
const CLOSE_MS = 2000

/** Where attempts are written. */
export interface AttemptSink {
  /** Most attempts of one write; a write starts early where so many wait. */
  readonly maxAttempts: number
  /** Time in which attempts are gathered for the next write, ms: a killed process loses so much of them. */
  readonly gatherMs: number
  /**
   * Resolves when the attempts are durable. After a failure it is called with the same attempts again.
   * @throws BridgeError `log_unavailable` where a later try may succeed; anything else where none will
   */
  write(attempts: readonly AttemptRecord[]): Promise<void>
}

/** What the queue needs of the process. */
export interface AttemptQueueOptions {
  sink: AttemptSink
  clock: Clock
  chance: Chance
  metrics: Pick<Metrics, 'webhookJournalDropped'>
  logger: Logger
  bounds?: { attempts: number; bytes: number }
}

/** The queue of a process. */
export class AttemptQueue {
  readonly #options: AttemptQueueOptions
  readonly #bounds: { attempts: number; bytes: number }
  readonly #closing = new AbortController()
  /** Aborts when the time of `close` is over. */
  readonly #over = new AbortController()
  #waiting: AttemptRecord[] = []
  /** Of those that wait. */
  #bytes = 0
  /** Attempts of the present write. */
  #inHand: readonly AttemptRecord[] = []
  #writing: Promise<void> | null = null
  #gathering = new AbortController()
  #isFailing = false
  /** Dropped attempts that were not logged yet. */
  #unreported = 0
  #reportedMs = Number.NEGATIVE_INFINITY

  constructor(options: AttemptQueueOptions) {
    this.#options = options
    this.#bounds = options.bounds ?? queueBounds
  }

  /** Adds an attempt that had an end, for each of its deliveries. Never throws and never waits. */
  add(attempted: Attempted): void {
    const nowMs = this.#options.clock.now()
    for (const delivery of deliveriesOf(attempted))
      this.#addOne(attemptRecord({ ...attempted, delivery }, nowMs))
  }

  #addOne(record: AttemptRecord): void {
    const size = memoryOf(record)
    const { attempts, bytes } = this.#bounds
    const isFull = this.#waiting.length >= attempts || this.#bytes + size > bytes
    if (isFull || this.#closing.signal.aborted) return this.#drop(1)
    this.#waiting.push(record)
    this.#bytes += size
    if (this.#isMuch()) this.#gathering.abort()
    this.#writing ??= this.#writeAll()
  }

  /** The attempts of these endpoints that are not durable yet. */
  pendingOf(endpointIds: ReadonlySet<string>): AttemptRecord[] {
    return [...this.#inHand, ...this.#waiting].filter(({ endpointId }) => endpointIds.has(endpointId))
  }

  /** Writes what waits, for 2 s at most; attempts that are added later are dropped. Never rejects. Callable twice. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#gathering.abort()
    const cancel = this.#options.clock.after(CLOSE_MS, () => this.#over.abort())
    await Promise.race([this.#writing, aborted(this.#over.signal)])
    cancel()
    this.#over.abort()
    this.#drop(this.#waiting.length + this.#inHand.length)
    this.#waiting = []
    this.#inHand = []
    if (this.#unreported > 0) this.#report()
  }

  #isMuch(): boolean {
    return (
      this.#waiting.length >= this.#options.sink.maxAttempts ||
      this.#bytes >= EARLY_SHARE * this.#bounds.bytes
    )
  }

  async #writeAll(): Promise<void> {
    const { sink, clock } = this.#options
    while (this.#waiting.length > 0) {
      this.#gathering = new AbortController()
      if (!this.#isMuch() && !this.#closing.signal.aborted) {
        await sleep(clock, sink.gatherMs, this.#gathering.signal)
      }
      for (let left = this.#waiting.length; left > 0; left -= this.#inHand.length) {
        this.#inHand = this.#waiting.slice(0, sink.maxAttempts)
        this.#waiting = this.#waiting.slice(sink.maxAttempts)
        for (const record of this.#inHand) this.#bytes -= memoryOf(record)
        await this.#write()
        if (this.#over.signal.aborted) return
      }
      this.#inHand = []
      if (this.#unreported > 0 && this.#isTimeToReport()) this.#report()
    }
    this.#writing = null
  }

  /** Resolves when the attempts in hand are durable, are dropped because no try will succeed, or time is over. */
  async #write(): Promise<void> {
    const { sink, clock, chance, logger } = this.#options
    for (let attempt = 1; !this.#over.signal.aborted; attempt++) {
      try {
        await sink.write(this.#inHand)
        if (this.#isFailing) logger.info('attempt_history.write_recovered', { attempts: attempt })
        this.#isFailing = false
        return
      } catch (error) {
        if (!isBridgeError(error, 'log_unavailable')) {
          logger.error('attempt_history.write_rejected', { count: this.#inHand.length, error })
          return this.#drop(this.#inHand.length)
        }
        if (!this.#isFailing) logger.warn('attempt_history.write_failed', { error })
        this.#isFailing = true
        await sleep(clock, backoffMs(attempt, WRITE_BACKOFF, chance), this.#over.signal)
      }
    }
  }

  #drop(count: number): void {
    if (count === 0) return
    this.#options.metrics.webhookJournalDropped.add({}, count)
    this.#unreported += count
    if (this.#isTimeToReport()) this.#report()
  }

  #isTimeToReport(): boolean {
    return Math.abs(this.#options.clock.now() - this.#reportedMs) >= REPORT_EVERY_MS
  }

  #report(): void {
    this.#options.logger.warn('attempt_history.dropped', { count: this.#unreported })
    this.#unreported = 0
    this.#reportedMs = this.#options.clock.now()
  }
}

function memoryOf({ eventId, response }: AttemptRecord): number {
  return PLAIN_BYTES + 2 * (eventId.length + (response?.length ?? 0))
}
