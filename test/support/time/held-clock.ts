/** Stops the machine's clock until the test releases it, so that no program misses the beginning of a market. */
import { type Clock, systemClock } from '../../../src/lifecycle/clock.ts'

/** A clock that stands still, at the machine's time, until `release`. Its timers run from the start. */
export function heldClock(): { clock: Clock; release(): void } {
  const heldMs = systemClock.now()
  let releasedMs: number | null = null
  const now = (): number => heldMs + (releasedMs === null ? 0 : systemClock.now() - releasedMs)
  return {
    clock: { now, after: systemClock.after },
    release() {
      releasedMs = systemClock.now()
    },
  }
}
