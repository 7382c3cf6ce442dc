/**
 * The market's clock: starts at the scenario's moment, runs `speed` times as fast as the given clock, steps over the
 * scenario's quiet stretches, and can be moved forward. Owns nothing but this arithmetic; it sets no timers.
 */
import type { Clock } from '../../lifecycle/clock.ts'

/** A quiet stretch: when the clock reaches `fromMs` it stands at `toMs`. Both ms since 1970. */
export interface Skip {
  fromMs: number
  toMs: number
}

export interface MarketClock {
  /** The market's present moment, ms since 1970. Never goes back. */
  nowMs(): number
  /** Moves the market forward by `ms`. */
  advance(ms: number): void
}

/** A market clock that starts now. `skips` are in order and do not overlap. */
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
