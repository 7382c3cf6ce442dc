/** Remembers results of long work for a while; requests that come while one is under way share it. */
import type { Clock } from '../../lifecycle/clock.ts'

/** Results that are remembered at a time; the oldest ones make room. */
const MOST_KEPT = 8

/** Results by key, each for `forMs`. A failure is not remembered. */
export class Remembered<T> {
  readonly #clock: Pick<Clock, 'now'>
  readonly #forMs: number
  readonly #kept = new Map<string, { result: Promise<T>; sinceMs: number }>()

  constructor(clock: Pick<Clock, 'now'>, forMs: number) {
    this.#clock = clock
    this.#forMs = forMs
  }

  /** The remembered result, else that of `work`. Rejects as `work` does. */
  get(key: string, work: () => Promise<T>): Promise<T> {
    const nowMs = this.#clock.now()
    const known = this.#kept.get(key)
    // A clock that was set back ends the time too.
    if (known !== undefined && Math.abs(nowMs - known.sinceMs) < this.#forMs) return known.result
    this.#kept.delete(key)
    const made = { result: work(), sinceMs: nowMs }
    this.#kept.set(key, made)
    made.result.catch(() => {
      if (this.#kept.get(key) === made) this.#kept.delete(key)
    })
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest)
    return made.result
  }
}
