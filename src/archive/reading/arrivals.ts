/**
 * Counts the announcements of a span of time in slots of equal length, by their own time and by the time at which the bridge
 * first held them. Neither time has an index, so the first count of all looks at every event. It remembers the extent of each
 * window of sequences, and later counts, also of other spans, look into the windows that may have some.
 */
import { AMENDED, PUBLISHED } from '../../core/event.ts'
import { BridgeError } from '../../errors.ts'
import type { Archive } from '../store/archive.ts'
import type { SearchSlices } from './search-slices.ts'

/** Sequences that one slice looks at: 4 ms. A window ends at a multiple of it. */
const WINDOW = 8192
/** Windows whose extents one slice passes over. */
const MOST_PASSED = 4096
/** Spans whose counts are remembered. */
const MOST_SPANS = 16

/** Slots of `slotMs` from `fromMs` on; the last one ends by `toMs`. Ms since 1970. */
export interface Slots {
  readonly fromMs: number
  readonly toMs: number
  readonly slotMs: number
}

/** How many announcements and changed contents of them fall into each slot, up to the event `through`. */
export interface ArrivalCounts {
  readonly through: number
  readonly byTime: readonly number[]
  readonly byRecordedTime: readonly number[]
}

/** Who asks: `gone` aborts when nobody waits any more, `caller` shares the searches of the archive with others. */
interface Asking {
  gone: AbortSignal
  caller: string
}

/** Counts arrivals, and remembers the counts of the spans that were asked for last. */
export class ArrivalCounter {
  readonly #archive: Archive
  readonly #slices: SearchSlices
  readonly #known = new Map<string, ArrivalCounts>()
  /** The earliest and latest times of the events of each complete window, by its number. */
  readonly #extents = new Map<number, Extent>()
  readonly #window: number
  #filling: number

  /** `window`: sequences that one slice looks at; fewer in tests. */
  constructor(archive: Archive, slices: SearchSlices, window = WINDOW) {
    this.#window = window
    this.#archive = archive
    this.#slices = slices
    this.#filling = archive.filling
  }

  /**
   * The counts of all events up to `latest`; of fewer once `gone` aborts.
   * @throws BridgeError `log_unavailable` where the replica is rebuilt meanwhile
   */
  async count(slots: Slots, latest: number, { gone, caller }: Asking): Promise<ArrivalCounts> {
    const { filling } = this.#archive
    if (filling !== this.#filling) {
      this.#known.clear()
      this.#extents.clear()
    }
    this.#filling = filling
    const key = `${slots.fromMs}/${slots.toMs}/${slots.slotMs}`
    let counts = this.#known.get(key) ?? noArrivals(slots)
    while (counts.through < latest && !gone.aborted) {
      counts = await this.#slices.run(() => this.#extended(counts, slots, latest), caller)
      if (this.#archive.filling !== filling) {
        throw new BridgeError('log_unavailable', 'the local replica of the log was rebuilt during this count')
      }
    }
    this.#remember(key, counts)
    return counts
  }

  /** The counts with those of one more window that is looked into, and of those before it that have none. */
  #extended({ through: after, ...counts }: ArrivalCounts, slots: Slots, latest: number): ArrivalCounts {
    const { db, oldest } = this.#archive
    let first = Math.max(after, oldest - 1)
    for (let passed = 0; passed < MOST_PASSED && this.#hasNone(first, slots); passed++)
      first = this.#endOf(first)
    const through = Math.min(latest, this.#endOf(first))
    if (first >= latest || this.#learnt(first, latest, slots)) return { through, ...counts }
    const [byTime, byRecordedTime] = [[...counts.byTime], [...counts.byRecordedTime]]
    const { fromMs, toMs } = slots
    const rows = db
      .prepare<{ timeMs: number; recordedMs: number }>(
        `SELECT time_ms AS timeMs, recorded_ms AS recordedMs FROM facts
         WHERE sequence > ? AND sequence <= ? AND type IN (?, ?)
           AND (time_ms >= ? AND time_ms < ? OR recorded_ms >= ? AND recorded_ms < ?)`,
      )
      .iterate(first, through, PUBLISHED, AMENDED, fromMs, toMs, fromMs, toMs)
    for (const { timeMs, recordedMs } of rows) {
      addTo(byTime, slots, timeMs)
      addTo(byRecordedTime, slots, recordedMs)
    }
    return { through, byTime, byRecordedTime }
  }

  /** Whether the window after that sequence is known to have no event of the span. */
  #hasNone(after: number, { fromMs, toMs }: Slots): boolean {
    const extent = this.#extents.get(this.#windowAt(after))
    if (extent === undefined) return false
    const { minTimeMs, maxTimeMs, minRecordedMs, maxRecordedMs } = extent
    const isAway = (minMs: number, maxMs: number): boolean => maxMs < fromMs || minMs >= toMs
    return isAway(minTimeMs, maxTimeMs) && isAway(minRecordedMs, maxRecordedMs)
  }

  /** Learns the extent of the window after that sequence, if it is complete and new. True where it has none of the span. */
  #learnt(after: number, latest: number, slots: Slots): boolean {
    const window = this.#windowAt(after)
    if (this.#extents.has(window) || this.#endOf(after) > latest) return false
    const extent = this.#archive.db
      .prepare<Extent>(
        `SELECT coalesce(min(time_ms), 0) AS minTimeMs, coalesce(max(time_ms), 0) AS maxTimeMs,
           coalesce(min(recorded_ms), 0) AS minRecordedMs, coalesce(max(recorded_ms), 0) AS maxRecordedMs
         FROM facts WHERE sequence > ? AND sequence <= ?`,
      )
      .get(window * this.#window, this.#endOf(after))
    if (extent !== undefined) this.#extents.set(window, extent)
    return this.#hasNone(after, slots)
  }

  /** The number of the window that has the sequence after this one. */
  #windowAt(after: number): number {
    return Math.floor(after / this.#window)
  }

  /** The last sequence of that window. */
  #endOf(after: number): number {
    return (this.#windowAt(after) + 1) * this.#window
  }

  #remember(key: string, counts: ArrivalCounts): void {
    const known = this.#known.get(key)
    this.#known.delete(key)
    this.#known.set(key, known !== undefined && known.through > counts.through ? known : counts)
    const [oldest] = this.#known.keys()
    if (this.#known.size > MOST_SPANS && oldest !== undefined) this.#known.delete(oldest)
  }
}

/** The earliest and latest times of the events of a window, ms since 1970. */
interface Extent {
  minTimeMs: number
  maxTimeMs: number
  minRecordedMs: number
  maxRecordedMs: number
}

function noArrivals({ fromMs, toMs, slotMs }: Slots): ArrivalCounts {
  const none = new Array<number>(Math.ceil((toMs - fromMs) / slotMs)).fill(0)
  return { through: 0, byTime: none, byRecordedTime: none }
}

function addTo(counts: number[], { fromMs, slotMs }: Slots, ms: number): void {
  const slot = Math.floor((ms - fromMs) / slotMs)
  const count = counts[slot]
  if (count !== undefined) counts[slot] = count + 1
}
