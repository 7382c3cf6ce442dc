/**
 * How many commands a client sends. Owns the count: at most so many in any second, looked at before anything is parsed.
 * Refuses to decide what happens to a client that sends more.
 */

/** Most commands in any second (contract §8). */
export const MAX_COMMANDS_A_SECOND = 10
const SECOND_MS = 1000

export interface CommandRate {
  /** Counts one; false when it is one too many. */
  take(nowMs: number): boolean
}

/** Nothing counted yet. Keeps the moments of the last ten. */
export function createCommandRate(): CommandRate {
  const moments: number[] = []
  return {
    take(nowMs) {
      moments.push(nowMs)
      const [first = nowMs] = moments
      if (moments.length <= MAX_COMMANDS_A_SECOND) return true
      moments.shift()
      // A clock that was set back is no command too many.
      return nowMs < first || nowMs - first >= SECOND_MS
    },
  }
}
