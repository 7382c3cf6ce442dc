/** Measures how long a piece of work takes and how long it blocks the event loop, and makes figures of that. */
import type { Figure } from '../figures.ts'

/** What one run took, ms. */
export interface Timing {
  tookMs: number
  /** Longest block of the event loop. */
  heldMs: number
}

/** Reads a clock, ms. */
export type Stopwatch = () => number

/** The processor time of this thread, in steps of some ms: on a busy machine it leaves out what other processes take. */
export function processorMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** Milliseconds that `work` takes, and the longest block of the event loop, both by `now`. */
export async function timed(work: () => unknown, now: Stopwatch = () => performance.now()): Promise<Timing> {
  const startMs = now()
  let turnedMs = startMs
  let heldMs = 0
  let done = false
  const turn = (): void => {
    const nowMs = now()
    heldMs = Math.max(heldMs, nowMs - turnedMs)
    turnedMs = nowMs
    if (!done) setImmediate(turn)
  }
  setImmediate(turn)
  await work()
  const endMs = now()
  done = true
  return { tookMs: endMs - startMs, heldMs: Math.max(heldMs, endMs - turnedMs) }
}

/** Two figures of some runs: the time they took under `name`, and their longest blocks of the event loop. */
export function timingFigures(name: string, runs: readonly Timing[]): Figure[] {
  return [
    { name, unit: 'ms', values: runs.map(({ tookMs }) => tookMs) },
    {
      name: '  longest block of the event loop',
      unit: 'ms',
      values: runs.map(({ heldMs }) => heldMs),
      goal: { atMost: 50 },
    },
  ]
}
