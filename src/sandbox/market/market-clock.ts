/**
 * Runs the market clock: from the scenario's start, at `speed` times real time, skipping the scenario's quiet periods.
 * It sets no timers and can be moved forward.
 */
import type { Clock } from '../../lifecycle/clock.ts'

/** A quiet period: when the clock reaches `fromMs` it jumps to `toMs`. Both ms since 1970. */
export interface Skip {
  fromMs: number
  toMs: number
}

export interface MarketClock {
  /** Current market time, ms since 1970. Never goes back. */
  nowMs(): number
  /** Moves the market forward by `ms`. */
  advance(ms: number): void
}

/** Creates a market clock that starts now. `skips` must be in order and must not overlap. */
export function createMarketClock(
  clock: Clock,
  options: { startMs: number; speed: number; skips: readonly Skip[] },
): MarketClock {
  const beganMs = clock.now()
  let advancedMs = 0
  return {
    nowMs() {
      const elapsedMs = (clock.now() - beganMs) * options.speed + advancedMs
      const plainMs = options.startMs + Math.floor(elapsedMs)
      return options.skips.reduce(
        (ms, skip) => (ms >= skip.fromMs ? ms + skip.toMs - skip.fromMs : ms),
        plainMs,
      )
    },
    advance(ms) {
      advancedMs += ms
    },
  }
}
