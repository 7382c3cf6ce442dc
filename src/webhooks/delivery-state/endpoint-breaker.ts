/**
 * Implements the circuit breaker of a webhook endpoint: after five failures in a row, it allows only one probe at a
 * time. The probe is a delivery that is due anyway: tries come later, but none is added, lost or skipped.
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
export class Breaker {
  #failures: number
  #probes = 0
  #probeAtMs = 0

  /** `isFailing`: the endpoint was failing when this process took it over, so it begins with a probe. */
  constructor(isFailing: boolean) {
    this.#failures = isFailing ? FAILURES_TO_OPEN : 0
  }

  /** True while only probes may be sent. */
  get isOpen(): boolean {
    return this.#failures >= FAILURES_TO_OPEN
  }

  /** When the next probe may be sent, ms since 1970; 0 while closed. */
  get probeAtMs(): number {
    return this.#probeAtMs
  }

  /**
   * Whether a delivery may start now; while open, a probe. Where the clock was set back, the next probe is moved to within
   * the longest gap.
   */
  allows(nowMs: number): boolean {
    this.#probeAtMs = Math.min(this.#probeAtMs, nowMs + LONGEST_PROBE_GAP_MS)
    return nowMs >= this.#probeAtMs
  }

  /** An attempt was delivered: closes. */
  succeeded(): void {
    this.#failures = 0
    this.#probes = 0
    this.#probeAtMs = 0
  }

  /** An attempt failed. `chance` is a number in [0, 1). */
  failed(nowMs: number, chance: number): void {
    this.#failures += 1
    // Attempts that were in flight when it opened count as one failure, not as several probes.
    if (!this.isOpen || nowMs < this.#probeAtMs) return
    this.#probes += 1
    const gapMs = retryDelayMs(this.#probes, chance) ?? LONGEST_PROBE_GAP_MS
    this.#probeAtMs = nowMs + Math.min(LONGEST_PROBE_GAP_MS, gapMs)
  }
}
