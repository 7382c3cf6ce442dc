/**
 * Measures the time of one webhook delivery attempt, and ends the attempt when a time limit is reached or the caller
 * aborts.
 */
import type { Clock } from '../../lifecycle/clock.ts'

/** The phases of an attempt: resolving the name, connecting (with TLS), waiting for the answer's head, reading its body. */
export const attemptPhases = ['dns', 'connect', 'head', 'body'] as const
/** One of them. */
export type AttemptPhase = (typeof attemptPhases)[number]

/** The timer of one attempt, running from its construction to `end`. */
export class AttemptTimer {
  readonly #over = new AbortController()
  readonly #clock: Clock
  readonly #caller: AbortSignal
  readonly #startedMs: number
  readonly #endsMs: number
  readonly #onAbort = (): void => this.#over.abort()
  #phase: AttemptPhase = 'dns'
  #phaseSinceMs: number
  /** When the timer fires, ms since 1970. One that fires before the limit stays: most attempts end before either. */
  #firesMs = Number.POSITIVE_INFINITY
  /** What is left of the limit when it fires. */
  #restMs = 0
  #isLate = false
  #cancel = (): void => undefined

  /** `wholeMs` limits all phases together. */
  constructor(clock: Clock, caller: AbortSignal, wholeMs: number) {
    this.#clock = clock
    this.#caller = caller
    this.#startedMs = clock.now()
    this.#endsMs = this.#startedMs + wholeMs
    this.#phaseSinceMs = this.#startedMs
    if (caller.aborted) this.#onAbort()
    caller.addEventListener('abort', this.#onAbort, { once: true })
  }

  /** Aborts when a limit is reached, or with the caller's signal. */
  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** A limit was reached. */
  get isLate(): boolean {
    return this.#isLate
  }

  /** The phase it is in. */
  get phase(): AttemptPhase {
    return this.#phase
  }

  /** Time in the present phase until now, ms. */
  get phaseMs(): number {
    return Math.max(0, this.#clock.now() - this.#phaseSinceMs)
  }

  /** Begins a phase, which may last so long, and never beyond the whole; ends the attempt where that is over already. */
  enter(phase: AttemptPhase, limitMs: number): void {
    const nowMs = this.#clock.now()
    this.#phase = phase
    this.#phaseSinceMs = nowMs
    const untilMs = Math.min(nowMs + limitMs, this.#endsMs)
    // The process was suspended: the attempt is over before it enters the phase.
    if (untilMs <= nowMs) this.#late()
    else if (untilMs < this.#firesMs) this.#arm(untilMs, untilMs - nowMs)
    else this.#restMs = untilMs - this.#firesMs
  }

  /** When it began, ms since 1970, how long it has taken, and the phase it is in. */
  times(): { phase: AttemptPhase; startedMs: number; durationMs: number } {
    const durationMs = Math.max(0, this.#clock.now() - this.#startedMs)
    return { phase: this.#phase, startedMs: this.#startedMs, durationMs }
  }

  /** Lets go of timer and caller. */
  end(): void {
    this.#cancel()
    this.#caller.removeEventListener('abort', this.#onAbort)
  }

  /** Reads no clock when it fires: the clock may have been set meanwhile. */
  #arm(firesMs: number, delayMs: number): void {
    this.#cancel()
    this.#firesMs = firesMs
    this.#restMs = 0
    this.#cancel = this.#clock.after(delayMs, () => {
      if (this.#restMs > 0) this.#arm(this.#firesMs + this.#restMs, this.#restMs)
      else this.#late()
    })
  }

  #late(): void {
    this.#isLate ||= !this.#over.signal.aborted
    this.#over.abort()
  }
}
