/**
 * Counts the items of one commit to the log by London day and by how they were found: poll, fill, re-scan or backfill. An
 * item belongs to the day of its own timestamp.
 */
import {
  DAYS_KEPT,
  type DayCounts,
  type DayRecord,
  withCounts,
  withDay,
} from '../../core/calendar/day-record.ts'
import { DAY_MS } from '../../core/durations.ts'
import type { FoundBy } from '../../core/purpose.ts'
import type { RejectedItem } from '../../log/events.ts'
import type { FetchedItem, StepContext } from './state.ts'
import { upstreamNowMs } from './upstream-clock.ts'

/** Category code of the item with which upstream marks the end of a day. */
const END_OF_DAY = 'EOD'

const COUNTED: Readonly<Record<FoundBy, keyof DayCounts>> = {
  poll: 'polled',
  fill: 'filled',
  sweep: 'swept',
  backfill: 'backfilled',
}

/** What one commit contains. */
export interface CommitContents {
  found: readonly FoundItem[]
  rejected: readonly RejectedItem[]
}

/** An item, and how it was found. */
export interface FoundItem {
  item: FetchedItem
  foundBy: FoundBy
}

/**
 * The records after this commit; the same array where it changes nothing. Items older than the days kept, or later than
 * tomorrow, are not counted.
 */
export function daysAfter(context: StepContext, { found, rejected }: CommitContents): readonly DayRecord[] {
  const { calendar } = context.config
  const presentMs = upstreamNowMs(context)
  const oldest = calendar.londonDate(presentMs - (DAYS_KEPT - 2) * DAY_MS)
  const newest = calendar.londonDate(presentMs + DAY_MS)
  let { days } = context.state.head
  for (const { item, foundBy } of found) {
    const { disclosure, revision } = item
    const date = calendar.londonDate(disclosure.timeMs)
    if (date < oldest || date > newest) continue
    const eodSeen = disclosure.categories.some(({ code }) => code === END_OF_DAY)
    const counts = { [COUNTED[foundBy]]: 1, ...(revision > 1 && { amended: 1 }) }
    days = withDay(days, date, (day) => withCounts(day, counts, eodSeen))
  }
  if (rejected.length === 0) return days
  const today = calendar.londonDate(presentMs)
  return withDay(days, today, (day) => withCounts(day, { rejected: rejected.length }))
}
