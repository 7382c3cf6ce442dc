/**
 * Converts between the fractional number of polls that the square-root rule gives and the whole polls that the scheduler
 * makes. The rule makes the polling rate proportional to √(items a second). Where polls are few, each burst and busy period
 * still gets one, so more are made than the rule says.
 */

/**
 * Polls of a business day by the rule and as scheduled, measured over three profiles at thirteen rates. Below the first
 * pair the square root of it fits, above the second the difference is constant.
 */
const FEW = { byRule: 24, scheduled: 45 } as const
const MANY = { byRule: 64, scheduled: 67 } as const
const SLOPE = (MANY.scheduled - FEW.scheduled) / (MANY.byRule - FEW.byRule)

/** Polls by the √ rule that lead to this many scheduled ones over a number of business days. */
export function pollsByRule(scheduled: number, days: number): number {
  const aDay = scheduled / days
  if (!(aDay > 0)) return 0
  if (aDay < FEW.scheduled) return days * FEW.byRule * (aDay / FEW.scheduled) ** 2
  if (aDay < MANY.scheduled) return days * (FEW.byRule + (aDay - FEW.scheduled) / SLOPE)
  return scheduled - days * (MANY.scheduled - MANY.byRule)
}

/** Polls that are scheduled where the √ rule gives `rule`; the inverse of `pollsByRule`. */
export function pollsScheduled(rule: number, days: number): number {
  const aDay = rule / days
  if (!(aDay > 0)) return 0
  if (aDay < FEW.byRule) return days * FEW.scheduled * Math.sqrt(aDay / FEW.byRule)
  if (aDay < MANY.byRule) return days * (FEW.scheduled + (aDay - FEW.byRule) * SLOPE)
  return rule + days * (MANY.scheduled - MANY.byRule)
}
