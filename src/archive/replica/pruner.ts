/**
 * Deletes from this node's replica the events that the log no longer retains. This bounds its disk use, and every node then
 * serves the same oldest event.
 */
import { HOUR_MS } from '../../core/durations.ts'
import { BridgeError, messageOf } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { sleep, yieldToEventLoop } from '../../lifecycle/clock.ts'
import type { Log } from '../../log/log.ts'
import type { Logger } from '../../obs/logger.ts'
import type { Archive } from '../store/archive.ts'
import type { ReplicaState } from '../store/replica-progress.ts'

/** Pause between two runs, ms. Kafka drops whole segments, hours to days apart. */
const INTERVAL_MS = HOUR_MS
/** Events deleted in one transaction: about 20 ms of work. */
const SLICE_EVENTS = 100

/** What the pruner works on. */
export interface PrunerParts {
  log: Log
  archive: Archive
  /** Nothing is deleted before the replica was compared with the log. */
  replica: ReplicaState
  clock: Clock
  logger: Logger
}

/**
 * Prunes now and every hour until the signal aborts, then resolves. When the log is unavailable it retries an hour later.
 * @throws BridgeError as `Archive` does
 */
export async function runPruner(parts: PrunerParts, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await parts.replica.untilComplete(signal)
    if (signal.aborted) return
    const first = await firstRetained(parts, signal)
    if (first !== null) await pruneBefore(parts, first, signal)
    await sleep(parts.clock, INTERVAL_MS, signal)
  }
}

/** The first sequence that the log retains: null when it is unavailable, the highest integer when it is empty. */
async function firstRetained({ log, logger }: PrunerParts, signal: AbortSignal): Promise<number | null> {
  try {
    return (await log.oldest(signal)) ?? Number.MAX_SAFE_INTEGER
  } catch (error) {
    if (signal.aborted) return null
    if (!(error instanceof BridgeError)) throw error
    logger.warn('replica.not_pruned', { reason: messageOf(error) })
    return null
  }
}

async function pruneBefore(
  { archive, logger }: PrunerParts,
  first: number,
  signal: AbortSignal,
): Promise<void> {
  const { oldest } = archive
  while (!signal.aborted && archive.prune(first, SLICE_EVENTS) > 0) await yieldToEventLoop()
  if (archive.oldest > oldest) {
    logger.info('replica.pruned', { events: archive.oldest - oldest, oldest: archive.oldest })
  }
}
