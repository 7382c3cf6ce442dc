/**
 * Lets one reader of a large page begin in each tick of the event loop. Two hundred pages of a megabyte that are asked
 * for at once would otherwise be read and written in one tick, in which nothing else is served.
 */
import { yieldToEventLoop } from '../../lifecycle/clock.ts'

/** The gate of a node. */
export class TickGate {
  readonly #waiting: (() => void)[] = []
  #isOpen = true

  /** Resolves at once where nobody began in this tick, else in a later one; in the order of the calls. */
  pass(): Promise<void> {
    if (!this.#isOpen) return new Promise((resolve) => this.#waiting.push(resolve))
    this.#isOpen = false
    void this.#admit()
    return Promise.resolve()
  }

  async #admit(): Promise<void> {
    for (;;) {
      await yieldToEventLoop()
      const next = this.#waiting.shift()
      if (next === undefined) break
      next()
    }
    this.#isOpen = true
  }
}
