/**
 * How the outcomes of a shard become durable: those that end within ten milliseconds are one write, and one write follows the
 * other. Owns that nothing is settled before it is durable and nothing is lost while the log is away. Refuses to know what
 * the rows say.
 */
import { type Backoff, backoffMs } from '../../core/backoff.ts'
import { isBridgeError } from '../../errors.ts'
import { type Chance, type Clock, sleep } from '../../lifecycle/clock.ts'
import type { Change, Shard } from '../../log/log.ts'
import type { Logger } from '../../obs/logger.ts'
import type { DeliveryRow } from '../delivery-state/delivery-rows.ts'
import type { Batch } from '../delivery-state/endpoint-state.ts'

/** Time in which outcomes are gathered for one write. */
export const GATHER_MS = 10
/** Between two tries of a write that the log did not take. */
const AGAIN: Backoff = { baseMs: 100, factor: 2, maxMs: 5000, jitter: 0.2 }

export interface ShardWriter {
  /** There is something to be written soon. */
  mark(): void
  /** Since when the present write is under way, its repetitions too, ms since 1970; null where none is. */
  readonly writingSinceMs: number | null
  /** Writes until the shard is lost, or, once `stopping` has aborted, until nothing is owed. Throws what the log throws else. */
  run(stopping: AbortSignal): Promise<void>
}

export interface ShardWriterOptions {
  shard: Shard<DeliveryRow>
  /** The rows that are owed now, each endpoint's by itself. Called again only when those before are settled. */
  collect: () => readonly Batch[]
  /** Told after each write. */
  onWritten: (changes: readonly Change<DeliveryRow>[]) => void
  clock: Clock
  chance: Chance
  logger: Logger
}

/** A writer of one shard. */
export function createShardWriter(options: ShardWriterOptions): ShardWriter {
  const { shard, collect, onWritten, clock, chance, logger } = options
  let isMarked = false
  let wake = Promise.withResolvers<void>()
  let writingSinceMs: number | null = null

  /** True when it is durable, false when the shard is lost. */
  const write = async (changes: readonly Change<DeliveryRow>[]): Promise<boolean> => {
    writingSinceMs = clock.now()
    for (let attempt = 1; !shard.lost.aborted; attempt++) {
      try {
        await shard.write(changes)
        if (attempt > 1) logger.info('webhook.shard_writes_again', { shard: shard.number, attempts: attempt })
        writingSinceMs = null
        return true
      } catch (error) {
        if (isBridgeError(error, 'shard_lost')) return false
        if (!isBridgeError(error, 'log_unavailable')) throw error
        if (attempt === 1) logger.warn('webhook.shard_refused', { shard: shard.number, error })
        await sleep(clock, backoffMs(attempt, AGAIN, chance), shard.lost)
      }
    }
    return false
  }

  return {
    mark() {
      if (isMarked) return
      isMarked = true
      wake.resolve()
    },
    get writingSinceMs() {
      return writingSinceMs
    },
    async run(stopping) {
      const either = AbortSignal.any([stopping, shard.lost])
      const onEnd = (): void => wake.resolve()
      either.addEventListener('abort', onEnd, { once: true })
      try {
        while (!shard.lost.aborted) {
          if (!isMarked && !stopping.aborted) await wake.promise
          if (isMarked) await sleep(clock, GATHER_MS, either)
          isMarked = false
          wake = Promise.withResolvers()
          const batches = shard.lost.aborted ? [] : collect()
          const changes = batches.flatMap((batch) => batch.changes)
          if (batches.length === 0 && stopping.aborted) return
          if (changes.length > 0) {
            if (!(await write(changes))) return
            onWritten(changes)
          }
          for (const batch of batches) batch.settled()
        }
      } finally {
        either.removeEventListener('abort', onEnd)
      }
    },
  }
}
