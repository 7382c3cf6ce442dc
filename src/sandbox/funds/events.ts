/**
 * Builds a company's calendar of results, annual general meetings and dividend dates across all its share classes.
 */
import { instrumentJson } from '../market/item-json.ts'
import { comparePlaces, type ListPlace } from '../store/place-cursor.ts'
import { addDays, dayOf, monthEnd, onBusinessDay } from './dates.ts'
import { dividendsOf } from './dividends.ts'
import { fiscalPeriods, type Period, reportDate } from './fiscal-year.ts'
import type { ShareClass } from './share-classes.ts'

/** One day of the calendar; members: docs/use/sandbox-funds.md. */
interface CompanyEvent {
  type: string
  date: string
  status: 'confirmed' | 'projected'
  period: Period
  /** For a dividend: the share class that pays it. */
  instrument?: object
}

/** Days that the calendar covers before and after today. */
const REACH_DAYS = 365
/** Days before an event at which a company confirms its date. */
const CONFIRMED_DAYS = 30

/** Builds the calendar of a share class's company, ascending by date. `all`: every share class of the market. */
export function companyEvents(shareClass: ShareClass, all: readonly ShareClass[], nowMs: number) {
  const { name, instruments, issuer } = shareClass
  const { lei } = issuer
  const siblings = all.filter((other) => other.issuer === issuer)
  const today = dayOf(nowMs)
  const earliest = addDays(today, -REACH_DAYS)
  const latest = addDays(today, REACH_DAYS)
  const events = [
    ...(shareClass.kind === 'fund' ? [] : reportEvents(shareClass, today, latest)),
    ...siblings.flatMap((sibling) => dividendEvents(sibling, nowMs)),
  ].filter(({ date }) => date >= earliest && date <= latest)
  return {
    issuer: { name, ...(lei === null ? {} : { lei }) },
    instruments: instruments.map(instrumentJson),
    events: events.sort((left, right) => comparePlaces(placeOf(left), placeOf(right))),
  }
}

function reportEvents(shareClass: ShareClass, today: string, latest: string): CompanyEvent[] {
  const events: CompanyEvent[] = []
  const add = (type: string, date: string, period: Period): void => {
    const status = date <= addDays(today, CONFIRMED_DAYS) ? 'confirmed' : 'projected'
    events.push({ type, date, period, status })
  }
  for (const { period: half, endsYear } of fiscalPeriods(shareClass, 6)) {
    const { to } = half
    if (to > latest) break
    const period = endsYear ? { from: addDays(monthEnd(to, -12), 1), to } : half
    add(endsYear ? 'finalResults' : 'halfYearResults', reportDate(shareClass, period), period)
    if (!endsYear) continue
    const meetingAfter = shareClass.issuerChance(`meeting:${to}`).between(120, 150)
    add('annualGeneralMeeting', onBusinessDay(addDays(to, meetingAfter)), period)
  }
  return events
}

function dividendEvents(shareClass: ShareClass, nowMs: number): CompanyEvent[] {
  const { history, projected } = dividendsOf(shareClass, nowMs)
  const instrument = instrumentJson(shareClass)
  return [...history, ...projected].flatMap((dividend, index) => {
    const status = index < history.length ? 'confirmed' : 'projected'
    const about = { status, period: dividend.period, instrument } as const
    return [
      { type: 'exDividend', date: dividend.exDate, ...about },
      { type: 'dividendRecord', date: dividend.recordDate, ...about },
      { type: 'dividendPayment', date: dividend.paymentDate, ...about },
    ]
  })
}

function placeOf({ date, type }: CompanyEvent): ListPlace {
  return { timeMs: Date.parse(date), key: type }
}
