/**
 * Chooses what an endpoint starts in a free slot (a slot holds one delivery in flight): a first try, a retry or a
 * replay.
 */

/** What a slot is used for: an event's first try, a later try, or a replayed event. */
export type Sort = 'first' | 'retry' | 'replay'

/** What the policy decides on when a slot is free. */
export interface SlotState {
  /** Slots in all, free or not; at least 1. */
  slots: number
  /** Slots that retries and replays use. */
  behind: number
  firstWaits: boolean
  retryWaits: boolean
  replayWaits: boolean
  /** First tries since the last retry. */
  firstsInRow: number
  /** With a single slot: first tries after which a waiting retry gets it. */
  firstsBeforeRetry: number
}

/**
 * The sort that is next; null: none may start.
 * - While first tries wait, due retries use a quarter of the slots (at least one) at most, so neither blocks the other. With a
 *   single slot, a retry gets it after `firstsBeforeRetry` first tries.
 * - While none waits, retries, and when none is due replays, use up to three quarters; at least one slot stays free for new
 *   first tries, unless there is only one.
 */
export function nextSort(standing: SlotState): Sort | null {
  const { slots, behind, firstWaits, retryWaits, replayWaits } = standing
  const quarter = Math.max(1, Math.floor(slots / 4))
  const most = slots === 1 ? 1 : Math.min(slots - 1, Math.ceil((slots * 3) / 4))
  if (firstWaits) {
    const isRetryNext = slots > 1 || standing.firstsInRow >= standing.firstsBeforeRetry
    return retryWaits && behind < quarter && isRetryNext ? 'retry' : 'first'
  }
  if (behind >= most) return null
  if (retryWaits) return 'retry'
  return replayWaits ? 'replay' : null
}
