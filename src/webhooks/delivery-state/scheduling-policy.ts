/**
 * Which sort of delivery gets an endpoint's next slot. Owns the shares, as a pure function. Refuses to know deliveries.
 */

/** What a slot is for: an event's first try, a try after that, or an event that is replayed. */
export type Sort = 'first' | 'retry' | 'replay'

/** How it stands when a slot is free. */
export interface Standing {
  /** Slots in all, free or not; at least 1. */
  slots: number
  /** Slots that retries and replays have. */
  behind: number
  firstWaits: boolean
  retryWaits: boolean
  replayWaits: boolean
  /** First tries since the last retry. */
  firstsInRow: number
  /** First tries after which a retry has the only slot, where there is but one. */
  firstsBeforeRetry: number
}

/**
 * Who is next; null: nobody may.
 * - First tries wait: retries that are due have a quarter of the slots (at least one) and no more, so neither waits for the
 *   other to be done. Of a single slot they have one turn after `firstsBeforeRetry` first tries.
 * - None waits: retries, and when none is due replays, have up to three quarters; at least one slot stays free for a first
 *   try that comes meanwhile, unless there is but one.
 */
export function nextSort(standing: Standing): Sort | null {
  const { slots, behind, firstWaits, retryWaits, replayWaits } = standing
  const quarter = Math.max(1, Math.floor(slots / 4))
  const most = slots === 1 ? 1 : Math.min(slots - 1, Math.ceil((slots * 3) / 4))
  if (firstWaits) {
    const hasTurn = slots > 1 || standing.firstsInRow >= standing.firstsBeforeRetry
    return retryWaits && behind < quarter && hasTurn ? 'retry' : 'first'
  }
  if (behind >= most) return null
  if (retryWaits) return 'retry'
  return replayWaits ? 'replay' : null
}
