/** Wraps the browser's clock, timers and frames: the only file of the page that asks the machine for time. */
import { systemClock } from '../../../../clients/typescript/src/clock.ts'

/** Time in the page. */
export interface PageClock {
  /** ms since 1970. */
  now(): number
  /** Calls back once after `delayMs`. Returns the cancel. */
  after(delayMs: number, callback: () => void): () => void
  /** Calls back before the next repaint. Returns the cancel. A hidden page has none. */
  frame(callback: () => void): () => void
}

/** The browser's. */
export const pageClock: PageClock = {
  // biome-ignore lint/plugin: the page's clock reads the browser's here
  now: () => Date.now(),
  after: (delayMs, callback) => systemClock.after(delayMs, callback),
  frame(callback) {
    const id = requestAnimationFrame(callback)
    return () => cancelAnimationFrame(id)
  },
}
