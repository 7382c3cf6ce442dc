/**
 * Runs long computations in slices of time, so that the event loop stays free for other work. A computation is a generator
 * that yields wherever it may be interrupted.
 */
import { yieldToEventLoop } from './clock.ts'

/** A computation that yields where it may be interrupted, and returns its result. */
export type Steps<T> = Generator<void, T, void>

/** Longest time of one slice, ms, if the steps are shorter. */
const SLICE_MS = 15

/** The result of the steps, run in slices; `nowMs` reads our clock. Throws what they throw. */
export async function inSlices<T>(steps: Steps<T>, nowMs: () => number): Promise<T> {
  let beganMs = nowMs()
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    // A clock that was set back ends the slice too.
    if (Math.abs(nowMs() - beganMs) < SLICE_MS) continue
    await yieldToEventLoop()
    beganMs = nowMs()
  }
}

/** The result of the steps, run without a pause: for input that is known to be short. Throws what they throw. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
