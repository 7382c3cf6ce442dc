/**
 * A clock that advances only when a test advances it, in whole milliseconds. Timers fire by due time, then in the
 * order in which they were set. A test never waits for the machine's clock.
 */
import type { Clock } from '../../../src/lifecycle/clock.ts'

export interface ManualClock extends Clock {
  /** Moves on by `delayMs`, firing every timer that falls due on the way, each at its own moment. */
  advance(delayMs: number): void
  /** Sets the time to `nowMs`, forwards or back, as an administrator would: timers keep their delay and do not fire. */
  set(nowMs: number): void
  /** Milliseconds until the next timer falls due, or null when none is set. */
  nextTimerMs(): number | null
}

interface Timer {
  dueMs: number
  callback: () => void
}

/** A clock that starts at `startMs`. */
export function createManualClock(startMs = Date.UTC(2026, 5, 1, 6)): ManualClock {
  const timers = new Set<Timer>()
  let nowMs = startMs
  const earliest = (): Timer | undefined => {
    let first: Timer | undefined
    for (const timer of timers) {
      if (first === undefined || timer.dueMs < first.dueMs) first = timer
    }
    return first
  }
  return {
    now: () => nowMs,
    after(delayMs, callback) {
      const timer = { dueMs: nowMs + Math.max(0, Math.ceil(delayMs)), callback }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    advance(delayMs) {
      const untilMs = nowMs + delayMs
      for (let timer = earliest(); timer !== undefined && timer.dueMs <= untilMs; timer = earliest()) {
        timers.delete(timer)
        nowMs = timer.dueMs
        timer.callback()
      }
      nowMs = untilMs
    },
    set(toMs) {
      for (const timer of timers) timer.dueMs += toMs - nowMs
      nowMs = toMs
    },
    nextTimerMs: () => {
      const timer = earliest()
      return timer === undefined ? null : timer.dueMs - nowMs
    },
  }
}
