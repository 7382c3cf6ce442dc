/** Measures the phases of one attempt and ends it when a limit is reached or the caller aborts. */
import type { Clock } from '../../lifecycle/clock.ts'

/** The phases of an attempt: resolving the name, connecting (with TLS), waiting for the answer's head, reading its body. */
export const attemptPhases = ['dns', 'connect', 'head', 'body'] as const
/** One of them. */
export type AttemptPhase = (typeof attemptPhases)[number]

/** Ends an attempt. An AbortSignal for each attempt would cost a tenth of the attempt. */
export interface Stop {
  /** A limit was reached, or the caller's signal has aborted. */
  readonly isOver: boolean
  /** Calls back once when that happens; replaces the callback before. null: no callback. */
  onOver(callback: (() => void) | null): void
}

/** A stop with a method that ends it; a second call changes nothing. */
export interface Ending extends Stop {
  end(): void
}

/** One that has not ended. */
export function createStop(): Ending {
  return new EndingStop()
}

/** A class, as the one below is, for its methods on the prototype: made for every attempt, closures would cost more. */
class EndingStop implements Ending {
  isOver = false
  #told: (() => void) | null = null

  onOver(callback: (() => void) | null): void {
    this.#told = callback
  }

  end(): void {
    this.isOver = true
    const callback = this.#told
    this.#told = null
    callback?.()
  }
}

export interface Watch extends Stop {
  /** What has ended it; null: nothing yet. */
  readonly cause: 'limit' | 'caller' | null
  readonly phase: AttemptPhase
  /** Begins a phase, which may last so long, and never beyond the whole; ends the watch where that is over already. */
  enter(phase: AttemptPhase, limitMs: number): void
  /** What is there, or the promise brings; null where the watch ends first. */
  first<T>(work: T | Promise<T>): T | null | Promise<T | null>
  /** The phase it is in and the times until now. */
  times(): WatchTimes
  /** Lets go of timer and signal. */
  end(): void
}

/** The phase that an attempt is in, and its times until now. */
export interface WatchTimes {
  phase: AttemptPhase
  startedMs: number
  durationMs: number
  phasesMs: Partial<Record<AttemptPhase, number>>
}

/** Longest that the timer is set for, ms: no phase is shorter, so a phase that begins need not set it anew. */
const LONGEST_PIECE_MS = 2_000

/** A watch that begins now. `wholeMs` limits all phases together. */
export function createWatch(clock: Clock, caller: AbortSignal, wholeMs: number): Watch {
  return new AttemptWatch(clock, caller, wholeMs)
}

class AttemptWatch implements Watch {
  readonly #stop = createStop()
  cause: 'limit' | 'caller' | null = null
  phase: AttemptPhase = 'dns'
  readonly #clock: Clock
  readonly #caller: AbortSignal
  readonly #startedMs: number
  readonly #endsMs: number
  readonly #phasesMs: Partial<Record<AttemptPhase, number>> = {}
  readonly #onAbort = (): void => this.#stopFor('caller')
  readonly #onTimer = (): void => this.#fired()
  #sinceMs: number
  /** When the timer fires, by the clock of when it was set. */
  #timerAtMs: number = Number.POSITIVE_INFINITY
  #cancelTimer: (() => void) | null = null
  /** What is left of the limit when the timer has fired. */
  #restMs = 0

  constructor(clock: Clock, caller: AbortSignal, wholeMs: number) {
    this.#clock = clock
    this.#caller = caller
    this.#startedMs = clock.now()
    this.#endsMs = this.#startedMs + wholeMs
    this.#sinceMs = this.#startedMs
    if (caller.aborted) this.#onAbort()
    caller.addEventListener('abort', this.#onAbort, { once: true })
  }

  get isOver(): boolean {
    return this.#stop.isOver
  }

  onOver(callback: (() => void) | null): void {
    this.#stop.onOver(callback)
  }

  enter(next: AttemptPhase, limitMs: number): void {
    const nowMs = this.#clock.now()
    if (next !== this.phase) this.#count(nowMs)
    this.phase = next
    const leftMs = Math.min(limitMs, this.#endsMs - nowMs)
    // The process was suspended: the attempt is over before it enters the phase.
    if (leftMs <= 0) return this.#stopFor('limit')
    // The clock may have been set meanwhile.
    const firesInMs =
      this.#cancelTimer === null ? Infinity : Math.min(LONGEST_PIECE_MS, Math.max(0, this.#timerAtMs - nowMs))
    if (firesInMs <= leftMs) this.#restMs = leftMs - firesInMs
    else {
      this.#cancelTimer?.()
      this.#setTimer(nowMs, leftMs)
    }
  }

  first<T>(work: T | Promise<T>): T | null | Promise<T | null> {
    if (this.isOver) return null
    if (!(work instanceof Promise)) return work
    return new Promise((resolve, reject) => {
      this.onOver(() => resolve(null))
      work.then((value) => {
        this.onOver(null)
        resolve(value)
      }, reject)
    })
  }

  times(): WatchTimes {
    const nowMs = this.#clock.now()
    this.#count(nowMs)
    const durationMs = Math.max(0, nowMs - this.#startedMs)
    return { phase: this.phase, startedMs: this.#startedMs, durationMs, phasesMs: this.#phasesMs }
  }

  end(): void {
    this.#cancelTimer?.()
    this.#caller.removeEventListener('abort', this.#onAbort)
  }

  #stopFor(why: 'limit' | 'caller'): void {
    this.cause ??= why
    this.#stop.end()
  }

  #setTimer(nowMs: number, limitMs: number): void {
    const pieceMs = Math.min(limitMs, LONGEST_PIECE_MS)
    this.#restMs = limitMs - pieceMs
    this.#timerAtMs = nowMs + pieceMs
    this.#cancelTimer = this.#clock.after(pieceMs, this.#onTimer)
  }

  #fired(): void {
    if (this.#restMs > 0) this.#setTimer(this.#clock.now(), this.#restMs)
    else this.#stopFor('limit')
  }

  #count(nowMs: number): void {
    this.#phasesMs[this.phase] = (this.#phasesMs[this.phase] ?? 0) + Math.max(0, nowMs - this.#sinceMs)
    this.#sinceMs = nowMs
  }
}
