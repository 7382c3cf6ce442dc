/**
 * Generates the monthly performance report in which an issuer states its returns. The figures are drawn from the seed
 * and not computed from NAVs or prices.
 */
import type { SeededChance } from '../../core/chance.ts'
import { fundBurst } from '../market/day-shape.ts'
import { percent } from './amounts.ts'
import { type FundAnnouncement, fundAnnouncementOf, type IssuerJson, issuerJson } from './announcement.ts'
import { addDays, londonMs, monthEnd, onBusinessDay } from './dates.ts'
import type { ShareClass, ShareClasses } from './share-classes.ts'

/** One stated return; members: docs/use/sandbox-funds.md. */
export interface PerformanceFigure {
  period: Span
  periodType: 'cumulative' | 'annualised'
  basis: Basis
  return: { value: string; unit: 'percent' }
}

/** The figures of one report. */
export interface PerformanceReport {
  issuer: IssuerJson
  asOf: string
  figures: PerformanceFigure[]
  announcement: FundAnnouncement
}

/** Months or years that end with the report's month. */
export type Span = '1M' | '3M' | '1Y' | '3Y' | '5Y'
/** The value whose return is stated. */
export type Basis = 'navTotalReturn' | 'sharePriceTotalReturn' | 'benchmark'

/** Fraction of funds and trusts whose issuer states returns. */
const STATING_SHARE = 0.7
const BENCHMARK_SHARE = 0.6
/** Days from the end of a month to its report. */
const REPORTED_AFTER = 12

const spans: readonly { span: Span; years: number; spread: number }[] = [
  { span: '1M', years: 0, spread: 500 },
  { span: '3M', years: 0, spread: 900 },
  { span: '1Y', years: 1, spread: 2_200 },
  { span: '3Y', years: 3, spread: 4_500 },
  { span: '5Y', years: 5, spread: 7_000 },
]

/** The latest report of a class at `nowMs`; null if its issuer states no returns. */
export function latestPerformance(
  shareClass: ShareClass,
  { chance }: Pick<ShareClasses, 'chance'>,
  { today, nowMs }: { today: string; nowMs: number },
): PerformanceReport | null {
  const style = chance(shareClass, 'performance')
  if (shareClass.kind === 'company' || !style.yes(STATING_SHARE)) return null
  const bases: Basis[] = [
    'navTotalReturn',
    ...(shareClass.kind === 'trust' ? (['sharePriceTotalReturn'] as const) : []),
    ...(style.yes(BENCHMARK_SHARE) ? (['benchmark'] as const) : []),
  ]
  const longTypes = style.pick([['cumulative'], ['annualised'], ['cumulative', 'annualised']] as const)
  const lastMonth = reportOf(monthEnd(today, -1))
  const { asOf, announcedMs } = lastMonth.announcedMs <= nowMs ? lastMonth : reportOf(monthEnd(today, -2))
  const draw = chance(shareClass, `performance:${asOf}`)
  return {
    issuer: issuerJson(shareClass),
    asOf,
    figures: bases.flatMap((basis) => figuresOf(basis, longTypes, draw)),
    announcement: fundAnnouncementOf(shareClass, 'performance', announcedMs),
  }
}

function reportOf(asOf: string): { asOf: string; announcedMs: number } {
  return { asOf, announcedMs: londonMs(onBusinessDay(addDays(asOf, REPORTED_AFTER)), fundBurst.last) }
}

/** Draws the figures: spans above a year use the issuer's choice of types, the others are cumulative. */
function figuresOf(
  basis: Basis,
  longTypes: readonly PerformanceFigure['periodType'][],
  draw: SeededChance,
): PerformanceFigure[] {
  return spans.flatMap(({ span, years, spread }) => {
    const total = draw.between(-spread, 2 * spread)
    return (years > 1 ? longTypes : (['cumulative'] as const)).map((periodType) => ({
      period: span,
      periodType,
      basis,
      return: percent(periodType === 'annualised' ? annualised(total, years) : total),
    }))
  })
}

/** Converts a total return over `years` to a yearly one, both in hundredths of a per cent. */
function annualised(total: number, years: number): number {
  return Math.round(((1 + total / 10_000) ** (1 / years) - 1) * 10_000)
}
