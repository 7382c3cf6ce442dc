/**
 * Generates net asset values (NAVs): one per business day for each fund and trust, announced on the next around 07:10.
 */
import type { SeededChance } from '../../core/chance.ts'
import { fundBurst } from '../market/day-shape.ts'
import { comparePlaces, type ListPlace } from '../store/place-cursor.ts'
import { type Amount, amount } from './amounts.ts'
import { type FundAnnouncement, fundAnnouncementOf, type IssuerJson, issuerJson } from './announcement.ts'
import type { MarketDays } from './dates.ts'
import { announcedUnit, type ShareClass, type ShareClasses } from './share-classes.ts'

/** One NAV as served; members: docs/use/sandbox-funds.md. */
export interface NavRecord {
  issuer: IssuerJson
  asOf: string
  navPerShare: { cumIncome: Amount; exIncome?: Amount }
  announcement: FundAnnouncement
}

/** A NAV by its position in the order of announcements (time, then ISIN). `record` builds the record on demand. */
export interface PlacedNav extends ListPlace {
  record(): NavRecord
}

export interface Navs {
  publishes(shareClass: ShareClass): boolean
  /** Every NAV of one class published by `nowMs`, newest first. */
  history(shareClass: ShareClass, nowMs: number): NavRecord[]
  /** The latest NAV of each of these classes, newest first. */
  latest(shareClasses: readonly ShareClass[], nowMs: number): PlacedNav[]
  /** The newest `limit` NAVs of these classes after `place`, newest first; `more` = older ones were left out. */
  since(
    shareClasses: readonly ShareClass[],
    place: ListPlace,
    limit: number,
    nowMs: number,
  ): { navs: PlacedNav[]; more: boolean }
  /** Value of a share on the day of that index, ten-thousandths of the currency. */
  valueOn(shareClass: ShareClass, index: number): number
}

/** Largest daily change of a value, as a fraction. */
const DAILY_MOVE = 0.012
/** Business days over which a class accumulates income, and its yield over them. */
const INCOME_DAYS = 130
const INCOME_YIELD = 0.02

interface Series {
  chance: SeededChance
  /** By index of the day. */
  values: number[]
}

/** Creates the NAVs; each class's values are computed when first needed. */
export function createNavs({ chance }: Pick<ShareClasses, 'chance'>, days: MarketDays): Navs {
  const known = new Map<string, Series>()
  const publishes = ({ kind }: ShareClass): boolean => kind !== 'company'
  const valueOn = (shareClass: ShareClass, index: number): number => {
    const { isin, level } = shareClass
    const series = known.get(isin) ?? { chance: chance(shareClass, 'nav'), values: [level] }
    known.set(isin, series)
    const { values } = series
    while (values.length <= index) {
      const move = 1 + (series.chance.next() * 2 - 1) * DAILY_MOVE
      values.push(Math.max(1, Math.round((values.at(-1) ?? level) * move)))
    }
    return values[index] ?? level
  }
  const secondOf = ({ index }: ShareClass): number =>
    fundBurst.first + (index % (fundBurst.last - fundBurst.first + 1))
  const recordOf = (shareClass: ShareClass, index: number, announcedMs: number): NavRecord => {
    const asOf = days.day(index)
    const unit = announcedUnit(shareClass, chance(shareClass, `nav:${asOf}`))
    const value = valueOn(shareClass, index)
    const income = Math.round((value * INCOME_YIELD * (index % INCOME_DAYS)) / INCOME_DAYS)
    return {
      issuer: issuerJson(shareClass),
      asOf,
      navPerShare: {
        cumIncome: amount(value, unit),
        ...(shareClass.kind === 'trust' ? { exIncome: amount(value - income, unit) } : {}),
      },
      announcement: fundAnnouncementOf(shareClass, 'nav', announcedMs),
    }
  }
  const placed = (shareClass: ShareClass, index: number): PlacedNav => {
    const timeMs = days.announcedMs(index, secondOf(shareClass))
    return { timeMs, key: shareClass.isin, record: () => recordOf(shareClass, index, timeMs) }
  }
  const newestFirst = (navs: PlacedNav[]): PlacedNav[] =>
    navs.sort((left, right) => comparePlaces(right, left))

  return {
    publishes,
    valueOn,
    history(shareClass, nowMs) {
      if (!publishes(shareClass)) return []
      const count = days.announced(nowMs, secondOf(shareClass))
      return Array.from({ length: count }, (_, back) => placed(shareClass, count - 1 - back).record())
    },
    latest(shareClasses, nowMs) {
      const navs = shareClasses.filter(publishes).flatMap((shareClass) => {
        const count = days.announced(nowMs, secondOf(shareClass))
        return count === 0 ? [] : [placed(shareClass, count - 1)]
      })
      return newestFirst(navs)
    },
    since(shareClasses, place, limit, nowMs) {
      const publishing = shareClasses.filter(publishes)
      const found: PlacedNav[] = []
      // All announcements of one morning come before those of the next.
      for (let index = days.announced(nowMs, 0) - 1; index >= 0 && found.length <= limit; index--) {
        const out = publishing.filter((shareClass) => {
          const timeMs = days.announcedMs(index, secondOf(shareClass))
          return timeMs <= nowMs && comparePlaces({ timeMs, key: shareClass.isin }, place) > 0
        })
        if (out.length === 0 && days.announcedMs(index, fundBurst.last) <= place.timeMs) break
        found.push(...newestFirst(out.map((shareClass) => placed(shareClass, index))))
      }
      return { navs: found.slice(0, limit), more: found.length > limit }
    },
  }
}
