/**
 * Limits how many commands one WebSocket client may send per second. Frames are counted before they are parsed.
 */
import { SECOND_MS } from '../../core/durations.ts'

/** Most commands in any second: those of a reader that comes back with all its subscriptions, and some more. */
export const MAX_COMMANDS_A_SECOND = 20

/** The command count of one client: the times of its last commands. */
export class CommandRate {
  #times: number[] | null = null

  /** Counts one command; false when it exceeds the limit. */
  take(nowMs: number): boolean {
    this.#times ??= []
    this.#times.push(nowMs)
    const [first = nowMs] = this.#times
    if (this.#times.length <= MAX_COMMANDS_A_SECOND) return true
    this.#times.shift()
    // A clock that was set back must not refuse a command.
    return nowMs < first || nowMs - first >= SECOND_MS
  }
}
