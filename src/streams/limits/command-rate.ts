/**
 * Limits how many commands one WebSocket client may send per second. Frames are counted before they are parsed.
 */
import { SECOND_MS } from '../../core/durations.ts'

/** Most commands in any second. */
export const MAX_COMMANDS_A_SECOND = 10

/** The command count of one client: the times of its last ten commands. */
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
