/**
 * Reads from the inverted indexes the sequences of events that may match a filter, in batches that are kept between calls:
 * a new query has to find its place in the index again.
 */
import type { Database } from '../../storage/database.ts'
import type { IndexPredicate } from '../store/index-terms.ts'

/** How much one index query may return and span. */
export interface QueryBounds {
  /** Most candidates from one index. */
  rows: number
  /** Sequences that the first query spans, and the fewest that any spans: SQLite searches rare terms without a pause. */
  firstSpan: number
  smallestSpan: number
}

const BOUNDS: QueryBounds = { rows: 4096, firstSpan: 131_072, smallestSpan: 32_768 }
const LARGEST_SPAN = 2 ** 40
/** A query faster than this lets the next one span more; one slower than `SLOW_MS` makes it span less. */
const QUICK_MS = 4
const SLOW_MS = 15

/** Oldest first or newest first. */
export type Direction = 'ASC' | 'DESC'

/** Every candidate with `after` < sequence ≤ `through`, in the direction of the scan. */
export interface Candidates {
  readonly after: number
  readonly through: number
  readonly sequences: readonly number[]
}

interface CandidateBatch extends Candidates {
  readonly epoch: string | null
  readonly direction: Direction
}

/** What to scan: `after` < sequence ≤ `through` in the log of that epoch. */
export interface ScanRange {
  epoch: string | null
  direction: Direction
  after: number
  through: number
}

/** The state of one filter's scan between calls. */
export interface ScanCursor {
  readonly predicate: IndexPredicate
  readonly bounds: QueryBounds
  /** The last batch; null before the first. */
  batch: CandidateBatch | null
  /** Sequences that the next query spans. */
  span: number
  /** Where its batch is accounted for; null = nowhere, because the scan lives for one request. */
  kept: KeptBatches | null
}

/** A scan that has not begun. */
export function createScanCursor(predicate: IndexPredicate, bounds: QueryBounds = BOUNDS): ScanCursor {
  return { predicate, bounds, batch: null, span: bounds.firstSpan, kept: null }
}

/** Most candidates that the batches of many scans hold together: 2 MB, as 64 of the largest batches have. */
const MOST_KEPT = 262_144

/** Accounts for the batches of many scans, and drops those that were used least recently. A scan without one queries again. */
export class KeptBatches {
  /** Candidates of each batch, the least recently used first. */
  readonly #sizes = new Map<ScanCursor, number>()
  readonly #most: number
  #candidates = 0

  /** `most`: candidates of all batches together; fewer in tests. */
  constructor(most = MOST_KEPT) {
    this.#most = most
  }

  /** Candidates that are held now. */
  get candidates(): number {
    return this.#candidates
  }

  /** Accounts for the scan's batch as the one that was used last; older ones are dropped where they are too many. */
  keep(scanCursor: ScanCursor): void {
    const size = scanCursor.batch?.sequences.length ?? 0
    this.#forget(scanCursor)
    if (size === 0) return
    this.#sizes.set(scanCursor, size)
    this.#candidates += size
    for (const oldest of this.#sizes.keys()) {
      if (this.#candidates <= this.#most || oldest === scanCursor) break
      this.#drop(oldest)
    }
  }

  /** Scans whose batches are held now. */
  get scans(): number {
    return this.#sizes.size
  }

  /** Drops the scan's batch for good: a read that still goes on with the scan is not accounted for. */
  end(scanCursor: ScanCursor): void {
    this.#drop(scanCursor)
    scanCursor.kept = null
  }

  #drop(scanCursor: ScanCursor): void {
    scanCursor.batch = null
    this.#forget(scanCursor)
  }

  #forget(scanCursor: ScanCursor): void {
    this.#candidates -= this.#sizes.get(scanCursor) ?? 0
    this.#sizes.delete(scanCursor)
  }
}

/**
 * The candidates at the start of a range (at its end for `DESC`), from the kept batch where that covers it, else from a
 * new query. The part returned may end before the range does.
 */
