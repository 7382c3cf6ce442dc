/**
 * The walk over a whole day, after its release window: the proof that nothing of it is missing. Owns which day is due, what
 * is read for it, what it may cost, and what a failed try means. Refuses to walk: `page-scan.ts` does.
 *
 * The walk of a business day reads from the end of the release window before it, so that evenings, nights, weekends and
 * holidays are read with the business day that follows them.
 */

import type { Calendar } from '../../core/calendar/calendar.ts'
import { type DayRecord, type DayWalk, itemsOf, withDay } from '../../core/calendar/day-record.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/durations.ts'
import { londonDayOf } from '../../governor/arrivals/day-kind.ts'
import { dayWalkUnits } from '../../governor/schedule/daily-reconciliation.ts'
import { upstreamMs } from './day-count.ts'
import { beginsAnew } from './failure.ts'
import { publish } from './publish.ts'
import type { Turn, Walk } from './state.ts'

const NOON = 12 * 60
/** After the release window: some plans show items 15 minutes late, and polls are rare in the evening. */
const MARGIN_MS = 30 * MINUTE_MS
/** Days that are walked later where nobody led, or nothing could be paid. */
const BUSINESS_DAYS_BACK = 5
/** Longer than any row of closed days. */
const LONGEST_CLOSED_DAYS = 14
/** A failed walk goes on after 10 min, 20 min, 40 min … */
const RETRY_MS = 10 * MINUTE_MS
const ATTEMPTS = 6
/** A walk for which no units are left is weighed again after this. */
const UNPAID_RETRY_MS = HOUR_MS

/** What a walk over a day begins with. */
export interface DueWalk {
  date: string
  fromMs: number
  toMs: number
  pageCursor: string | null
}

/** The walk over a day that is due and paid for, the oldest first; null where none is. What is decided is published. */
export function dueDayWalk(turn: Turn): DueWalk | null {
  const { state, config, nowMs } = turn
  const { head, lastGoodPollMs, ledger } = state
  const { dayWalks, calendar, pacing, pageSize } = config
  const { countedFromMs } = head
  if (dayWalks === null || countedFromMs === null || lastGoodPollMs === null || head.backfill !== null)
    return null
  const dates = datesDue(calendar, upstreamMs(turn))
  for (const date of dates) {
    const { walk } = dayOf(turn, date)
    const range = rangeOf(calendar, date, countedFromMs)
    const isOpen = walk === null || (walk.state === 'owed' && nowMs >= walk.atMs)
    if (!isOpen || range === null || !hasPlace(head.days, date)) continue
    const { fromMs, toMs, after } = range
    const units = dayWalkUnits(itemsBetween(head.days, after, date), pageSize)
    if (units > dayWalks.mostUnits) decide(turn, date, 'unpaid')
    else if (pacing.mayWalkDay(ledger, nowMs, units))
      return { date, fromMs, toMs, pageCursor: walk?.pageCursor ?? null }
    else if (date !== dates.at(-1)) decide(turn, date, 'unpaid')
    else decide(turn, date, 'owed', nowMs + UNPAID_RETRY_MS)
  }
  return null
}

/**
 * What is owed of a day whose walk was given up: it goes on with the page that it did not get, where there was one, and now
 * and then begins anew.
 */
export function dayWalkAfterFailure(turn: Turn, walk: Walk): DayWalk {
  const attempts = (dayOf(turn, walk.day?.date ?? '').walk?.attempts ?? 0) + 1
  if (isTooLong(turn, walk)) return { state: 'unpaid', atMs: turn.nowMs, attempts, pageCursor: null }
  if (attempts >= ATTEMPTS) return { state: 'failed', atMs: turn.nowMs, attempts, pageCursor: null }
  const atMs = turn.nowMs + RETRY_MS * 2 ** (attempts - 1)
  return { state: 'owed', atMs, attempts, pageCursor: beginsAnew(attempts) ? null : walk.pageCursor }
}

/** True where a walk has read more pages than the plan pays for: there is more of this day than was counted. */
export function isTooLong(turn: Turn, { kind, pages }: Walk): boolean {
  return kind === 'day' && pages >= (turn.config.dayWalks?.mostUnits ?? 0)
}

/** True when the walk of that business day may begin. */
export function isWalkDue(calendar: Calendar, date: string, presentMs: number): boolean {
  const window = calendar.releaseWindow(date)
  return window !== null && window.toMs + MARGIN_MS <= presentMs
}

/** True when so many walks have come due since that this one is not begun any more. */
export function isWalkTooOld(calendar: Calendar, date: string, presentMs: number): boolean {
  const [oldest] = datesDue(calendar, presentMs)
  return oldest !== undefined && date < oldest
}

function decide(turn: Turn, date: string, state: DayWalk['state'], atMs = turn.nowMs): void {
  const { attempts = 0, pageCursor = null } = dayOf(turn, date).walk ?? {}
  publish(turn, { purpose: 'sweep', items: [], day: { date, walk: { state, atMs, attempts, pageCursor } } })
}

function dayOf({ state }: Turn, date: string): Pick<DayRecord, 'walk'> {
  return state.head.days.find((day) => day.date === date) ?? { walk: null }
}

/** False where the records begin later, because upstream's clock was once far ahead: what is decided could not be kept. */
function hasPlace(days: readonly DayRecord[], date: string): boolean {
  return withDay(days, date, (day) => day).some((day) => day.date === date)
}

/** The last business days whose release windows were over some time ago, oldest first. */
function datesDue(calendar: Calendar, presentMs: number): string[] {
  const dates: string[] = []
  let date = calendar.londonDate(presentMs)
  for (let back = 0; back < LONGEST_CLOSED_DAYS && dates.length < BUSINESS_DAYS_BACK; back++) {
    if (isWalkDue(calendar, date, presentMs)) dates.unshift(date)
    date = dayBefore(calendar, date)
  }
  return dates
}

/** What the walk of that day reads, and the last day that it does not; null where the stream began after its window. */
function rangeOf(
  calendar: Calendar,
  date: string,
  countedFromMs: number,
): { fromMs: number; toMs: number; after: string } | null {
  const window = calendar.releaseWindow(date)
  if (window === null || countedFromMs >= window.toMs) return null
  let after = dayBefore(calendar, date)
  for (let back = 0; back < LONGEST_CLOSED_DAYS && !calendar.isBusinessDay(after); back++) {
    after = dayBefore(calendar, after)
  }
  const beforeMs = calendar.releaseWindow(after)?.toMs ?? window.fromMs
  const { endMs } = londonDayOf(calendar, window.fromMs)
  return { fromMs: Math.max(beforeMs, countedFromMs), toMs: endMs, after }
}

/** Items held of the days after the one, up to the other. */
function itemsBetween(days: readonly DayRecord[], after: string, through: string): number {
  return days
    .filter(({ date }) => date > after && date <= through)
    .reduce((sum, day) => sum + itemsOf(day), 0)
}

function dayBefore(calendar: Calendar, date: string): string {
  return calendar.londonDate(calendar.momentMs(date, NOON) - DAY_MS)
}
