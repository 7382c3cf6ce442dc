/**
 * Chooses the London business day that is due for reconciliation, and decides what follows when a reconciliation fails.
 * Reconciliation reads all items of a day from upstream again, after the hours in which items are released, so that none is
 * missing.
 *
 * The range begins where the release hours of the previous business day ended, so that evenings, nights, weekends and
 * holidays are read with the next business day.
 */
import type { Calendar } from '../../core/calendar/calendar.ts'
import {
  type DayRecord,
  type DayWalk,
  emptyDay,
  itemsOf,
  type LateItems,
  RECONCILED_DAYS_BACK,
  withDay,
} from '../../core/calendar/day-record.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/durations.ts'
import { londonDayOf } from '../../governor/arrivals/london-day.ts'
import { reconciliationUnits } from '../../governor/schedule/daily-reconciliation.ts'
import { timesOf } from '../writer-state/head.ts'
import { restartsAtFirstPage } from './failure.ts'
import { surePresentMs } from './present.ts'
import { publish } from './publish.ts'
import type { OrderRefusal, PageScan, StepContext } from './state.ts'

const NOON = 12 * 60
/** Wait after the release window: some plans show items 15 minutes late, and evening polls are rare. */
const MARGIN_MS = 30 * MINUTE_MS
/** Longer than any series of days without a release window. */
const LONGEST_CLOSED_DAYS = 14
/** A failed reconciliation continues after 10 min, 20 min, 40 min … */
const RETRY_MS = 10 * MINUTE_MS
const ATTEMPTS = 6
/** Failed tries after which a list that is short of a day's items is believed. */
const BELIEVED_AFTER = 3
/** For so long a reconciliation goes on behind its first page: later its list has what that page did not. */
const RESUMED_MS = HOUR_MS
/** A reading that finds so many new items, so much older than the last poll, shows that the list has items late. */
const LATE_ITEMS = 3
const LATE_MS = 30 * MINUTE_MS
/** The longest wait until such a day is read again. */
const LONGEST_WAIT_MS = 12 * HOUR_MS
/** Wait where no units are left for a reconciliation. */
const OVER_BUDGET_RETRY_MS = HOUR_MS

/** A reconciliation that is due: the date in London, its range by upstream's clock, and the page to continue with. */
export interface DueReconciliation {
  date: string
  fromMs: number
  toMs: number
  pageCursor: string | null
}

/** The oldest reconciliation that is due and within the budget, else null. Publishes which days are over budget or must wait. */
export function dueReconciliation(context: StepContext): DueReconciliation | null {
  const { state, config, nowMs } = context
  const { head, lastGoodPollMs, ledger } = state
  const { dayWalks, calendar, pacing } = config
  const { countedFromMs } = head
  if (dayWalks === null || countedFromMs === null || lastGoodPollMs === null || head.backfill !== null)
    return null
  // The clock of the process before this one may not be as ours is.
  if (state.hasDate === null) return null
  const dates = datesDue(calendar, surePresentMs(context))
  for (const date of dates) {
    const range = rangeOf(context, date, countedFromMs)
    if (!isToRead(context, date) || range === null) continue
    const { fromMs, toMs, units } = range
    const isAffordable = units <= dayWalks.mostUnits
    if (isAffordable && pacing.mayReconcile(ledger, nowMs, units)) {
      return { date, fromMs, toMs, pageCursor: freshPageCursor(context, date) }
    }
    // What counts as complete stays so for want of units.
    if (dayOf(context, date).walk?.state === 'whole') continue
    if (!isAffordable || date !== dates.at(-1)) decide(context, date, 'unpaid')
    else decide(context, date, 'owed', nowMs + OVER_BUDGET_RETRY_MS)
  }
  return null
}

/**
 * Why that day may not be read again now; null where it may. Only the last business days whose release window is over can be,
 * where the plan pays for reconciliations.
 */
