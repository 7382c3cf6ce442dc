/**
 * Computes the upstream time up to which an item that this node's replica does not hold counts as already published. Such an
 * item may have been published and then dropped by the log's retention, so that publishing it now would repeat it.
 */
import type { Archive } from '../../archive/store/archive.ts'
import { WEEK_MS } from '../../core/durations.ts'
import type { Head } from '../writer-state/head.ts'

/** The log keeps every event for at least this long, ms: the minimum of `BRIDGE_ALL_RETENTION`. */
const MIN_RETENTION_MS = WEEK_MS

/** How far upstream's clock may be ahead of ours, ms; `bridge doctor` fails at half of it. */
const MAX_CLOCK_SKEW_MS = 60_000

/**
 * An unknown item with an upstream time up to the result (ms since 1970) counts as published; null: nothing was dropped.
 * A dropped event is older than the first event kept and than the minimum retention. If the log still keeps everything
 * that this writer published, a dropped event is also older than `claimed`, the head that this writer found.
 */
export function beyondRetentionMs(
  replica: Pick<Archive, 'oldest' | 'latest' | 'oldestRecordedMs'>,
  claimed: Pick<Head, 'sequence' | 'latestTimeMs'>,
  nowMs: number,
): number | null {
  const recordedMs = replica.oldestRecordedMs()
  const isEmpty = replica.latest === 0 || recordedMs === null
  if (isEmpty ? claimed.sequence === 0 : replica.oldest === 1) return null
  const droppedMs = Math.min(nowMs - MIN_RETENTION_MS, isEmpty ? nowMs : recordedMs) + MAX_CLOCK_SKEW_MS
  const isOwnKept = isEmpty || replica.oldest <= claimed.sequence + 1
  return isOwnKept ? Math.min(droppedMs, claimed.latestTimeMs) : droppedMs
}
