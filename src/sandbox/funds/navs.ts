/**
 * Generates net asset values (NAVs): one per business day for each fund and trust, announced on the next business day
 * around 07:10.
 */
import { fundBurst } from '../market/day-shape.ts'
import { comparePlaces, type ListPlace } from '../store/place-cursor.ts'
import { amount } from './amounts.ts'
import { fundAnnouncementOf, issuerJson } from './announcement.ts'
import { type AnnouncedDay, announcedDays } from './dates.ts'
import { announcedUnit, type ShareClass } from './share-classes.ts'

/** A NAV by its position in the order of announcements (time, then first ISIN). `record` builds the record on demand. */
export interface PlacedNav extends ListPlace {
  record(): object
}

/** Largest daily change of a value, as a fraction. */
const DAILY_MOVE = 0.012
/** Business days over which a class accumulates income, and its yield over them. */
const INCOME_DAYS = 130
const INCOME_YIELD = 0.02

/** Returns every NAV of one class published by `nowMs`, newest first. Members: docs/use/sandbox-funds.md. */
export function navHistory(shareClass: ShareClass, nowMs: number) {
  if (!publishesNav(shareClass)) return []
  const days = announcedDays(nowMs, secondOf(shareClass))
  const values = navValues(shareClass, days.length)
  return days.map((day, index) => recordOf(shareClass, day, { index, value: values[index] ?? 0 })).reverse()
}

/** Returns the latest NAV of each of these classes, newest first. */
export function latestNavs(shareClasses: readonly ShareClass[], nowMs: number): PlacedNav[] {
  const midnights = announcedDays(nowMs, 0)
  const navs = shareClasses.filter(publishesNav).flatMap((shareClass) => {
    const isOut = (day: AnnouncedDay): boolean => placeOf(shareClass, day).timeMs <= nowMs
    const index = midnights.findLastIndex(isOut)
    const day = midnights[index]
    return day === undefined ? [] : [placed(shareClass, day, index)]
  })
  return newestFirst(navs)
}

/**
 * Returns the newest `limit` NAVs of these classes after `place`, newest first; `more` = older ones were left out.
 */
export function navsSince(
  shareClasses: readonly ShareClass[],
  place: ListPlace,
  limit: number,
  nowMs: number,
): { navs: PlacedNav[]; more: boolean } {
  const publishing = shareClasses.filter(publishesNav)
  const found: PlacedNav[] = []
  // All announcements of one morning come before those of the next.
  for (const [index, day] of [...announcedDays(nowMs, 0).entries()].reverse()) {
    if (found.length > limit || day.announcedMs + fundBurst.last * 1000 < place.timeMs) break
    const out = publishing.filter((shareClass) => {
      const announced = placeOf(shareClass, day)
      return announced.timeMs <= nowMs && comparePlaces(announced, place) > 0
    })
    found.push(...newestFirst(out.map((shareClass) => placed(shareClass, day, index))))
  }
  return { navs: found.slice(0, limit), more: found.length > limit }
}

/** Returns the values of a share on the first `count` business days, ten-thousandths of the currency. */
export function navValues({ level, chance }: ShareClass, count: number): number[] {
  const draw = chance('nav')
  let value = level
  return Array.from({ length: count }, (_, index) => {
    if (index > 0) value = Math.max(1, Math.round(value * (1 + (draw.next() * 2 - 1) * DAILY_MOVE)))
    return value
  })
}

function publishesNav({ kind }: ShareClass): boolean {
  return kind !== 'company'
}

/** The second of the day at which a class announces. */
function secondOf({ index }: ShareClass): number {
  return fundBurst.first + (index % (fundBurst.last - fundBurst.first + 1))
}

/** `announcedMs` of the day is the midnight before the announcements. */
function placeOf(shareClass: ShareClass, { announcedMs }: AnnouncedDay): ListPlace {
  return { timeMs: announcedMs + secondOf(shareClass) * 1000, key: shareClass.firstIsin }
}

function placed(shareClass: ShareClass, midnight: AnnouncedDay, index: number): PlacedNav {
  const place = placeOf(shareClass, midnight)
  const record = (): object => {
    const value = navValues(shareClass, index + 1).at(-1) ?? 0
    return recordOf(shareClass, { day: midnight.day, announcedMs: place.timeMs }, { index, value })
  }
  return { ...place, record }
}

function recordOf(
  shareClass: ShareClass,
  { day: asOf, announcedMs }: AnnouncedDay,
  { index, value }: { index: number; value: number },
) {
  const unit = announcedUnit(shareClass, shareClass.chance(`nav:${asOf}`))
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

function newestFirst(navs: PlacedNav[]): PlacedNav[] {
  return navs.sort((left, right) => comparePlaces(right, left))
}
