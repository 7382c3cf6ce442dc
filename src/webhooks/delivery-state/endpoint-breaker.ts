/**
 * Implements the circuit breaker of a webhook endpoint: while nobody answers, it allows only one probe at a time. The
 * probe is a delivery that is due anyway: tries come later, but none is added, lost or skipped.
 *
 * Failures of some events say nothing of the endpoint. A connection that is not made cannot be the fault of an event, so
 * five in a row are enough. Of 5xx, broken answers and time-outs, only those of events count that were never tried before
 * the last answer; they must be so many that nobody who fails every second event has them in a row by chance.
 */
import { retryDelayMs } from './outcome.ts'

/** Connections in a row that were not made, after which the breaker opens. */
export const UNCONNECTED_TO_OPEN = 5
/** Events in a row that were sent and failed, after which it opens; of a receiver that fails 45 %, one run in ten million. */
export const FAILED_EVENTS_TO_OPEN = 20
/**
 * Longest time between two probes. The first two delays are those of the retry schedule (5 s, 30 s), then it is a minute: an
 * endpoint that recovers is noticed within that time and gets everything that is due at once.
 */
export const LONGEST_PROBE_GAP_MS = 60_000

/** A failed attempt, as the breaker counts it. */
export interface CountedFailure {
  sequence: number
  /** The delivery had no try before. */
  isFirst: boolean
  /** The request left: the event may be at fault. */
  isSent: boolean
}

/** The circuit breaker of one endpoint. */
export class Breaker {
  #isOpen: boolean
  #unconnected = 0
  /** Events that failed since the last answer, and had no try before it. */
  readonly #failed = new Set<number>()
  #probes = 0
  #probeAtMs = 0

  /** `isFailing`: the endpoint was failing when this process took it over, so it begins with a probe. */
  constructor(isFailing: boolean) {
    this.#isOpen = isFailing
  }

  /** True while only probes may be sent. */
  get isOpen(): boolean {
    return this.#isOpen
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

  /** The receiver answered, be it with 4xx: closes. */
  answered(): void {
    this.#isOpen = false
    this.#unconnected = 0
    this.#failed.clear()
    this.#probes = 0
    this.#probeAtMs = 0
  }

  /** An attempt got no answer, or 5xx. `chance` is a number in [0, 1). */
  failed({ sequence, isFirst, isSent }: CountedFailure, nowMs: number, chance: number): void {
    if (!isSent) this.#unconnected += 1
    else if (isFirst || this.#failed.has(sequence)) this.#failed.add(sequence)
    const isAbsent = this.#unconnected >= UNCONNECTED_TO_OPEN || this.#failed.size >= FAILED_EVENTS_TO_OPEN
    this.#isOpen ||= isAbsent
    // Attempts that were in flight when it opened count as one failure, not as several probes.
    if (!this.#isOpen || nowMs < this.#probeAtMs) return
    this.#failed.clear()
    this.#probes += 1
    const gapMs = retryDelayMs(this.#probes, chance) ?? LONGEST_PROBE_GAP_MS
    this.#probeAtMs = nowMs + Math.min(LONGEST_PROBE_GAP_MS, gapMs)
  }
}
