/**
 * Answers `/nav` requests: a page of the latest net asset values, or those announced after a cursor.
 */
import type { NavsQuery } from '../../api/mirror/fund-routes.ts'
import { classicPaging, listPage, refusedSinceCursor } from '../../api/mirror/paging.ts'
import { isIsin } from '../../core/check-digits.ts'
import { isBridgeError } from '../../errors.ts'
import { type ListPlace, placeCursor, readPlaceCursor } from '../store/place-cursor.ts'
import type { Navs, PlacedNav } from './navs.ts'
import type { ShareClass } from './share-classes.ts'

/** Data from which a query is answered. */
export interface NavListSource {
  all: readonly ShareClass[]
  navs: Navs
  /** Current market time, ms since 1970. */
  nowMs: number
}

/** Answers one page in the requested paging mode. A cursor that does not belong to this list answers 400. */
export function navListAnswer(query: NavsQuery, { all, navs, nowMs }: NavListSource): string {
  const { isins, pageSize, paging, warnings } = query
  const asked = isins === null ? all : all.filter(({ isin }) => isins.includes(isin))
  if (paging.mode === 'number') {
    const { pageNumber } = paging
    const latest = navs.latest(asked, nowMs)
    const page = latest.slice((pageNumber - 1) * pageSize, pageNumber * pageSize)
    return listPage(
      page.map(textOf),
      classicPaging({ pageSize, pageNumber, itemTotal: latest.length }, cursorOf(page[0])),
      warnings,
    )
  }
  const { sinceCursor } = paging
  const place = readNavCursor(sinceCursor)
  if (place === null) throw refusedSinceCursor()
  const { navs: newer, more } = navs.since(asked, place, pageSize, nowMs)
  const latestCursor = cursorOf(newer[0]) ?? sinceCursor
  return listPage(newer.map(textOf), { pageSize, latestCursor, count: newer.length, hasMore: more }, warnings)
}

function textOf(nav: PlacedNav): string {
  return JSON.stringify(nav.record())
}

function cursorOf(nav: PlacedNav | undefined): string | undefined {
  return nav === undefined ? undefined : placeCursor(nav)
}

/** Decodes a cursor of `/nav`; null if it is invalid. */
function readNavCursor(text: string): ListPlace | null {
  try {
    const place = readPlaceCursor(text)
    return isIsin(place.key) ? place : null
  } catch (error) {
    if (isBridgeError(error, 'cursor_invalid')) return null
    throw error
  }
}
