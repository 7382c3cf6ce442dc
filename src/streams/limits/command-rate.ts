/**
 * How many commands a client sends. Owns the count: at most so many in any second, looked at before anything is parsed.
 * Refuses to decide what happens to a client that sends more.
 */
import { SECOND_MS } from '../../core/durations.ts'

/** Most commands in any second (contract §8). */
export const MAX_COMMANDS_A_SECOND = 10

/** Nothing counted yet. Keeps the moments of the last ten, once there are any. */
export class CommandRate {
  #moments: number[] | null = null

  /** Counts one; false when it is one too many. */
  take(nowMs: number): boolean {
    this.#moments ??= []
    this.#moments.push(nowMs)
    const [first = nowMs] = this.#moments
    if (this.#moments.length <= MAX_COMMANDS_A_SECOND) return true
    this.#moments.shift()
    // A clock that was set back is no command too many.
    return nowMs < first || nowMs - first >= SECOND_MS
  }
}
