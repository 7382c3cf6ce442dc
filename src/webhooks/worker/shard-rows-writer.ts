/**
 * Writes the delivery state of a shard's endpoints to the log: the outcomes of ten milliseconds in one write, one write
 * after the other. No outcome counts before it is durable, and writes are retried while the log is unavailable.
 */
import { type Backoff, backoffMs } from '../../core/backoff.ts'
import { isBridgeError } from '../../errors.ts'
import { type Chance, type Clock, sleep } from '../../lifecycle/clock.ts'
import type { Shard } from '../../log/shards.ts'
import type { Change } from '../../log/tables.ts'
import type { Logger } from '../../obs/logger.ts'
import type { DeliveryRow } from '../delivery-state/delivery-rows.ts'
import type { Batch } from '../delivery-state/endpoint-state.ts'

/** Time in which outcomes are gathered for one write. */
const GATHER_MS = 10
/** Between two tries of a write that failed because the log was unavailable. */
const WRITE_BACKOFF: Backoff = { baseMs: 100, factor: 2, maxMs: 5000, jitter: 0.2 }

/** What the writer of a shard needs. */
export interface ShardRowsWriterOptions {
  shard: Shard<DeliveryRow>
  /** Gives the pending rows, a batch for each endpoint. Called again only when those before are settled. */
  collect: () => readonly Batch[]
  /** Called after each write, before its batches are settled. */
  onWritten: (changes: readonly Change<DeliveryRow>[]) => void
  clock: Clock
  chance: Chance
  logger: Logger
}

/** The writer of one shard. */
export class ShardRowsWriter {
  readonly #options: ShardRowsWriterOptions
  #isMarked = false
  #wake = Promise.withResolvers<void>()
  #writingSinceMs: number | null = null

  constructor(options: ShardRowsWriterOptions) {
    this.#options = options
  }

  /** Since when the present write is under way, with its retries, ms since 1970; null where none is. */
  get writingSinceMs(): number | null {
    return this.#writingSinceMs
  }

  /** There are rows to be written soon. */
  mark(): void {
    if (this.#isMarked) return
    this.#isMarked = true
    this.#wake.resolve()
  }

  /** Writes until the shard is lost or, once `stopping` has aborted, until no rows are pending. Throws what else the log throws. */
  async run(stopping: AbortSignal): Promise<void> {
    const { shard, collect, onWritten, clock } = this.#options
    const either = AbortSignal.any([stopping, shard.lost])
    const onEnd = (): void => this.#wake.resolve()
    either.addEventListener('abort', onEnd, { once: true })
    try {
      while (!shard.lost.aborted) {
        if (!this.#isMarked && !stopping.aborted) await this.#wake.promise
        if (this.#isMarked) await sleep(clock, GATHER_MS, either)
        this.#isMarked = false
        this.#wake = Promise.withResolvers()
        const batches = shard.lost.aborted ? [] : collect()
        if (batches.length === 0 && stopping.aborted) return
        const changes = batches.flatMap((batch) => batch.changes)
        if (changes.length > 0) {
          if (!(await this.#write(changes))) return
          onWritten(changes)
        }
        for (const batch of batches) batch.settled()
      }
    } finally {
      either.removeEventListener('abort', onEnd)
    }
  }

  /** True when the changes are durable, false when the shard is lost. */
  async #write(changes: readonly Change<DeliveryRow>[]): Promise<boolean> {
    const { shard, clock, chance, logger } = this.#options
    this.#writingSinceMs = clock.now()
    for (let attempt = 1; !shard.lost.aborted; attempt++) {
      try {
        await shard.write(changes)
        if (attempt > 1)
          logger.info('webhook.shard_write_recovered', { shard: shard.number, attempts: attempt })
        this.#writingSinceMs = null
        return true
      } catch (error) {
        if (isBridgeError(error, 'shard_lost')) return false
        if (!isBridgeError(error, 'log_unavailable')) throw error
        if (attempt === 1) logger.warn('webhook.shard_write_failed', { shard: shard.number, error })
        await sleep(clock, backoffMs(attempt, WRITE_BACKOFF, chance), shard.lost)
      }
    }
    return false
  }
}
