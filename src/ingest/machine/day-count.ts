/**
 * Counts the items of one commit to the log by London day and by how they were found: poll, fill, re-scan or backfill. An
 * item belongs to the day of its own timestamp.
 */
import {
  DAYS_KEPT,
  type DayCounts,
  type DayRecord,
  itemsOf,
  withCounts,
  withDay,
  withNewest,
} from '../../core/calendar/day-record.ts'
import { DAY_MS } from '../../core/durations.ts'
import type { FoundBy } from '../../core/purpose.ts'
import type { RejectedItem } from '../../log/events.ts'
import { isPresentKnown, skewsMs, surePresentMs } from './present.ts'
import type { FetchedItem, StepContext } from './state.ts'

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
 * tomorrow, are not counted. While two clocks disagree and either may be right, the days of both are kept.
 */
export function daysAfter(context: StepContext, { found, rejected }: CommitContents): readonly DayRecord[] {
  const { calendar } = context.config
  const presentMs = surePresentMs(context)
  const isKept = datesKept(context)
  const kept = daysKept(context)
  let days = withoutFalseDays(context)
  for (const { item, foundBy } of found) {
    const { disclosure, revision } = item
    const date = calendar.londonDate(disclosure.timeMs)
    if (!isKept(date)) continue
    const eodSeen = disclosure.categories.some(({ code }) => code === END_OF_DAY)
    const counts = { [COUNTED[foundBy]]: 1, ...(revision > 1 && { amended: 1 }) }
    const { guid, timeMs } = disclosure
    const counted = (day: DayRecord): DayRecord => withCounts(day, counts, eodSeen)
    days = withDay(
      days,
      date,
      (day) => (timeMs > presentMs ? counted(day) : withNewest(counted(day), { guid, timeMs })),
      kept,
    )
  }
  if (rejected.length === 0) return days
  const today = calendar.londonDate(presentMs)
  return withDay(days, today, (day) => withCounts(day, { rejected: rejected.length }), kept)
}

/** How many days' records are kept: those of two clocks while either may be right. */
export function daysKept({ state }: StepContext): number {
  return isPresentKnown(state) ? DAYS_KEPT : 2 * DAYS_KEPT
}

/** Tells for a date whether its items are counted. */
function datesKept(context: StepContext): (date: string) => boolean {
  const { calendar } = context.config
  const latestMs = context.nowMs + Math.max(...skewsMs(context.state))
  const ranges = [surePresentMs(context), latestMs].map((presentMs) => ({
    oldest: calendar.londonDate(presentMs - (DAYS_KEPT - 2) * DAY_MS),
    newest: calendar.londonDate(presentMs + DAY_MS),
  }))
  return (date) => ranges.some(({ oldest, newest }) => oldest <= date && date <= newest)
}

/** The records without empty ones of days to come, which only a wrong clock has made. */
function withoutFalseDays(context: StepContext): readonly DayRecord[] {
  const { days } = context.state.head
  if (!isPresentKnown(context.state)) return days
  const today = context.config.calendar.londonDate(surePresentMs(context))
  const isFalse = (day: DayRecord): boolean => day.date > today && itemsOf(day) === 0
  return days.some(isFalse) ? days.filter((day) => !isFalse(day)) : days
}
