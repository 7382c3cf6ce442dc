/**
 * Builds a company's calendar of results, annual general meetings and dividend dates across all its share classes.
 */
import type { Issuer } from '../market/issuers.ts'
import { type InstrumentJson, instrumentJson } from './announcement.ts'
import { addDays, monthEnd, onBusinessDay } from './dates.ts'
import type { DividendDates, Dividends } from './dividends.ts'
import { fiscalPeriods, type Period, reportDate, yearEndMonth } from './fiscal-year.ts'
import type { ShareClass, ShareClasses } from './share-classes.ts'

/** One day of the calendar; members: docs/use/sandbox-funds.md. */
export interface CompanyEvent {
  type: CompanyEventType
  date: string
  status: 'confirmed' | 'projected'
  period: Period
  /** For a dividend: the share class that pays it. */
  instrument?: InstrumentJson
}

/** Type of a calendar event. */
export type CompanyEventType =
  | 'finalResults'
  | 'halfYearResults'
  | 'annualGeneralMeeting'
  | 'exDividend'
  | 'dividendRecord'
  | 'dividendPayment'

/** The calendar of one company. */
export interface CompanyEvents {
  issuer: { name: string; lei?: string }
  instruments: InstrumentJson[]
  events: CompanyEvent[]
}

/** Days that the calendar covers before and after today. */
const REACH_DAYS = 365
/** Days before an event at which a company confirms its date. */
const CONFIRMED_DAYS = 30

/** Builds the calendar of a share class's company as of `today`, ascending by date. */
export function companyEvents(
  { issuer }: ShareClass,
  { classes, dividends }: { classes: ShareClasses; dividends: Dividends },
  { today, nowMs }: { today: string; nowMs: number },
): CompanyEvents {
  const siblings = classes.all.filter((other) => other.issuer === issuer)
  const earliest = addDays(today, -REACH_DAYS)
  const latest = addDays(today, REACH_DAYS)
  const isFund = siblings.every(({ kind }) => kind === 'fund')
  const events = [
    ...(isFund ? [] : reportEvents(issuer, classes.chance, latest)).map((event) => ({
      ...event,
      status: event.date <= addDays(today, CONFIRMED_DAYS) ? ('confirmed' as const) : ('projected' as const),
    })),
    ...siblings.flatMap((shareClass) => [
      ...dividends
        .history(shareClass, nowMs)
        .flatMap((dividend) => dividendEvents(shareClass, dividend, 'confirmed')),
      ...dividends
        .projected(shareClass, nowMs)
        .flatMap((dividend) => dividendEvents(shareClass, dividend, 'projected')),
    ]),
  ].filter(({ date }) => date >= earliest && date <= latest)
  const { name, lei } = issuer
  return {
    issuer: { name, ...(lei === null ? {} : { lei }) },
    instruments: issuer.instruments.map(instrumentJson),
    events: events.sort(
      (left, right) => compareTexts(left.date, right.date) || compareTexts(left.type, right.type),
    ),
  }
}

function reportEvents(
  issuer: Issuer,
  chance: ShareClasses['chance'],
  latest: string,
): Omit<CompanyEvent, 'status'>[] {
  const [first] = issuer.instruments
  if (first === undefined) return []
  const events: Omit<CompanyEvent, 'status'>[] = []
  for (const { from, to, endsYear } of fiscalPeriods(yearEndMonth(issuer, chance), 6)) {
    if (to > latest) break
    const period = { from: endsYear ? addDays(monthEnd(to, -12), 1) : from, to }
    const type = endsYear ? 'finalResults' : 'halfYearResults'
    events.push({ type, date: reportDate(issuer, period, chance), period })
    if (!endsYear) continue
    const meetingAfter = chance(first, `meeting:${to}`).between(120, 150)
    events.push({ type: 'annualGeneralMeeting', date: onBusinessDay(addDays(to, meetingAfter)), period })
  }
  return events
}

function dividendEvents(
  shareClass: ShareClass,
  dividend: DividendDates & { period: Period },
  status: CompanyEvent['status'],
): CompanyEvent[] {
  const { exDate, recordDate, paymentDate, period } = dividend
  const about = { status, period, instrument: instrumentJson(shareClass) }
  return [
    { type: 'exDividend', date: exDate, ...about },
    { type: 'dividendRecord', date: recordDate, ...about },
    { type: 'dividendPayment', date: paymentDate, ...about },
  ]
}

function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}