export function dayRefusal(
  { state, config, nowMs }: Pick<StepContext, 'state' | 'config' | 'nowMs'>,
  date: string,
): OrderRefusal | null {
  const { head, lastGoodPollMs, hasDate, ledger, nextPollMs } = state
  const { dayWalks, calendar, pacing } = config
  const { countedFromMs } = head
  if (dayWalks === null) return { why: 'over_budget' }
  if (countedFromMs === null || lastGoodPollMs === null || hasDate === null) {
    return { why: 'no_answer_yet', untilMs: Math.max(nextPollMs, nowMs) }
  }
  const isDue = datesDue(calendar, surePresentMs({ state, nowMs })).includes(date)
  const range = isDue ? rangeOf({ state, config }, date, countedFromMs) : null
  if (range === null) return { why: 'unknown' }
  const { units } = range
  const isAffordable = units <= dayWalks.mostUnits && pacing.mayReconcile(ledger, nowMs, units)
  return isAffordable ? null : { why: 'over_budget' }
}

/** The page to go on with, where the pages before it were read lately. */
function freshPageCursor(context: StepContext, date: string): string | null {
  const { readMs = 0 } = dayOf(context, date).walk ?? {}
  const isFresh = Math.abs(surePresentMs(context) - readMs) < RESUMED_MS
  return isFresh ? triesOf(context, date).pageCursor : null
}

/**
 * The state of a day that was read to its end. A reading that finds items which polls should have shown long before may be too
 * early for others: the day is read again when items of that age would be there for the end of its release hours, and is
 * complete once a reading finds none of them.
 */
export function dayAfterReading(context: StepContext, scan: PageScan): DayWalk {
  const { state, config, nowMs } = context
  const read = { readMs: readSinceMs(context, scan), attempts: 0, pageCursor: null }
  const isOrdered = isOrderedSince(context, scan)
  const date = scan.day?.date ?? ''
  const range = rangeOf(context, date, state.head.countedFromMs ?? 0)
  const late = lateAfter(context, scan)
  if (range === null || late === null || late.items < LATE_ITEMS) {
    return { ...read, state: 'whole', atMs: nowMs, ...(isOrdered && { retryMs: nowMs }) }
  }
  // The next day's first reading must be paid too; those of a week before pay for later ones as they leave the week.
  const isAffordable = config.pacing.mayReconcile(state.ledger, nowMs, 2 * range.units)
  const overMs = surePresentMs(context) - (config.calendar.releaseWindow(date)?.toMs ?? 0)
  const waitMs = Math.min(Math.max(HOUR_MS, late.ageMs - overMs), LONGEST_WAIT_MS)
  // One item is enough for the reading after the next one, also where an operator orders that.
  const again = { late: { ...late, items: LATE_ITEMS - 1 } }
  if (!isAffordable && !isOrdered) return { ...read, ...again, state: 'unpaid', atMs: nowMs }
  return { ...read, ...again, state: 'owed', atMs: isOrdered ? nowMs : nowMs + waitMs }
}

/**
 * What this reading of a day has found late, with what its tries before have: new items that are far older than the last poll and
 * that no open gap covers. Null: nothing yet.
 */
function lateAfter(context: StepContext, { day, latest, coveredToMs }: PageScan): LateItems | null {
  const { openGaps } = context.state.head
  const gaps = openGaps.map(timesOf)
  const ages = [...latest.values()]
    .filter(({ revision }) => revision === 1)
    .map(({ disclosure }) => disclosure.timeMs)
    .filter((timeMs) => timeMs < coveredToMs - LATE_MS)
    .filter((timeMs) => !gaps.some(({ fromMs, toMs }) => fromMs <= timeMs && timeMs <= toMs))
    .map((timeMs) => coveredToMs - timeMs)
  const before = dayOf(context, day?.date ?? '').walk?.late
  if (ages.length === 0) return before ?? null
  return {
    items: (before?.items ?? 0) + ages.length,
    ageMs: Math.max(before?.ageMs ?? 0, ...ages),
  }
}

/** Whether that day was ordered to be read again since that reading of it began. */
function isOrderedSince(context: StepContext, { day, startedMs }: PageScan): boolean {
  const { walk } = dayOf(context, day?.date ?? '')
  if (walk === null) return false
  return (walk.state === 'owed' ? walk.atMs : (walk.retryMs ?? 0)) > startedMs
}

