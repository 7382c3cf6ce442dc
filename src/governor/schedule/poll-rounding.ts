/**
 * How many polls a day takes at a pace. The √ rule gives an hour three tenths of a poll; placed, it is a whole one or none,
 * and where polls are few, bursts and humps each get one. Owns that relation, measured; pure. Refuses to place.
 */

/**
 * Polls of an open day by the √ rule, and as they were placed, over the shipped profile and two learnt ones, at thirteen
 * paces: below the first the square root of it fits, above the last the difference stays.
 */
const FEW = { byRule: 24, placed: 45 } as const
const MANY = { byRule: 64, placed: 67 } as const
const SLOPE = (MANY.placed - FEW.placed) / (MANY.byRule - FEW.byRule)

/** Polls by the √ rule that come to so many placed ones, over so many open days. */
export function byRule(placed: number, days: number): number {
  const aDay = placed / days
  if (!(aDay > 0)) return 0
  if (aDay < FEW.placed) return days * FEW.byRule * (aDay / FEW.placed) ** 2
  if (aDay < MANY.placed) return days * (FEW.byRule + (aDay - FEW.placed) / SLOPE)
  return placed - days * (MANY.placed - MANY.byRule)
}

/** Polls that are placed where the √ rule gives so many; the counterpart of `byRule`. */
export function asPlaced(rule: number, days: number): number {
  const aDay = rule / days
  if (!(aDay > 0)) return 0
  if (aDay < FEW.byRule) return days * FEW.placed * Math.sqrt(aDay / FEW.byRule)
  if (aDay < MANY.byRule) return days * (FEW.placed + (aDay - FEW.byRule) * SLOPE)
  return rule + days * (MANY.placed - MANY.byRule)
}
