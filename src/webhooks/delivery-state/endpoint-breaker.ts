/**
 * What an endpoint that only fails is spared: after five failures in a row it gets one probe at a time instead of all that
 * is due. Owns the figures and when the next probe may leave. Refuses to choose which delivery is the probe: it is one that
 * is due anyway, so no try is made up, lost or skipped, only later.
 */
import { retryDelayMs } from './retry-schedule.ts'

/** Failures in a row after which one probe at a time is left. */
export const FAILURES_TO_OPEN = 5
/**
 * Longest time between two probes. The first delays are those of the retry schedule (5 s, 30 s); beyond them a minute, so
 * that who answers again waits no longer than that, and then gets everything that is due at once.
 */
export const LONGEST_PROBE_GAP_MS = 60_000

export interface Breaker {
  /** True while only probes may leave. */
  readonly isOpen: boolean
  /** When the next probe may leave, ms since 1970; 0 while closed. */
  readonly probeAtMs: number
  /**
   * Whether anything may leave now; while open, a probe. After a clock was set back the next probe is no further ahead than
   * the longest gap.
   */
  mayLeave(nowMs: number): boolean
  /** An attempt was delivered: closes. */
  succeeded(): void
  /** An attempt failed. `chance` is a number in [0, 1). */
  failed(nowMs: number, chance: number): void
}

/** A breaker; `isFailing`: the endpoint was failing when this process took it over, so it begins with a probe. */
export function createBreaker(isFailing: boolean): Breaker {
  let failures = isFailing ? FAILURES_TO_OPEN : 0
  let probes = 0
  let probeAtMs = 0
  const isOpen = (): boolean => failures >= FAILURES_TO_OPEN
  return {
    get isOpen() {
      return isOpen()
    },
    get probeAtMs() {
      return probeAtMs
    },
    mayLeave(nowMs) {
      probeAtMs = Math.min(probeAtMs, nowMs + LONGEST_PROBE_GAP_MS)
      return nowMs >= probeAtMs
    },
    succeeded() {
      failures = 0
      probes = 0
      probeAtMs = 0
    },
    failed(nowMs, chance) {
      failures += 1
      // What left together before it opened, and ends after it, is one failure and not several probes.
      if (!isOpen() || nowMs < probeAtMs) return
      probes += 1
      const gapMs = retryDelayMs(probes, chance) ?? LONGEST_PROBE_GAP_MS
      probeAtMs = nowMs + Math.min(LONGEST_PROBE_GAP_MS, gapMs)
    },
  }
}
