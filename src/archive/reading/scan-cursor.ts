/**
 * Sequences that the inverted indexes offer for a filter, in batches that are kept between windows. Owns how much is
 * asked at once. Refuses to decide a match. FTS5 finds a place in a long list of rows by walking to it (4 ms for
 * 45,000 rows), so each question is put for many candidates, and they are looked at over as many windows as it takes.
 */
import type { Database } from '../../storage/database.ts'
import type { Narrowing } from '../store/index-terms.ts'

/** How much one question may ask. */
export interface Bounds {
  /** Most candidates from one index. */
  rows: number
  /** Sequences it spans at first and at least: SQLite looks for what is rare without a pause. */
  firstSpan: number
  smallestSpan: number
}

const BOUNDS: Bounds = { rows: 4096, firstSpan: 131_072, smallestSpan: 32_768 }
const LARGEST_SPAN = 2 ** 40
/** Milliseconds under which the next question may span more, and over which it must span less. */
const QUICK_MS = 4
const SLOW_MS = 15

/** Oldest first or newest first. */
export type Direction = 'ASC' | 'DESC'

/** Every candidate with `after` < sequence ≤ `through`, in `direction`. */
export interface Batch {
  readonly epoch: string | null
  readonly direction: Direction
  readonly after: number
  readonly through: number
  readonly sequences: readonly number[]
}

/** What is remembered of a filter between windows: the last batch, and how far the next question may reach. */
export interface Asking {
  readonly narrowing: Narrowing
  readonly bounds: Bounds
  batch: Batch | null
  span: number
}

/** Nothing asked yet. */
export function askingFor(narrowing: Narrowing, bounds: Bounds = BOUNDS): Asking {
  return { narrowing, bounds, batch: null, span: bounds.firstSpan }
}

/** Candidates of a range that begins where it was asked to (at its end for `DESC`) and may end earlier. */
export interface Offer {
  after: number
  through: number
  sequences: readonly number[]
}

/** The next candidates of `after` < sequence ≤ `through`: of the kept batch where it reaches, else of a new one. */
export function offer(
  db: Database,
  nowMs: () => number,
  asking: Asking,
  range: { epoch: string | null; direction: Direction; after: number; through: number },
): Offer {
  const batch = covers(asking.batch, range) ? asking.batch : ask(db, nowMs, asking, range)
  asking.batch = batch
  const after = Math.max(batch.after, range.after)
  const through = Math.min(batch.through, range.through)
  return { after, through, sequences: between(batch, after, through) }
}

type Range = Parameters<typeof offer>[3]

function covers(batch: Batch | null, range: Range): batch is Batch {
  if (batch?.epoch !== range.epoch || batch.direction !== range.direction) return false
  const start = range.direction === 'ASC' ? range.after : range.through - 1
  return batch.after <= start && start < batch.through
}

function between(batch: Batch, after: number, through: number): readonly number[] {
  if (after === batch.after && through === batch.through) return batch.sequences
  return batch.sequences.filter((sequence) => sequence > after && sequence <= through)
}

function ask(db: Database, nowMs: () => number, asking: Asking, range: Range): Batch {
  const { epoch, direction } = range
  const startMs = nowMs()
  const wide =
    direction === 'ASC'
      ? { after: range.after, through: Math.min(range.through, range.after + asking.span) }
      : { after: Math.max(range.after, range.through - asking.span), through: range.through }
  const { terms, headlines } = asking.narrowing
  const { rows, smallestSpan } = asking.bounds
  const byTerms = terms === null ? [] : found(db, 'terms', terms, direction, wide, rows)
  const byHeadline = headlines === null ? [] : found(db, 'headlines', headlines, direction, wide, rows)
  const cutOff = [byTerms, byHeadline].filter((list) => list.length === rows)
  const edge = edgeOf(direction, wide, cutOff)
  const { after, through } = direction === 'ASC' ? { ...wide, through: edge } : { ...wide, after: edge }
  const tookMs = nowMs() - startMs
  if (tookMs < QUICK_MS) asking.span = Math.min(LARGEST_SPAN, asking.span * 4)
  else if (tookMs > SLOW_MS) asking.span = Math.max(smallestSpan, asking.span / 4)
  const sequences = merged(direction, byTerms, byHeadline)
  return { epoch, direction, after, through, sequences: sequences.filter((s) => s > after && s <= through) }
}

function found(
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
    .all(expression, range.after, range.through, limit)
    .map((row) => row.rowid)
}

/** How far the answer is complete: to the last candidate of a list that was cut off, else to the end of the range. */
function edgeOf(
  direction: Direction,
  range: { after: number; through: number },
  cutOff: readonly (readonly number[])[],
): number {
  const ends = cutOff.flatMap((list) => list.at(-1) ?? [])
  return direction === 'ASC'
    ? Math.min(range.through, ...ends)
    : Math.max(range.after, ...ends.map((sequence) => sequence - 1))
}

function merged(direction: Direction, one: readonly number[], other: readonly number[]): readonly number[] {
  if (other.length === 0) return one
  const all = [...new Set([...one, ...other])]
  return all.sort((first, second) => (direction === 'ASC' ? first - second : second - first))
}