export function nextCandidates(
  db: Database,
  nowMs: () => number,
  scanCursor: ScanCursor,
  range: ScanRange,
): Candidates {
  const batch = covers(scanCursor.batch, range)
    ? scanCursor.batch
    : queryIndexes(db, nowMs, scanCursor, range)
  scanCursor.batch = batch
  scanCursor.kept?.keep(scanCursor)
  const after = Math.max(batch.after, range.after)
  const through = Math.min(batch.through, range.through)
  return { after, through, sequences: between(batch, after, through) }
}

function covers(batch: CandidateBatch | null, range: ScanRange): batch is CandidateBatch {
  if (batch?.epoch !== range.epoch || batch.direction !== range.direction) return false
  const start = range.direction === 'ASC' ? range.after : range.through - 1
  return batch.after <= start && start < batch.through
}

function between(batch: CandidateBatch, after: number, through: number): readonly number[] {
  if (after === batch.after && through === batch.through) return batch.sequences
  return batch.sequences.filter((sequence) => sequence > after && sequence <= through)
}

function queryIndexes(
  db: Database,
  nowMs: () => number,
  scanCursor: ScanCursor,
  range: ScanRange,
): CandidateBatch {
  const { epoch, direction } = range
  const startMs = nowMs()
  const span =
    direction === 'ASC'
      ? { after: range.after, through: Math.min(range.through, range.after + scanCursor.span) }
      : { after: Math.max(range.after, range.through - scanCursor.span), through: range.through }
  const { terms, headlines } = scanCursor.predicate
  const { rows, smallestSpan } = scanCursor.bounds
  const byTerms = terms === null ? [] : matching(db, 'terms', terms, direction, span, rows)
  const byHeadline = headlines === null ? [] : matching(db, 'headlines', headlines, direction, span, rows)
  const truncated = [byTerms, byHeadline].filter((list) => list.length === rows)
  const end = completeTo(direction, span, truncated)
  const { after, through } = direction === 'ASC' ? { ...span, through: end } : { ...span, after: end }
  const tookMs = nowMs() - startMs
  if (tookMs < QUICK_MS) scanCursor.span = Math.min(LARGEST_SPAN, scanCursor.span * 4)
  else if (tookMs > SLOW_MS) scanCursor.span = Math.max(smallestSpan, Math.floor(scanCursor.span / 4))
  const sequences = merged(direction, byTerms, byHeadline)
  return { epoch, direction, after, through, sequences: sequences.filter((s) => s > after && s <= through) }
}

/**
 * The candidates of one index in a range. The bounds are bound as integers: node:sqlite binds a number as a float, which FTS5
 * does not take as a bound, and then it reads the lists of the words from end to end.
 */
function matching(
  db: Database,
  index: 'terms' | 'headlines',
  expression: string,
  direction: Direction,
  range: { after: number; through: number },
  limit: number,
): number[] {
  return db
    .prepare<{ rowid: number }>(
      `SELECT rowid FROM ${index} WHERE ${index} MATCH ? AND rowid > ? AND rowid <= ?
       ORDER BY rowid ${direction} LIMIT ?`,
    )
    .all(expression, BigInt(range.after), BigInt(range.through), limit)
    .map((row) => row.rowid)
}

/** How far the result is complete: to the last candidate of a truncated list, else to the end of the range. */
function completeTo(
  direction: Direction,
  range: { after: number; through: number },
  truncated: readonly (readonly number[])[],
): number {
  const ends = truncated.flatMap((list) => list.at(-1) ?? [])
  return direction === 'ASC'
    ? Math.min(range.through, ...ends)
    : Math.max(range.after, ...ends.map((sequence) => sequence - 1))
}

function merged(direction: Direction, one: readonly number[], other: readonly number[]): readonly number[] {
  if (other.length === 0) return one
  const all = [...new Set([...one, ...other])]
  return all.sort((first, second) => (direction === 'ASC' ? first - second : second - first))
}
