/**
 * Lets this node's copy forget what the log has dropped by age, so that its disk does not grow for ever and every node
 * answers from the same first event. Owns how often it looks. Refuses to drop anything that the log still has.
 */
import { BridgeError, messageOf } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { sleep, yieldTurn } from '../../lifecycle/clock.ts'
import type { Log } from '../../log/log.ts'
import type { Logger } from '../../obs/logger.ts'
import type { Archive } from '../store/archive.ts'
import type { CopyState } from '../store/replica-progress.ts'

/** Between two looks, ms. Kafka drops whole segments, hours to days apart. */
const EVERY_MS = 3_600_000
/** Events removed in one transaction: some 20 ms of work. */
const SLICE = 100

/** What is pruned, after which log. */
export interface PrunerParts {
  log: Log
  archive: Archive
  /** Nothing is removed before the copy was compared with the log. */
  copy: CopyState
  clock: Clock
  logger: Logger
}

/**
 * Prunes now and every hour until the signal aborts, then resolves. A log that is away is asked again an hour later.
 * @throws BridgeError as `Archive` does
 */
export async function runPruner(parts: PrunerParts, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await parts.copy.whole(signal)
    if (signal.aborted) return
    const first = await firstKept(parts, signal)
    if (first !== null) await forgetBefore(parts, first, signal)
    await sleep(parts.clock, EVERY_MS, signal)
  }
}

/** null where the log does not say; where it keeps nothing, a sequence beyond everything. */
async function firstKept({ log, logger }: PrunerParts, signal: AbortSignal): Promise<number | null> {
  try {
    return (await log.oldest(signal)) ?? Number.MAX_SAFE_INTEGER
  } catch (error) {
    if (signal.aborted) return null
    if (!(error instanceof BridgeError)) throw error
    logger.warn('copy.not_pruned', { reason: messageOf(error) })
    return null
  }
}

async function forgetBefore(
  { archive, logger }: PrunerParts,
  first: number,
  signal: AbortSignal,
): Promise<void> {
  const { oldest } = archive
  while (!signal.aborted && archive.forget(first, SLICE) > 0) await yieldTurn()
  if (archive.oldest > oldest) {
    logger.info('copy.pruned', { events: archive.oldest - oldest, oldest: archive.oldest })
  }
}
