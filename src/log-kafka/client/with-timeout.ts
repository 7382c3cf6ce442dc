/**
 * Waiting for somebody else's work no longer than agreed. Owns the wait. Refuses to stop the work: the caller ends what
 * it runs on.
 */
import type { Clock } from '../../lifecycle/clock.ts'

/**
 * What the work gives, if it comes within `limitMs` (null: however long it takes) and before the signal aborts. What comes later is dropped.
 * @throws the signal's reason; Error when the time is over; whatever the work throws
 */
export async function within<T>(
  clock: Clock,
  limitMs: number | null,
  signal: AbortSignal,
  work: Promise<T>,
): Promise<T> {
  let settle = (): void => undefined
  const givenUp = new Promise<never>((_, reject) => {
    const stop = (): void => reject(signal.reason)
    const late = (): void => reject(new Error(`no answer within ${Number(limitMs) / 1000} s`))
    const cancel = limitMs === null ? () => undefined : clock.after(limitMs, late)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    settle = () => {
      cancel()
      signal.removeEventListener('abort', stop)
    }
  })
  try {
    return await Promise.race([work, givenUp])
  } finally {
    settle()
  }
}
