/**
 * The time of one attempt: which phase it is in, how long each took, and when it is over. Owns the limits' timer, and tells
 * who waits when there is no time left or the caller has given up. Refuses to know what happens in a phase.
 */
import type { Clock } from '../lifecycle/clock.ts'

/** Where an attempt is: asking for the name, connecting (TLS too), waiting for the head, reading on. */
export const attemptPhases = ['dns', 'connect', 'head', 'body'] as const
/** One of them. */
export type AttemptPhase = (typeof attemptPhases)[number]

/** What ends an attempt. A signal of its own for each would cost a tenth of it. */
export interface Stop {
  /** A limit was reached, or the caller's signal has aborted. */
  readonly isOver: boolean
  /** Calls back once when that happens; in the place of who asked before. null: nobody is to be told. */
  onOver(callback: (() => void) | null): void
}

/** A stop that ends when it is told to; a second time changes nothing. */
export function createStop(): Stop & { end(): void } {
  let isOver = false
  let told: (() => void) | null = null
  return {
    get isOver() {
      return isOver
    },
    onOver(callback) {
      told = callback
    },
    end() {
      isOver = true
      const callback = told
      told = null
      callback?.()
    },
  }
}

export interface Watch extends Stop {
  /** What has ended it; null: nothing yet. */
  cause(): 'limit' | 'caller' | null
  phase(): AttemptPhase
  /** Begins a phase, which may last so long, and never beyond the whole. */
  enter(phase: AttemptPhase, limitMs: number): void
  /** What the promise brings, or null where the watch ends first. */
  first<T>(promise: Promise<T>): Promise<T | null>
  /** The phase it is in and the times until now. */
  times(): {
    phase: AttemptPhase
    startedMs: number
    durationMs: number
    phasesMs: Partial<Record<AttemptPhase, number>>
  }
  /** Lets go of timer and signal. */
  end(): void
}

/** Longest that the timer is set for, ms: no phase is shorter, so a phase that begins need not set it anew. */
const LONGEST_PIECE_MS = 2_000

/** A watch that begins now. `wholeMs` limits all phases together. */
export function createWatch(clock: Clock, caller: AbortSignal, wholeMs: number): Watch {
  const startedMs = clock.now()
  const phasesMs: Partial<Record<AttemptPhase, number>> = {}
  let phase: AttemptPhase = 'dns'
  let sinceMs = startedMs
  let cause: 'limit' | 'caller' | null = null
  const stop = createStop()
  let timer: { atMs: number; cancel: () => void } | null = null
  /** What is left of the limit when the timer has fired. */
  let restMs = 0
  const stopFor = (why: 'limit' | 'caller'): void => {
    cause ??= why
    stop.end()
  }
  const onAbort = (): void => stopFor('caller')
  if (caller.aborted) onAbort()
  caller.addEventListener('abort', onAbort, { once: true })
  const setTimer = (limitMs: number): void => {
    const pieceMs = Math.min(limitMs, LONGEST_PIECE_MS)
    restMs = limitMs - pieceMs
    timer = { atMs: clock.now() + pieceMs, cancel: clock.after(pieceMs, fired) }
  }
  const fired = (): void => {
    if (restMs > 0) setTimer(restMs)
    else stopFor('limit')
  }
  const count = (nowMs: number): void => {
    phasesMs[phase] = (phasesMs[phase] ?? 0) + Math.max(0, nowMs - sinceMs)
    sinceMs = nowMs
  }
  return {
    get isOver() {
      return stop.isOver
    },
    onOver: stop.onOver,
    cause: () => cause,
    phase: () => phase,
    enter(next, limitMs) {
      const nowMs = clock.now()
      if (next !== phase) count(nowMs)
      phase = next
      const leftMs = Math.min(limitMs, startedMs + wholeMs - nowMs)
      // The clock may have been set meanwhile.
      const firesInMs =
        timer === null ? Infinity : Math.min(LONGEST_PIECE_MS, Math.max(0, timer.atMs - nowMs))
      if (firesInMs <= leftMs) restMs = leftMs - firesInMs
      else {
        timer?.cancel()
        setTimer(leftMs)
      }
    },
    first: (promise) =>
      new Promise((resolve, reject) => {
        if (stop.isOver) return resolve(null)
        stop.onOver(() => resolve(null))
        promise.then((value) => {
          stop.onOver(null)
          resolve(value)
        }, reject)
      }),
    times() {
      const nowMs = clock.now()
      count(nowMs)
      return { phase, startedMs, durationMs: Math.max(0, nowMs - startedMs), phasesMs }
    },
    end() {
      timer?.cancel()
      caller.removeEventListener('abort', onAbort)
    },
  }
}
