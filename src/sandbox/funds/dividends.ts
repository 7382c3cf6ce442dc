/**
 * Generates dividends: how often an issuer pays, what it has declared, and which dividends are likely next.
 */
import { parseSecondOfDay } from '../market/london.ts'
import { amount } from './amounts.ts'
import { fundAnnouncementOf, issuerJson } from './announcement.ts'
import { addDays, londonMs, onBusinessDay, onThursday } from './dates.ts'
import { fiscalPeriods, latestReportDate, type Period, reportDate } from './fiscal-year.ts'
import { announcedUnit, type ShareClass } from './share-classes.ts'

const PROJECTED = 2
const DECLARED_SECOND = parseSecondOfDay('07:00:03')
/** Days from a declaration to the ex-dividend Thursday, and from the record day to the payment, at least. */
const EX_AFTER = 14
const PAID_AFTER = 14

/**
 * Returns every dividend declared by `nowMs`, newest first, and the next ones, which are not announced yet and have the
 * latest possible dates. Both are empty for a class that pays none. Members: docs/use/sandbox-funds.md.
 */
export function dividendsOf(shareClass: ShareClass, nowMs: number) {
  const history: ReturnType<typeof declared>[] = []
  const projected: Projected[] = []
  const policy = policyOf(shareClass)
  if (policy === null) return { history, projected }
  for (const { period, endsYear } of fiscalPeriods(shareClass, policy.months)) {
    const type = shareClass.kind === 'fund' ? 'distribution' : endsYear ? 'final' : 'interim'
    const dates = datesAfter(reportDate(shareClass, period))
    const declaredMs = londonMs(dates.declarationDate, DECLARED_SECOND)
    if (declaredMs <= nowMs) {
      history.unshift(declared(shareClass, { type, period, ...dates }, { ...policy, declaredMs }))
    } else {
      projected.push({ type, period, ...datesAfter(latestReportDate(period)) })
      if (projected.length === PROJECTED) break
    }
  }
  return { history, projected }
}

interface Projected extends ReturnType<typeof datesAfter> {
  /** `final` if its period ends the fiscal year. */
  type: 'interim' | 'final' | 'distribution'
  period: Period
}

/** Returns the months between dividends, and the yearly yield in hundredths of a per cent of the price level. */
function policyOf({ kind, issuer, chance }: ShareClass): { months: number; yearlyYield: number } | null {
  const draw = chance('dividend policy')
  const payers = { fund: issuer.name.endsWith('Dist') ? 1 : 0, trust: 0.9, company: 0.6 }
  if (!draw.yes(payers[kind])) return null
  const months = { fund: [3], trust: [3, 3, 6], company: [6, 6, 6, 3, 12] }
  return { months: draw.pick(months[kind]), yearlyYield: draw.between(100, 600) }
}

function declared(
  shareClass: ShareClass,
  { type, period, ...dates }: Projected,
  { months, yearlyYield, declaredMs }: { months: number; yearlyYield: number; declaredMs: number },
) {
  const draw = shareClass.chance(`dividend:${period.to}`)
  const usual = (shareClass.level * yearlyYield * months) / (12 * 10_000)
  const worth = Math.max(1, Math.round(usual * (0.9 + draw.next() * 0.2)))
  return {
    issuer: issuerJson(shareClass),
    type,
    period,
    ...dates,
    amount: amount(worth, announcedUnit(shareClass, draw)),
    announcement: fundAnnouncementOf(shareClass, 'dividend', declaredMs),
  }
}

/** Returns the four days of a dividend. */
function datesAfter(declarationDate: string) {
  const exDate = onThursday(addDays(declarationDate, EX_AFTER))
  const recordDate = onBusinessDay(addDays(exDate, 1))
  const paymentDate = onBusinessDay(addDays(recordDate, PAID_AFTER))
  return { declarationDate, exDate, recordDate, paymentDate }
}
