/**
 * Which items may have been published and dropped from the log by age since: nobody can look them up any more, and what
 * was published is not published again. Owns that bound. Refuses to compare contents: `read-page.ts` does.
 */
import type { Head } from '../../log/log.ts'

/** The log keeps every event at least that long, ms: the least that `BRIDGE_ALL_RETENTION` takes. */
const LEAST_KEPT_MS = 7 * 86_400_000

/** How far upstream's clock may be ahead of ours, ms; `bridge doctor` fails at half of it. */
const CLOCKS_APART_MS = 60_000

/** What is asked of the node's copy, which holds everything that the log keeps. */
export interface KeptCopy {
  /** Sequence of the first event kept. */
  readonly oldest: number
  /** 0 where none is. */
  readonly latest: number
  /** When the first event kept was recorded, our clock, ms since 1970; null where none is. */
  oldestRecordedMs(): number | null
}

/**
 * An unknown item with an upstream time up to this (ms since 1970) counts as published; null: nothing was dropped.
 * What was dropped is older than the first event kept and than the least retention; and where everything that this
 * writer has published is kept, it was published before the claim that found `claimed`.
 */
export function forgottenThroughMs(
  copy: KeptCopy,
  claimed: Pick<Head, 'sequence' | 'latestTimeMs'>,
  nowMs: number,
): number | null {
  const recordedMs = copy.oldestRecordedMs()
  const isEmpty = copy.latest === 0 || recordedMs === null
  if (isEmpty ? claimed.sequence === 0 : copy.oldest === 1) return null
  const aged = Math.min(nowMs - LEAST_KEPT_MS, isEmpty ? nowMs : recordedMs) + CLOCKS_APART_MS
  const ownIsKept = isEmpty || copy.oldest <= claimed.sequence + 1
  return ownIsKept ? Math.min(aged, claimed.latestTimeMs) : aged
}