/** Makes the reconciliation of that day due now, from its first page. A day that counts as complete stays so meanwhile. */
export function readDayAgain(context: StepContext, date: string): void {
  const { nowMs } = context
  const { walk } = dayOf(context, date)
  const anew = { attempts: 0, pageCursor: null, ...(walk?.late !== undefined && { late: walk.late }) }
  const again: DayWalk =
    walk?.state === 'whole'
      ? { ...walk, ...anew, retryMs: nowMs }
      : { ...anew, state: 'owed', atMs: nowMs, readMs: surePresentMs(context) }
  publish(context, { purpose: 'sweep', items: [], day: { date, walk: again } })
}

/**
 * The state of a day after a failed scan: the next try continues with the failed page, every third one with the first. A day
 * that counted as complete stays so.
 */
export function dayAfterFailure(context: StepContext, scan: PageScan): DayWalk {
  const date = scan.day?.date ?? ''
  const { walk } = dayOf(context, date)
  const attempts = triesOf(context, date).attempts + 1
  const late = lateAfter(context, scan)
  const read = { atMs: context.nowMs, readMs: readSinceMs(context, scan), attempts, pageCursor: null }
  const common = { ...read, ...(late !== null && { late }) }
  const retryMs = context.nowMs + RETRY_MS * 2 ** (attempts - 1)
  const pageCursor = restartsAtFirstPage(attempts) ? null : scan.pageCursor
  const isLong = isTooLong(context, scan)
  if (walk?.state === 'whole') {
    const again = { attempts, pageCursor, retryMs, ...(late !== null && { late }) }
    return isLong ? { ...walk, attempts: ATTEMPTS } : { ...walk, ...again }
  }
  if (isLong) return { ...common, state: 'unpaid' }
  if (attempts >= ATTEMPTS) return { ...common, state: 'failed' }
  return { ...common, state: 'owed', atMs: retryMs, pageCursor }
}

/** Upstream's present when the first page of this reading of a day was asked for: what it has read is as old as that. */
function readSinceMs(context: StepContext, { day, startedMs }: PageScan): number {
  const beganMs = surePresentMs(context) - (context.nowMs - startedMs)
  const { walk } = dayOf(context, day?.date ?? '')
  return day?.isResumed === true ? Math.min(beganMs, walk?.readMs ?? beganMs) : beganMs
}

/** True where a reconciliation has read more pages than the plan allows: the day has more items than were counted. */
export function isTooLong(context: StepContext, { kind, pages }: PageScan): boolean {
  return kind === 'daily_reconciliation' && pages >= (context.config.dayWalks?.mostUnits ?? 0)
}

/**
 * True where a reconciliation of a whole range has met none of the newest items of the day, because the list is behind them, or
 * less than half of the items that are known of it, because the list is being built anew.
 */
export function isShortOfDay(context: StepContext, { kind, day, guids }: PageScan): boolean {
  const { state, config } = context
  const { days, countedFromMs, latestTimeMs } = state.head
  if (kind !== 'daily_reconciliation' || day === null || day.isResumed || countedFromMs === null) return false
  const range = reconciledRange(config.calendar, day.date, countedFromMs)
  if (range === null) return false
  if (isBehindDay(dayOf(context, day.date), range.fromMs, guids)) return true
  // What is missing for more than an hour was withdrawn, unless everything is.
  if (guids.size > 0 && triesOf(context, day.date).attempts >= BELIEVED_AFTER) return false
  // On the first day items of before the start may be counted too: only of the newest one the time is known.
  if (range.fromMs === countedFromMs) {
    return guids.size === 0 && latestTimeMs >= range.fromMs && latestTimeMs < range.toMs
  }
  return 2 * guids.size < itemsBetween(days, range.after, day.date)
}

/** Among few items the newest may all have been withdrawn. */
const FEW_ITEMS = 10

function isBehindDay(day: DayRecord, fromMs: number, guids: ReadonlySet<string>): boolean {
  if (itemsOf(day) < FEW_ITEMS) return false
  const newest = (day.newest ?? []).filter(({ timeMs }) => timeMs >= fromMs)
  return newest.length > 0 && !newest.some(({ guid }) => guids.has(guid))
}

/** True when that business day may be reconciled. */
export function isReconciliationDue(calendar: Calendar, date: string, presentMs: number): boolean {
  const window = calendar.releaseWindow(date)
  return window !== null && window.toMs + MARGIN_MS <= presentMs
}

/**
 * True for a day whose state was decided before its release hours ended, or at a time that has not come yet, because a clock was
 * ahead; by upstream's clock then and now. False for a record of an older version, which does not tell upstream's time.
 */
