/**
 * Spreads work that falls due for thousands of streams at once over event-loop ticks. Such work are heartbeats, stalled or
 * dead peers, expired tokens and the stop of a node; a bounded number of jobs per tick keeps new events from waiting.
 */
import { yieldToEventLoop } from '../../lifecycle/clock.ts'

/** Closing a stalled connection costs up to 0.6 ms, most of it in the kernel: 10 ms a tick. */
export const JOBS_PER_TICK = 16

/** The jobs of a node, run in the order in which they were added. */
export class TickBudget {
  #queue: (() => void)[] = []
  /** Jobs run in this tick. */
  #ran = 0
  #isCounting = false

  /** Runs the job now, or in a later tick if this one's budget is used up. Jobs must not throw. */
  run(job: () => void): void {
    if (this.#ran === JOBS_PER_TICK) {
      this.#queue.push(job)
      return
    }
    this.#ran += 1
    if (!this.#isCounting) void this.#countTicks()
    job()
  }

  /** Renews the budget at each tick until one had nothing to do. */
  async #countTicks(): Promise<void> {
    this.#isCounting = true
    while (this.#ran > 0) {
      await yieldToEventLoop()
      const jobs = this.#queue.splice(0, JOBS_PER_TICK)
      this.#ran = jobs.length
      for (const job of jobs) job()
    }
    this.#isCounting = false
  }
}
