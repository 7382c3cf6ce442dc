/**
 * Generates share repurchases: which trusts buy back, what they bought each day, and a summary of the last year.
 */
import { parseSecondOfDay } from '../market/london.ts'
import { type Amount, amount, percent } from './amounts.ts'
import { type FundAnnouncement, fundAnnouncementOf, type IssuerJson, issuerJson } from './announcement.ts'
import { addDays, type MarketDays } from './dates.ts'
import type { Navs } from './navs.ts'
import { announcedUnit, type ShareClass, type ShareClasses } from './share-classes.ts'

/** One day's repurchases, as announced; members: docs/use/sandbox-funds.md. */
export interface BuybackRecord {
  issuer: IssuerJson
  date: string
  volume: number
  price: Amount
  purpose: 'cancellation' | 'treasury'
  announcement: FundAnnouncement
}

/** Totals of the repurchases in a period. */
export interface BuybackSummary {
  issuer: IssuerJson
  period: { from: string; to: string }
  repurchases: number
  volume: number
  accretionPerShare: Amount
  averageDiscount: { value: string; unit: 'percent' }
}

export interface Buybacks {
  /** Every announced repurchase, newest first; empty for a class without a programme. */
  history(shareClass: ShareClass, nowMs: number): BuybackRecord[]
  /** Totals of the year up to `today`, by day of repurchase; null if there was none. */
  summary(shareClass: ShareClass, today: string, nowMs: number): BuybackSummary | null
}

/** Fraction of trusts that have a programme, and of business days on which those buy. */
const PROGRAMME_SHARE = 0.7
const BUYING_DAYS_SHARE = 0.35
const ANNOUNCED_SECOND = parseSecondOfDay('07:00:05')
const PERIOD_DAYS = 365

/** One day's repurchases with the figures that a summary needs; prices in ten-thousandths of the currency. */
interface Repurchase {
  date: string
  volume: number
  price: number
  navPerShare: number
  record: BuybackRecord
}

/** Creates repurchases at a discount to the NAVs. */
export function createBuybacks(
  { chance }: Pick<ShareClasses, 'chance'>,
  days: MarketDays,
  navs: Pick<Navs, 'valueOn'>,
): Buybacks {
  const repurchases = (shareClass: ShareClass, nowMs: number): Repurchase[] => {
    const { kind } = shareClass
    const programme = chance(shareClass, 'programme')
    if (kind !== 'trust' || !programme.yes(PROGRAMME_SHARE)) return []
    const usualDiscount = 0.02 + programme.next() * 0.16
    const purpose = programme.pick(['cancellation', 'treasury'] as const)
    const made: Repurchase[] = []
    for (let index = days.announced(nowMs, ANNOUNCED_SECOND) - 1; index >= 0; index--) {
      const date = days.day(index)
      const draw = chance(shareClass, `buyback:${date}`)
      if (!draw.yes(BUYING_DAYS_SHARE)) continue
      const navPerShare = navs.valueOn(shareClass, index)
      const price = Math.round(navPerShare * (1 - usualDiscount * (0.85 + draw.next() * 0.3)))
      const volume = draw.between(20, 2_500) * 100
      const record = {
        issuer: issuerJson(shareClass),
        date,
        volume,
        price: amount(price, announcedUnit(shareClass, draw)),
        purpose,
        announcement: fundAnnouncementOf(shareClass, 'buyback', days.announcedMs(index, ANNOUNCED_SECOND)),
      }
      made.push({ date, volume, price, navPerShare, record })
    }
    return made
  }
  return {
    history: (shareClass, nowMs) => repurchases(shareClass, nowMs).map(({ record }) => record),
    summary(shareClass, today, nowMs) {
      const period = { from: addDays(today, 1 - PERIOD_DAYS), to: today }
      const made = repurchases(shareClass, nowMs).filter(({ date }) => date >= period.from)
      if (made.length === 0) return null
      const sharesBefore = chance(shareClass, 'shares in issue').between(80, 900) * 1_000_000
      const sum = (of: (one: Repurchase) => number): number => made.reduce((total, one) => total + of(one), 0)
      const volume = sum((one) => one.volume)
      const gained = sum((one) => one.volume * (one.navPerShare - one.price))
      const worth = sum((one) => one.volume * one.navPerShare)
      return {
        issuer: issuerJson(shareClass),
        period,
        repurchases: made.length,
        volume,
        accretionPerShare: amount(Math.round((gained * 100) / (sharesBefore - volume)), shareClass.unit, 2),
        averageDiscount: percent(Math.round((gained * 10_000) / worth)),
      }
    },
  }
}