export function isTooSoon(
  calendar: Calendar,
  { date, walk }: Pick<DayRecord, 'date' | 'walk'>,
  presentMs: number,
): boolean {
  const window = calendar.releaseWindow(date)
  if (walk?.readMs === undefined || window === null) return false
  return walk.readMs < window.toMs || walk.readMs > presentMs + HOUR_MS
}

/** True when so many later days are due that this one is not reconciled any more. */
export function isReconciliationExpired(calendar: Calendar, date: string, presentMs: number): boolean {
  const [oldest] = datesDue(calendar, presentMs)
  return oldest !== undefined && date < oldest
}

/** The range to read for that day with the units that it costs; null where it cannot be read. */
function rangeOf(
  { state, config }: Pick<StepContext, 'state' | 'config'>,
  date: string,
  countedFromMs: number,
): { fromMs: number; toMs: number; units: number } | null {
  const { days } = state.head
  const range = reconciledRange(config.calendar, date, countedFromMs)
  if (range === null || !isRecordable(days, date)) return null
  const { fromMs, toMs, after } = range
  return { fromMs, toMs, units: reconciliationUnits(itemsBetween(days, after, date), config.pageSize) }
}

/** True where that day was not read yet, or too soon, or is to be read again, and its next try is due. */
function isToRead(context: StepContext, date: string): boolean {
  const { nowMs } = context
  const { walk } = dayOf(context, date)
  if (walk === null) return true
  if (walk.state === 'owed') return nowMs >= walk.atMs
  if (walk.state === 'whole' && walk.attempts >= ATTEMPTS) return false
  if (walk.state === 'whole' && walk.retryMs !== undefined) return nowMs >= walk.retryMs
  return isTooSoon(context.config.calendar, { date, walk }, surePresentMs(context))
}

/** The failed tries of that day so far, and where the next one continues. Those of a time that a clock was ahead do not count. */
function triesOf(context: StepContext, date: string): Pick<DayWalk, 'attempts' | 'pageCursor'> {
  const { walk } = dayOf(context, date)
  const isOther = isTooSoon(context.config.calendar, { date, walk }, surePresentMs(context))
  if (walk === null || (isOther && walk.state !== 'whole')) return { attempts: 0, pageCursor: null }
  return walk
}

function decide(context: StepContext, date: string, state: DayWalk['state'], atMs = context.nowMs): void {
  const { attempts, pageCursor } = triesOf(context, date)
  const { late, readMs: beforeMs } = dayOf(context, date).walk ?? {}
  const presentMs = surePresentMs(context)
  const readMs = pageCursor === null ? presentMs : (beforeMs ?? presentMs)
  const walk = { state, atMs, readMs, attempts, pageCursor, ...(late !== undefined && { late }) }
  publish(context, { purpose: 'sweep', items: [], day: { date, walk } })
}

function dayOf({ state }: StepContext, date: string): DayRecord {
  return state.head.days.find((day) => day.date === date) ?? emptyDay(date)
}

/** False where the records begin after that date, because upstream's clock was once far ahead. */
function isRecordable(days: readonly DayRecord[], date: string): boolean {
  return withDay(days, date, (day) => day).some((day) => day.date === date)
}

/** The last business days that may be reconciled, oldest first. */
function datesDue(calendar: Calendar, presentMs: number): string[] {
  const dates: string[] = []
  let date = calendar.londonDate(presentMs)
  for (let back = 0; back < LONGEST_CLOSED_DAYS && dates.length < RECONCILED_DAYS_BACK; back++) {
    if (isReconciliationDue(calendar, date, presentMs)) dates.unshift(date)
    date = dayBefore(calendar, date)
  }
  return dates
}

/** The range to read for that day, and the last day before it; null where the stream began after its release window. */
export function reconciledRange(
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

/** Known items of the days after the one, up to the other. */
function itemsBetween(days: readonly DayRecord[], after: string, through: string): number {
  return days
    .filter(({ date }) => date > after && date <= through)
    .reduce((sum, day) => sum + itemsOf(day), 0)
}

function dayBefore(calendar: Calendar, date: string): string {
  return calendar.londonDate(calendar.momentMs(date, NOON) - DAY_MS)
}
