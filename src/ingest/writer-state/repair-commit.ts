/**
 * Builds the poller's first commit after a repair of the log: it opens a gap over events that were lost, opens again the gaps
 * that these had closed, and takes over the gaps of events that the stored state does not know.
 */
import { isoMillis, parseTimestamp } from '../../core/dates.ts'
import { DAY_MS, HOUR_MS } from '../../core/durations.ts'
import { type Committed, GAP_OPENED, type Gap, gapEvent, isGap } from '../../core/event.ts'
import type { Commit, Writer } from '../../log/events.ts'
import { storedValue } from '../../log/stored-value.ts'
import { changedRows, claimedState } from './rows.ts'

/** Lost events may belong to items whose upstream time is before the last event, ms. */
const MARGIN_MS = HOUR_MS

/** What a repair has found. */
export interface Repaired {
  /** Events in the log that the stored state does not know, in their order. */
  unknown: readonly Committed[]
  /** What is left where events that the state knows are lost; null where none is. */
  lost: {
    /** Times of the last event that is left; null where none is. */
    lastEvent: { time: string; recordedtime: string } | null
    /** Gaps that the events leave open. The lost ones may have closed a gap, with items that are lost too. */
    openGaps: readonly Gap[]
  } | null
  /** Our clock, ms since 1970. */
  nowMs: number
}

/**
 * The commit, and the gap that it opens.
 * @throws BridgeError `log_damaged` when a row or a gap event is not JSON
 */
export function repairCommit(
  stored: Pick<Writer, 'epoch' | 'sequence' | 'rows'>,
  { unknown, lost, nowMs }: Repaired,
): { commit: Commit; gap: Gap | null } {
  const before = claimedState(stored)
  const pending = { attempts: 0, retryAtMs: nowMs }
  const gaps = new Map(before.head.openGaps.map((gap) => [gap.id, gap]))
  for (const event of unknown) {
    if (!isGap(event.type)) continue
    const gap = storedValue<Gap>(event.id, event.data)
    if (event.type === GAP_OPENED) gaps.set(gap.id, { ...gap, ...pending })
    else gaps.delete(gap.id)
  }
  for (const gap of lost?.openGaps ?? []) if (!gaps.has(gap.id)) gaps.set(gap.id, { ...gap, ...pending })
  const gap = lost === null ? null : gapOver(lost.lastEvent, before.head.lastGood?.skewMs ?? 0, nowMs)
  if (gap !== null) gaps.set(gap.id, { ...gap, ...pending })
  const after = { ...before, head: { ...before.head, openGaps: [...gaps.values()] } }
  const events = gap === null ? [] : [gapEvent(gap, GAP_OPENED, { timeMs: nowMs, recordedMs: nowMs })]
  return { commit: { events, rows: changedRows(before, after) }, gap }
}

/**
 * From before the last event that is left, by upstream's time and by ours, or a day ago, up to now. `skewMs`: upstream's
 * clock minus ours.
 */
function gapOver(
  lastEvent: { time: string; recordedtime: string } | null,
  skewMs: number,
  nowMs: number,
): Gap {
  const toMs = nowMs + skewMs
  const timeMs = parseTimestamp(lastEvent?.time ?? '') ?? toMs
  const recordedMs = (parseTimestamp(lastEvent?.recordedtime ?? '') ?? nowMs) + skewMs
  const fromMs = lastEvent === null ? toMs - DAY_MS : Math.min(timeMs, recordedMs, toMs) - MARGIN_MS
  return {
    id: nowMs.toString(36),
    from: isoMillis(fromMs),
    to: isoMillis(toMs),
    cause: 'outage',
    openedAt: isoMillis(nowMs),
    found: 0,
    closedAt: null,
  }
}
