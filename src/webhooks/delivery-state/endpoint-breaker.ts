/**
 * Limits an endpoint that only fails to one probe at a time, after five failures in a row. The probe is a delivery that is due
 * anyway: no try is added, lost or skipped, only later.
 */
import { retryDelayMs } from './retry-schedule.ts'

/** Failures in a row that open the breaker. */
export const FAILURES_TO_OPEN = 5
/**
 * Longest time between two probes. The first two delays are those of the retry schedule (5 s, 30 s), then it is a minute: an
 * endpoint that recovers is noticed within that time and gets everything that is due at once.
 */
export const LONGEST_PROBE_GAP_MS = 60_000

/** The circuit breaker of one endpoint. */
export interface Breaker {
  /** True while only probes may be sent. */
  readonly isOpen: boolean
  /** When the next probe may be sent, ms since 1970; 0 while closed. */
  readonly probeAtMs: number
  /**
   * Whether a delivery may start now; while open, a probe. Where the clock was set back, the next probe is moved to within
   * the longest gap.
   */
  allows(nowMs: number): boolean
  /** An attempt was delivered: closes. */
  succeeded(): void
  /** An attempt failed. `chance` is a number in [0, 1). */
  failed(nowMs: number, chance: number): void
}

/** Makes a breaker. `isFailing`: the endpoint was failing when this process took it over, so it begins with a probe. */
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
    allows(nowMs) {
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
      // Attempts that were in flight when it opened count as one failure, not as several probes.
      if (!isOpen() || nowMs < probeAtMs) return
      probes += 1
      const gapMs = retryDelayMs(probes, chance) ?? LONGEST_PROBE_GAP_MS
      probeAtMs = nowMs + Math.min(LONGEST_PROBE_GAP_MS, gapMs)
    },
  }
}
