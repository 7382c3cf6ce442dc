/**
 * What one day of London brought, as the log's state keeps it: counts of items by what found them first, and what became
 * of the walk over the day. Owns the shape and its arithmetic; pure. Refuses to say which items belong to which day.
 */

/** Days that the log's state keeps: as many as an open gap is tried and the ledger reaches back, and some. */
export const DAYS_KEPT = 16

/** The walk that reads a whole day again after its release window. */
export interface DayWalk {
  /**
   * `owed`: it failed or was not paid so far, and is tried again. `whole`: it has read the day to its end. `unpaid`: it
   * would have cost more than the plan pays for, or no units came free until the next one was due. `failed`: upstream never
   * answered it to its end.
   */
  state: 'owed' | 'whole' | 'unpaid' | 'failed'
  /** When that was decided; for `owed` the earliest moment of the next try. Ms since 1970, our clock. */
  atMs: number
  /** Tries that came to nothing. */
  attempts: number
  /** Where the next try goes on; null: from the start. */
  pageCursor: string | null
}

/** Contents of items, counted at the day of London in which their own `timestamp` lies. */
export interface DayCounts {
  /** Found by polls. */
  polled: number
  /** By fills and retried gaps: what a poll had to leave out. */
  filled: number
  /** By sweeps, rounds and the walk over the day: behind the cursor, or sooner than the next poll. */
  swept: number
  /** By the backfill of the first start. */
  backfilled: number
  /** Of all these, later contents of items that were held already. */
  amended: number
  /** Unreadable items, counted at the day on which they came. */
  rejected: number
}

/** One day. */
export interface DayRecord extends DayCounts {
  /** London's, `YYYY-MM-DD`. */
  date: string
  /** Whether an item with the category code `EOD` is among them: upstream's own mark of a day's end. */
  eodSeen: boolean
  /** null while none is due, and for ever where the plan pays for none or nothing is released on that day. */
  walk: DayWalk | null
}

/** A day of which nothing is known. */
export function emptyDay(date: string): DayRecord {
  const counts = { polled: 0, filled: 0, swept: 0, backfilled: 0, amended: 0, rejected: 0 }
  return { date, ...counts, eodSeen: false, walk: null }
}

/** Different items of the day that are held. */
export function itemsOf({ polled, filled, swept, backfilled, amended }: DayCounts): number {
  return polled + filled + swept + backfilled - amended
}

/**
 * The days with that day changed, rising by date; where it is new and there are more than DAYS_KEPT then, the oldest is
 * gone.
 */
export function withDay(
  days: readonly DayRecord[],
  date: string,
  change: (day: DayRecord) => DayRecord,
): readonly DayRecord[] {
  const day = days.find((known) => known.date === date)
  if (day !== undefined) return days.map((known) => (known === day ? change(known) : known))
  return [...days, change(emptyDay(date))]
    .sort((one, other) => (one.date < other.date ? -1 : 1))
    .slice(-DAYS_KEPT)
}

/** The day with these counts added, and its mark of the end where one was among them. */
export function withCounts(day: DayRecord, counts: Partial<DayCounts>, eodSeen = false): DayRecord {
  const sum = { ...day, eodSeen: day.eodSeen || eodSeen }
  for (const [name, count] of Object.entries(counts) as [keyof DayCounts, number][]) sum[name] += count
  return sum
}
