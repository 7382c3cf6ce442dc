/** Bounds the wait for a promise by a time limit or an abort signal. Does not stop the work behind the promise. */
import type { Clock } from '../../lifecycle/clock.ts'

/**
 * The result of the work, if it settles before the signal aborts; a later result is dropped.
 * @throws the signal's reason; whatever the work throws
 */
export async function abortable<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const stopped = Promise.withResolvers<never>()
  const stop = (): void => stopped.reject(signal.reason)
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([work, stopped.promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** The time of the work is over. */
export class TimeoutError extends Error {}

/**
 * As `abortable`, for at most `limitMs`.
 * @throws TimeoutError when the time is over
 */
export async function withTimeout<T>(
  clock: Clock,
  limitMs: number,
  signal: AbortSignal,
  work: Promise<T>,
): Promise<T> {
  const timeout = Promise.withResolvers<never>()
  const expire = (): void => timeout.reject(new TimeoutError(`no answer within ${limitMs / 1000} s`))
  const cancel = clock.after(limitMs, expire)
  try {
    return await abortable(signal, Promise.race([work, timeout.promise]))
  } finally {
    cancel()
  }
}
