/**
 * Builds the poller's first commit after a repair of the log: it opens a gap over events that were lost, and takes over the
 * gaps of events that the stored state does not know.
 */
import { isoMillis } from '../../core/dates.ts'
import { type Committed, GAP_OPENED, type Gap, gapEvent, isGap } from '../../core/event.ts'
import type { Commit, Writer } from '../../log/events.ts'
import { storedValue } from '../../log/stored-value.ts'
import { changedRows, claimedState } from './rows.ts'

/** What a repair has found. Times in ms since 1970. */
export interface Repaired {
  /** Events in the log that the stored state does not know, in their order. */
  unknown: readonly Committed[]
  /** From when on events may be lost; null where none is. */
  lostFromMs: number | null
  nowMs: number
}

/**
 * The commit, and the gap that it opens.
 * @throws BridgeError `log_damaged` when a row or a gap event is not JSON
 */
export function repairCommit(
  stored: Pick<Writer, 'epoch' | 'sequence' | 'rows'>,
  { unknown, lostFromMs, nowMs }: Repaired,
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
  const gap = lostFromMs === null ? null : gapOver(lostFromMs, nowMs)
  if (gap !== null) gaps.set(gap.id, { ...gap, ...pending })
  const after = { ...before, head: { ...before.head, openGaps: [...gaps.values()] } }
  const events = gap === null ? [] : [gapEvent(gap, GAP_OPENED, { timeMs: nowMs, recordedMs: nowMs })]
  return { commit: { events, rows: changedRows(before, after) }, gap }
}

function gapOver(fromMs: number, nowMs: number): Gap {
  return {
    id: nowMs.toString(36),
    from: isoMillis(Math.min(fromMs, nowMs)),
    to: isoMillis(nowMs),
    cause: 'outage',
    openedAt: isoMillis(nowMs),
    found: 0,
    closedAt: null,
  }
}
