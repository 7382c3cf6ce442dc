/**
 * Generates dividends: how often an issuer pays, what it has declared, and which dividends are likely next.
 */
import { parseSecondOfDay } from '../market/london.ts'
import { type Amount, amount } from './amounts.ts'
import { type FundAnnouncement, fundAnnouncementOf, type IssuerJson, issuerJson } from './announcement.ts'
import { addDays, londonMs, onBusinessDay, onThursday } from './dates.ts'
import { fiscalPeriods, latestReportDate, type Period, reportDate, yearEndMonth } from './fiscal-year.ts'
import { announcedUnit, type ShareClass, type ShareClasses } from './share-classes.ts'

/** The four days of a dividend. */
export interface DividendDates {
  declarationDate: string
  exDate: string
  recordDate: string
  paymentDate: string
}

/** One declared dividend; members: docs/use/sandbox-funds.md. */
export interface DividendRecord extends DividendDates {
  issuer: IssuerJson
  type: DividendType
  period: Period
  amount: Amount
  announcement: FundAnnouncement
}

/** Type of a dividend; `final` if its period ends the fiscal year. */
export type DividendType = 'interim' | 'final' | 'distribution'

/** A likely dividend that is not announced yet, with the latest possible dates. */
export interface ProjectedDividend extends DividendDates {
  type: DividendType
  period: Period
}

export interface Dividends {
  /** Every dividend declared by `nowMs`, newest first. */
  history(shareClass: ShareClass, nowMs: number): DividendRecord[]
  /** The next expected dividends; empty for a class that pays none. */
  projected(shareClass: ShareClass, nowMs: number): ProjectedDividend[]
}

const PROJECTED = 2
const DECLARED_SECOND = parseSecondOfDay('07:00:03')
/** Days from a declaration to the ex-dividend Thursday, and from the record day to the payment, at least. */
const EX_AFTER = 14
const PAID_AFTER = 14

/** Dividend policy: months between dividends, and yearly yield in hundredths of a per cent of the price level. */
interface Policy {
  months: number
  yearlyYield: number
}

/** Creates the dividends of each class, all drawn from the seed. */
export function createDividends({ chance }: Pick<ShareClasses, 'chance'>): Dividends {
  const policyOf = (shareClass: ShareClass): Policy | null => {
    const draw = chance(shareClass, 'dividend policy')
    const payers = { fund: shareClass.issuer.name.endsWith('Dist') ? 1 : 0, trust: 0.9, company: 0.6 }
    if (!draw.yes(payers[shareClass.kind])) return null
    const months = { fund: [3], trust: [3, 3, 6], company: [6, 6, 6, 3, 12] }
    return { months: draw.pick(months[shareClass.kind]), yearlyYield: draw.between(100, 600) }
  }
  const declared = (shareClass: ShareClass, { months, yearlyYield }: Policy, period: FiscalPeriod) => {
    const draw = chance(shareClass, `dividend:${period.to}`)
    const dates = datesAfter(reportDate(shareClass.issuer, period, chance))
    const usual = (shareClass.level * yearlyYield * months) / (12 * 10_000)
    const worth = Math.max(1, Math.round(usual * (0.9 + draw.next() * 0.2)))
    const announcedMs = londonMs(dates.declarationDate, DECLARED_SECOND)
    const record: DividendRecord = {
      issuer: issuerJson(shareClass),
      type: typeOf(shareClass, period),
      period: { from: period.from, to: period.to },
      ...dates,
      amount: amount(worth, announcedUnit(shareClass, draw)),
      announcement: fundAnnouncementOf(shareClass, 'dividend', announcedMs),
    }
    return { announcedMs, record }
  }
  const read = (shareClass: ShareClass, nowMs: number) => {
    const history: DividendRecord[] = []
    const projected: ProjectedDividend[] = []
    const policy = policyOf(shareClass)
    if (policy === null) return { history, projected }
    for (const period of fiscalPeriods(yearEndMonth(shareClass.issuer, chance), policy.months)) {
      const next = declared(shareClass, policy, period)
      if (next.announcedMs <= nowMs) {
        history.unshift(next.record)
        continue
      }
      const { from, to } = period
      const type = typeOf(shareClass, period)
      projected.push({ type, period: { from, to }, ...datesAfter(latestReportDate(period)) })
      if (projected.length === PROJECTED) break
    }
    return { history, projected }
  }
  return {
    history: (shareClass, nowMs) => read(shareClass, nowMs).history,
    projected: (shareClass, nowMs) => read(shareClass, nowMs).projected,
  }
}

type FiscalPeriod = Period & { endsYear: boolean }

function typeOf({ kind }: ShareClass, { endsYear }: FiscalPeriod): DividendType {
  if (kind === 'fund') return 'distribution'
  return endsYear ? 'final' : 'interim'
}

function datesAfter(declarationDate: string): DividendDates {
  const exDate = onThursday(addDays(declarationDate, EX_AFTER))
  const recordDate = onBusinessDay(addDays(exDate, 1))
  const paymentDate = onBusinessDay(addDays(recordDate, PAID_AFTER))
  return { declarationDate, exDate, recordDate, paymentDate }
}
