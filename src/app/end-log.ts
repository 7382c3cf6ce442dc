/**
 * Logs why the process stops, when it begins to, and its exit code, when everything is released.
 */
import { exitCodeFor } from '../errors.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { onUncaught, stopReason } from '../lifecycle/signals.ts'
import type { Logger } from '../obs/logger.ts'

/** The lines on the end of one process. Each line is written before the call returns. */
export interface EndLog {
  /** The start has failed, and what it opened is released now. */
  startFailed(error: unknown): void
  /** The signal asked for the stop, or `fault` ended a task. */
  stopping(signal: AbortSignal, fault: { error: unknown } | null): void
  /** Everything is released; null where nothing went wrong. */
  stopped(fault: { error: unknown } | null): void
  /** Stops watching for errors that nothing caught. */
  close(): void
}

/** Begins to watch for errors that nothing caught, which end the process without a clean stop. */
export function createEndLog({ clock, logger }: { clock: Clock; logger: Logger }): EndLog {
  let sinceMs: number | null = null
  let reported: unknown = null
  const failed = (reason: string, error: unknown): void => {
    sinceMs ??= clock.now()
    reported = error
    logger.error('process.stopping', { reason, error, exitCode: exitCodeFor(error) })
  }
  const close = onUncaught((error) =>
    logger.error('process.stopping', { reason: 'uncaught', error, exitCode: 1 }),
  )
  return {
    startFailed: (error) => failed('start_failed', error),
    stopping(signal, fault) {
      if (fault !== null) return failed('fault', fault.error)
      sinceMs = clock.now()
      logger.info('process.stopping', { reason: stopReason(signal) })
    },
    stopped(fault) {
      const durationMs = sinceMs === null ? null : clock.now() - sinceMs
      if (fault === null) return logger.info('process.stopped', { exitCode: 0, durationMs })
      const { error } = fault
      const isNew = error !== reported
      logger.error('process.stopped', { exitCode: exitCodeFor(error), durationMs, ...(isNew && { error }) })
    },
    close,
  }
}
