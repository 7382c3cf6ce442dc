/**
 * Answers `/nav` requests: a page of the latest net asset values, or those announced after a cursor.
 */
import type { NavsQuery } from '../../api/mirror/fund-routes.ts'
import { classicPaging, listPage, refusedSinceCursor } from '../../api/mirror/paging.ts'
import { isIsin } from '../../core/check-digits.ts'
import { placeCursor, readPlaceCursor } from '../store/place-cursor.ts'
import { latestNavs, navsSince, type PlacedNav } from './navs.ts'
import type { ShareClass } from './share-classes.ts'

/** Answers one page in the requested paging mode. A cursor that does not belong to this list answers 400. */
export function navListAnswer(query: NavsQuery, all: readonly ShareClass[], nowMs: number): string {
  const { isins, pageSize, paging, warnings } = query
  const asked = isins === null ? all : all.filter(({ isin }) => isins.includes(isin))
  if (paging.mode === 'number') {
    const { pageNumber } = paging
    const latest = latestNavs(asked, nowMs)
    const page = latest.slice((pageNumber - 1) * pageSize, pageNumber * pageSize)
    const shape = { pageSize, pageNumber, itemTotal: latest.length }
    return listPage(page.map(textOf), classicPaging(shape, cursorOf(page[0])), warnings)
  }
  const { sinceCursor } = paging
  const place = readPlaceCursor(sinceCursor)
  if (place === null || !isIsin(place.key)) throw refusedSinceCursor()
  const { navs, more } = navsSince(asked, place, pageSize, nowMs)
  const latestCursor = cursorOf(navs[0]) ?? sinceCursor
  return listPage(navs.map(textOf), { pageSize, latestCursor, count: navs.length, hasMore: more }, warnings)
}

function textOf(nav: PlacedNav): string {
  return JSON.stringify(nav.record())
}

function cursorOf(nav: PlacedNav | undefined): string | undefined {
  return nav === undefined ? undefined : placeCursor(nav)
}
