/**
 * Builds the report of each London day: items by how they were found, open gaps, quota units spent, and the state of the
 * daily reconciliation. A gap is a span of time in which items may be missing; the reconciliation reads the whole day again
 * after its last releases. Pure: the poller's state, settings and time are arguments.
 */
import type { DayReport, WalkReport } from '../../archive/days.ts'
import type { Calendar } from '../../core/calendar/calendar.ts'
import { DAYS_KEPT, type DayRecord, emptyDay } from '../../core/calendar/day-record.ts'
import { isoMillis, parseTimestamp } from '../../core/dates.ts'
import { DAY_MS } from '../../core/durations.ts'
import { type LondonDay, londonDayOf } from '../../governor/arrivals/london-day.ts'
import { BUCKET_MS, type Ledger } from '../../governor/quota/time-buckets.ts'
import { isReconciliationDue, isReconciliationExpired, isTooSoon } from '../machine/daily-reconciliation.ts'
import { skewsMs, surePresentMs } from '../machine/present.ts'
import type { IngestConfig, IngestState } from '../machine/state.ts'
import { partsWithin, unreconciledRanges } from './unreconciled.ts'

const NOON = 12 * 60

/**
 * The reports from the first counted day to today, oldest first; none before the first good poll of all. Before the first answer
 * to this process today is the day of the last good poll.
 */
export function reportsOf(
  state: Pick<
    IngestState,
    'head' | 'ledger' | 'hasDate' | 'skewMs' | 'sightings' | 'unfitPolls' | 'newest' | 'lastGoodPollMs'
  >,
  config: Pick<IngestConfig, 'calendar' | 'dayWalks'>,
  nowMs: number,
): DayReport[] {
  const { head, ledger, lastGoodPollMs } = state
  const skews = skewsMs(state)
  const [skewMs] = skews
  const { countedFromMs } = head
  const { calendar } = config
  if (countedFromMs === null || lastGoodPollMs === null) return []
  // Upstream's time is unknown: that of another process was told by another clock, up to its last good poll.
  const isKnown = state.hasDate !== null
  const knownMs = isKnown ? nowMs : Math.min(nowMs, lastGoodPollMs)
  const presentMs = surePresentMs({ state, nowMs: knownMs })
  // What was decided after that poll is no less decided.
  const decidedMs = isKnown ? presentMs : Number.POSITIVE_INFINITY
  const unreconciled = unreconciledRanges(head, {
    calendar,
    presentMs: knownMs + Math.max(...skews),
    skewMs: Math.min(...skews),
  })
  return datesUpTo(calendar, countedFromMs, presentMs).map((date) => {
    const day = londonDayOf(calendar, calendar.momentMs(date, NOON))
    const record = head.days.find((known) => known.date === date) ?? emptyDay(date)
    const { walk, newest: _, ...counts } = record
    return {
      ...counts,
      gapsLeft: head.openGaps.filter(({ from, to }) => isOver(day, from, to)).length,
      walk: reconciliationOf(record, config, { countedFromMs, presentMs, decidedMs }),
      walkedAt: walk?.state === 'whole' ? isoMillis(walk.atMs) : null,
      unreconciled: partsWithin(unreconciled, { fromMs: day.startMs, toMs: day.endMs }),
      since: countedFromMs > day.startMs ? isoMillis(countedFromMs) : null,
      units: unitsOf(ledger, day, skewMs),
    }
  })
}

/** The counted dates of which the state keeps records, oldest first. */
function datesUpTo(calendar: Calendar, countedFromMs: number, presentMs: number): string[] {
  const first = calendar.londonDate(countedFromMs)
  const dates: string[] = []
  let date = calendar.londonDate(presentMs)
  while (date >= first && dates.length < DAYS_KEPT - 1) {
    dates.unshift(date)
    date = calendar.londonDate(calendar.momentMs(date, NOON) - DAY_MS)
  }
  return dates
}

function reconciliationOf(
  { date, walk }: DayRecord,
  { calendar, dayWalks }: Pick<IngestConfig, 'calendar' | 'dayWalks'>,
  { countedFromMs, presentMs, decidedMs }: { countedFromMs: number; presentMs: number; decidedMs: number },
): WalkReport {
  const window = calendar.releaseWindow(date)
  if (window === null || countedFromMs >= window.toMs) return 'none'
  const isDecided = walk !== null && walk.state !== 'owed' && !isTooSoon(calendar, { date, walk }, decidedMs)
  if (isDecided) return walk.state
  if (dayWalks === null) return 'unpaid'
  if (isReconciliationExpired(calendar, date, presentMs)) return 'missed'
  return isReconciliationDue(calendar, date, presentMs) ? 'owed' : 'not_due'
}

function isOver({ startMs, endMs }: LondonDay, from: string, to: string): boolean {
  return (parseTimestamp(from) ?? 0) < endMs && (parseTimestamp(to) ?? 0) >= startMs
}

/** Units of the day. The ledger has time buckets by our clock and the day is by upstream's: the skew is rounded to buckets. */
function unitsOf(ledger: Ledger, { startMs, endMs }: LondonDay, skewMs: number): DayReport['units'] {
  const apartMs = Math.round(skewMs / BUCKET_MS) * BUCKET_MS
  const sum: DayReport['units'] = {}
  for (const [spellMs, units] of ledger) {
    if (spellMs + apartMs < startMs || spellMs + apartMs >= endMs) continue
    for (const [purpose, spent] of Object.entries(units) as [keyof typeof units, number][]) {
      if (spent > 0) sum[purpose] = (sum[purpose] ?? 0) + spent
    }
  }
  return sum
}
