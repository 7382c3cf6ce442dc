/**
 * Defines and updates the stored record of one London day: item counts by how the items were found, and the state of the
 * daily reconciliation. The reconciliation reads the whole day from upstream again after its release hours.
 */

/** Days kept in the log's state: more than open gaps are retried and the ledger covers. */
export const DAYS_KEPT = 16

/** Business days that may be reconciled late, after an outage or without units; the last ones whose release hours are over. */
export const RECONCILED_DAYS_BACK = 5

/** The daily reconciliation, which reads a whole day again after its release window. */
export interface DayWalk {
  /**
   * Stored names. `owed`: pending, it failed, was over budget or found items late, and is tried again. `whole`: complete.
   * `unpaid`: over the plan's budget, or no units became free until the next one was due. `failed`: upstream never responded
   * to all pages.
   */
  state: 'owed' | 'whole' | 'unpaid' | 'failed'
  /** When this state began; for `owed` the earliest moment of the next try. Ms since 1970, our clock. */
  atMs: number
  /**
   * Upstream's present when this was written, or when the first page was asked for that it goes on behind, by the earliest clock
   * that could be right, ms since 1970; older versions: absent.
   */
  readMs?: number
  /** Of a complete day that is read again, because a clock was wrong or an operator asked: when the next try may begin, as `atMs`. */
  retryMs?: number
  /** What its readings have found late; absent: nothing. */
  late?: LateItems
  /** Failed tries. */
  attempts: number
  /** Where the next try continues; null: from the start. */
  pageCursor: string | null
}

/** Items that polls should have shown long before: how many, and how far the oldest was behind the last poll, ms. */
export interface LateItems {
  items: number
  ageMs: number
}

/** Item contents, counted on the London day of their own `timestamp`. */
export interface DayCounts {
  /** Found by polls. */
  polled: number
  /** Found by fills and retried gaps, after a poll had left them out. */
  filled: number
  /** Found by re-scans and daily reconciliation: behind the cursor, or sooner than the next poll. */
  swept: number
  /** Found by the backfill of the first start. */
  backfilled: number
  /** Of all these, changed contents of items that were known already. */
  amended: number
  /** Unreadable items, counted on the day they were received. */
  rejected: number
}

/** An item, by its time in ms since 1970. */
export interface NewestItem {
  guid: string
  timeMs: number
}

/** Of each day so many of the newest items are kept. */
const NEWEST_KEPT = 3

/** One day. */
export interface DayRecord extends DayCounts {
  /** London's, `YYYY-MM-DD`. */
  date: string
  /** Whether an item with the category code `EOD` is among them: upstream's own mark of the end of a day. */
  eodSeen: boolean
  /** null while no reconciliation is due, and always where the plan cannot pay for one or the day has no release window. */
  walk: DayWalk | null
  /** The three newest items, none of which was stamped ahead, newest first; absent in a record of an older version. */
  newest?: readonly NewestItem[]
}

/** A day without items. */
export function emptyDay(date: string): DayRecord {
  const counts = { polled: 0, filled: 0, swept: 0, backfilled: 0, amended: 0, rejected: 0 }
  return { date, ...counts, eodSeen: false, walk: null }
}

/** Number of different items of the day. */
export function itemsOf({ polled, filled, swept, backfilled, amended }: DayCounts): number {
  return polled + filled + swept + backfilled - amended
}

/**
 * The days with that day changed, in order of date; where it is new and there are more than `kept`, the oldest is dropped.
 */
export function withDay(
  days: readonly DayRecord[],
  date: string,
  change: (day: DayRecord) => DayRecord,
  kept = DAYS_KEPT,
): readonly DayRecord[] {
  const day = days.find((known) => known.date === date)
  if (day !== undefined) return days.map((known) => (known === day ? change(known) : known))
  return [...days, change(emptyDay(date))].sort((one, other) => (one.date < other.date ? -1 : 1)).slice(-kept)
}

/** The day with that item among the newest, where it is one of them. */
export function withNewest(day: DayRecord, item: NewestItem): DayRecord {
  const others = (day.newest ?? []).filter(({ guid }) => guid !== item.guid)
  const newest = [...others, item].sort((one, other) => other.timeMs - one.timeMs).slice(0, NEWEST_KEPT)
  return { ...day, newest }
}

/** The day with these counts added; `eodSeen` stays true once it was. */
export function withCounts(day: DayRecord, counts: Partial<DayCounts>, eodSeen = false): DayRecord {
  const sum = { ...day, eodSeen: day.eodSeen || eodSeen }
  for (const [name, count] of Object.entries(counts) as [keyof DayCounts, number][]) sum[name] += count
  return sum
}
