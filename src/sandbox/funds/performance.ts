/**
 * Generates the monthly performance report in which an issuer states its returns. The figures come from the random
 * seed; they are not computed from NAVs or prices.
 */
import type { SeededChance } from '../../core/chance.ts'
import { fundBurst } from '../market/day-shape.ts'
import { percent } from './amounts.ts'
import { fundAnnouncementOf, issuerJson } from './announcement.ts'
import { addDays, dayOf, londonMs, monthEnd, onBusinessDay } from './dates.ts'
import type { ShareClass } from './share-classes.ts'

/** Fraction of funds and trusts whose issuer states returns. */
const STATING_SHARE = 0.7
const BENCHMARK_SHARE = 0.6
/** Days from the end of a month to its report. */
const REPORTED_AFTER = 12

/** Months or years that end with the report's month; returns are drawn from −`spread` to twice `spread`. */
const spans = [
  { span: '1M', years: 0, spread: 500 },
  { span: '3M', years: 0, spread: 900 },
  { span: '1Y', years: 1, spread: 2_200 },
  { span: '3Y', years: 3, spread: 4_500 },
  { span: '5Y', years: 5, spread: 7_000 },
]

/** Returns the latest report of a class; null if its issuer states no returns. Members: docs/use/sandbox-funds.md. */
export function latestPerformance(shareClass: ShareClass, nowMs: number) {
  const style = shareClass.chance('performance')
  if (shareClass.kind === 'company' || !style.yes(STATING_SHARE)) return null
  const bases = [
    'navTotalReturn',
    ...(shareClass.kind === 'trust' ? ['sharePriceTotalReturn'] : []),
    ...(style.yes(BENCHMARK_SHARE) ? ['benchmark'] : []),
  ]
  const longTypes = style.pick([['cumulative'], ['annualised'], ['cumulative', 'annualised']])
  const today = dayOf(nowMs)
  const lastMonth = reportOf(monthEnd(today, -1))
  const { asOf, announcedMs } = lastMonth.announcedMs <= nowMs ? lastMonth : reportOf(monthEnd(today, -2))
  const draw = shareClass.chance(`performance:${asOf}`)
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
function figuresOf(basis: string, longTypes: readonly string[], draw: SeededChance): object[] {
  return spans.flatMap(({ span, years, spread }) => {
    const total = draw.between(-spread, 2 * spread)
    return (years > 1 ? longTypes : ['cumulative']).map((periodType) => ({
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
