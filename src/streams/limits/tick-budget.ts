/**
 * What falls due for thousands of streams at one moment, spread over turns of the event loop: signs of life, stalls, peers
 * that are gone, the end of a token, the stop of a node. Owns how much one turn does, so that nobody else's events wait
 * for all of it. Refuses to know what is done.
 */
import { yieldToEventLoop } from '../../lifecycle/clock.ts'

/** Ending a connection that took nothing costs up to 0.6 ms, most of it in the kernel: 10 ms a turn. */
export const JOBS_PER_TICK = 16

/** The jobs of a node, done in the order in which they came. */
export class Turns {
  #waiting: (() => void)[] = []
  /** Done in this turn. */
  #done = 0
  #isCounting = false

  /** Does the job at once, or in a later turn where this one has done enough. What it throws is a fault of ours. */
  add(job: () => void): void {
    if (this.#done === JOBS_PER_TICK) {
      this.#waiting.push(job)
      return
    }
    this.#done += 1
    if (!this.#isCounting) void this.#count()
    job()
  }

  /** Begins each turn anew until one has had nothing to do. */
  async #count(): Promise<void> {
    this.#isCounting = true
    while (this.#done > 0) {
      await yieldToEventLoop()
      const jobs = this.#waiting.splice(0, JOBS_PER_TICK)
      this.#done = jobs.length
      for (const job of jobs) job()
    }
    this.#isCounting = false
  }
}
