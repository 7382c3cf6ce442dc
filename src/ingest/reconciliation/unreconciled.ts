/**
 * Names the spans of upstream time that polls have covered and no daily reconciliation has read again. An item that became
 * visible there behind the poll cursor may be missing, and no gap shows it.
 */
import type { Calendar } from '../../core/calendar/calendar.ts'
import { isoSeconds } from '../../core/dates.ts'
import { reconciledRange } from '../machine/daily-reconciliation.ts'
import type { Head } from '../writer-state/head.ts'

/** A span of upstream time, ms since 1970. */
export interface TimeRange {
  fromMs: number
  toMs: number
}

/**
 * Those spans from the first counted moment up to upstream's present, oldest first. What is older than the days that the
 * head keeps counts as not read again. `skewMs`: upstream's clock minus ours, for a reconciliation covers a day up to the
 * moment when it was done.
 */
export function unreconciledRanges(
  { days, countedFromMs }: Pick<Head, 'days' | 'countedFromMs'>,
  { calendar, presentMs, skewMs }: { calendar: Calendar; presentMs: number; skewMs: number },
): TimeRange[] {
  if (countedFromMs === null) return []
  let ranges: TimeRange[] = countedFromMs < presentMs ? [{ fromMs: countedFromMs, toMs: presentMs }] : []
  for (const { date, walk } of days) {
    if (walk?.state !== 'whole') continue
    const read = reconciledRange(calendar, date, countedFromMs)
    if (read === null) continue
    const toMs = Math.min(read.toMs, walk.readMs ?? walk.atMs + skewMs)
    ranges = ranges.flatMap((range) => without(range, { fromMs: read.fromMs, toMs }))
  }
  return ranges
}

/** The part of these spans that lies within another one, ISO 8601. */
export function partsWithin(
  ranges: readonly TimeRange[],
  { fromMs, toMs }: TimeRange,
): { from: string; to: string }[] {
  return ranges
    .map((range) => ({ fromMs: Math.max(range.fromMs, fromMs), toMs: Math.min(range.toMs, toMs) }))
    .filter((range) => range.fromMs < range.toMs)
    .map((range) => ({ from: isoSeconds(range.fromMs), to: isoSeconds(range.toMs) }))
}

function without(range: TimeRange, { fromMs, toMs }: TimeRange): TimeRange[] {
  const before = { fromMs: range.fromMs, toMs: Math.min(range.toMs, fromMs) }
  const after = { fromMs: Math.max(range.fromMs, toMs), toMs: range.toMs }
  return [before, after].filter((part) => part.fromMs < part.toMs)
}
