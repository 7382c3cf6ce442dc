/**
 * Generates share repurchases: which trusts buy back, what they bought each day, and a summary of the last year.
 */
import { parseSecondOfDay } from '../market/london.ts'
import { amount, percent } from './amounts.ts'
import { fundAnnouncementOf, issuerJson } from './announcement.ts'
import { addDays, announcedDays, dayOf } from './dates.ts'
import { navValues } from './navs.ts'
import { announcedUnit, type ShareClass } from './share-classes.ts'

/** Fraction of trusts that have a programme, and of business days on which those buy. */
const PROGRAMME_SHARE = 0.7
const BUYING_DAYS_SHARE = 0.35
const ANNOUNCED_SECOND = parseSecondOfDay('07:00:05')
const PERIOD_DAYS = 365

/** Returns the totals of the year up to the day of `nowMs`, by day of repurchase; null if there was none. */
export function buybackSummary(shareClass: ShareClass, nowMs: number) {
  const today = dayOf(nowMs)
  const period = { from: addDays(today, 1 - PERIOD_DAYS), to: today }
  const made = repurchases(shareClass, nowMs).filter(({ record }) => record.date >= period.from)
  if (made.length === 0) return null
  const sharesBefore = shareClass.chance('shares in issue').between(80, 900) * 1_000_000
  const sum = (of: (one: Repurchase) => number): number => made.reduce((total, one) => total + of(one), 0)
  const volume = sum((one) => one.record.volume)
  const gained = sum((one) => one.record.volume * (one.navPerShare - one.price))
  const worth = sum((one) => one.record.volume * one.navPerShare)
  return {
    issuer: issuerJson(shareClass),
    period,
    repurchases: made.length,
    volume,
    accretionPerShare: amount(Math.round((gained * 100) / (sharesBefore - volume)), shareClass.unit, 2),
    averageDiscount: percent(Math.round((gained * 10_000) / worth)),
  }
}

/** One day's repurchases with the figures that a summary needs; prices in ten-thousandths of the currency. */
type Repurchase = ReturnType<typeof repurchases>[number]

/**
 * Generates every announced repurchase at a discount to the NAVs, newest first; none for a class without a programme.
 * Members of `record`: docs/use/sandbox-funds.md.
 */
export function repurchases(shareClass: ShareClass, nowMs: number) {
  const programme = shareClass.chance('programme')
  if (shareClass.kind !== 'trust' || !programme.yes(PROGRAMME_SHARE)) return []
  const usualDiscount = 0.02 + programme.next() * 0.16
  const purpose = programme.pick(['cancellation', 'treasury'])
  const days = announcedDays(nowMs, ANNOUNCED_SECOND)
  const values = navValues(shareClass, days.length)
  const made = days.flatMap(({ day: date, announcedMs }, index) => {
    const draw = shareClass.chance(`buyback:${date}`)
    if (!draw.yes(BUYING_DAYS_SHARE)) return []
    const navPerShare = values[index] ?? shareClass.level
    const price = Math.round(navPerShare * (1 - usualDiscount * (0.85 + draw.next() * 0.3)))
    const volume = draw.between(20, 2_500) * 100
    const record = {
      issuer: issuerJson(shareClass),
      date,
      volume,
      price: amount(price, announcedUnit(shareClass, draw)),
      purpose,
      announcement: fundAnnouncementOf(shareClass, 'buyback', announcedMs),
    }
    return [{ price, navPerShare, record }]
  })
  return made.reverse()
}
