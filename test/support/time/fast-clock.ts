/** Runs the machine's clock faster, for whole parts that wait by design. Real sockets get `speed` times less time. */
import { type Clock, systemClock } from '../../../src/lifecycle/clock.ts'

/** A clock on which a real second lasts `speed` seconds. */
export function createFastClock(speed: number): Clock {
  const startMs = systemClock.now()
  return {
    now: () => Math.floor(startMs + (systemClock.now() - startMs) * speed),
    after: (delayMs, callback) => systemClock.after(delayMs / speed, callback),
  }
}
