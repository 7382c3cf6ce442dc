/**
 * The time of one attempt: which phase it is in, how long each took, and when it is over. Owns the limits' timers and the
 * signal that they abort. Refuses to know what happens in a phase.
 */
import type { Clock } from '../lifecycle/clock.ts'

/** Where an attempt is: asking for the name, connecting (TLS too), waiting for the head, reading on. */
export const attemptPhases = ['dns', 'connect', 'head', 'body'] as const
/** One of them. */
export type AttemptPhase = (typeof attemptPhases)[number]

export interface Watch {
  /** Aborts when a limit is reached, or the caller's signal aborts. */
  readonly signal: AbortSignal
  /** Which of the two it was; null: neither yet. */
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

/** A watch that begins now. `wholeMs` limits all phases together. */
export function createWatch(clock: Clock, caller: AbortSignal, wholeMs: number): Watch {
  const stop = new AbortController()
  const startedMs = clock.now()
  const phasesMs: Partial<Record<AttemptPhase, number>> = {}
  let phase: AttemptPhase = 'dns'
  let sinceMs = startedMs
  let cause: 'limit' | 'caller' | null = null
  let cancelTimer = (): void => {}
  const stopFor = (why: 'limit' | 'caller'): void => {
    cause ??= why
    stop.abort()
  }
  const onAbort = (): void => stopFor('caller')
  if (caller.aborted) onAbort()
  caller.addEventListener('abort', onAbort, { once: true })
  const count = (nowMs: number): void => {
    phasesMs[phase] = (phasesMs[phase] ?? 0) + Math.max(0, nowMs - sinceMs)
    sinceMs = nowMs
  }
  return {
    signal: stop.signal,
    cause: () => cause,
    phase: () => phase,
    enter(next, limitMs) {
      const nowMs = clock.now()
      if (next !== phase) count(nowMs)
      phase = next
      cancelTimer()
      cancelTimer = clock.after(Math.min(limitMs, startedMs + wholeMs - nowMs), () => stopFor('limit'))
    },
    async first(promise) {
      if (stop.signal.aborted) return null
      const stopped = Promise.withResolvers<null>()
      const onStop = (): void => stopped.resolve(null)
      stop.signal.addEventListener('abort', onStop, { once: true })
      try {
        return await Promise.race([promise, stopped.promise])
      } finally {
        stop.signal.removeEventListener('abort', onStop)
      }
    },
    times() {
      const nowMs = clock.now()
      count(nowMs)
      return { phase, startedMs, durationMs: Math.max(0, nowMs - startedMs), phasesMs: { ...phasesMs } }
    },
    end() {
      cancelTimer()
      caller.removeEventListener('abort', onAbort)
    },
  }
}
