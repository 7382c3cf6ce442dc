/**
 * What a commit adds to the records of the days. Owns which day an item counts for, and as what. Refuses to keep the
 * records: the head does, in the same commit as the items.
 */

import {
  DAYS_KEPT,
  type DayCounts,
  type DayRecord,
  withCounts,
  withDay,
} from '../../core/calendar/day-record.ts'
import { DAY_MS } from '../../core/durations.ts'
import type { Purpose, RejectedItem } from '../../log/log.ts'
import type { HeldItem, Turn } from './state.ts'

/** Code of upstream's own mark of a day's end. */
const END_OF_DAY = 'EOD'

const COUNTED: Readonly<Record<Purpose, keyof DayCounts>> = {
  poll: 'polled',
  probe: 'polled',
  fill: 'filled',
  sweep: 'swept',
  backfill: 'backfilled',
  gateway: 'polled',
}

/** What one commit brings. */
export interface Found {
  purpose: Purpose
  items: readonly HeldItem[]
  rejected: readonly RejectedItem[]
  /** guids that the overflowing poll itself showed, where a fill publishes them with its own. */
  polled: readonly string[]
}

/** Upstream's present as far as it is known, ms since 1970: before the first good poll that of the newest item. */
export function upstreamMs({ state, nowMs }: Turn): number {
  const { lastGoodPollMs, skewMs, head } = state
  return lastGoodPollMs === null && head.latestTimeMs > 0 ? head.latestTimeMs : nowMs + skewMs
}

/**
 * The records after this commit; the same where it changes nothing. Items whose own time lies before the days kept, or
 * after tomorrow, are in no record.
 */
export function daysAfter(turn: Turn, { purpose, items, rejected, polled }: Found): readonly DayRecord[] {
  const { calendar } = turn.config
  const presentMs = upstreamMs(turn)
  const oldest = calendar.londonDate(presentMs - (DAYS_KEPT - 2) * DAY_MS)
  const newest = calendar.londonDate(presentMs + DAY_MS)
  let { days } = turn.state.head
  for (const { disclosure, revision } of items) {
    const date = calendar.londonDate(disclosure.timeMs)
    if (date < oldest || date > newest) continue
    const counter = polled.includes(disclosure.guid) ? 'polled' : COUNTED[purpose]
    const eodSeen = disclosure.categories.some(({ code }) => code === END_OF_DAY)
    const counts = { [counter]: 1, ...(revision > 1 && { amended: 1 }) }
    days = withDay(days, date, (day) => withCounts(day, counts, eodSeen))
  }
  if (rejected.length === 0) return days
  const today = calendar.londonDate(presentMs)
  return withDay(days, today, (day) => withCounts(day, { rejected: rejected.length }))
}
