/**
 * The fund and investor-relations data of the synthetic market as a `FundSource`. Owns what each request is answered with.
 * Refuses to read requests (`api/mirror/fund-routes.ts`) and to make figures (the files beside this one).
 */
import { type Answer, listPage, refusedAnswer, refusedSinceCursor } from '../../api/mirror/answer.ts'
import type { FundSource, HistoryQuery, NavsQuery, SingleQuery } from '../../api/mirror/fund-source.ts'
import { classicPaging, pollingPaging } from '../../api/mirror/paging.ts'
import { isIsin } from '../../core/check-digits.ts'
import { isBridgeError } from '../../errors.ts'
import type { Issuers } from '../issuers.ts'
import { type Place, placeCursor, readPlaceCursor } from '../place-cursor.ts'
import { createBuybacks } from './buybacks.ts'
import { createMarketDays } from './dates.ts'
import { createDividends } from './dividends.ts'
import { companyEvents } from './events.ts'
import { createNavs } from './navs.ts'
import { latestPerformance } from './performance.ts'
import { createShareClasses, type ShareClass } from './share-classes.ts'

/** The nine resources over these issuers, as they stand whenever somebody asks. `now` is the market's, ms since 1970. */
export function createFundData(market: { seed: number; issuers: Issuers; now: () => number }): FundSource {
  const classes = createShareClasses(market)
  const days = createMarketDays()
  const navs = createNavs(classes, days)
  const buybacks = createBuybacks(classes, days, navs)
  const dividends = createDividends(classes)

  const navList = ({ isins, pageSize, paging, warnings }: NavsQuery): Answer => {
    const nowMs = market.now()
    const asked = isins === null ? classes.all : classes.all.filter(({ isin }) => isins.includes(isin))
    if (paging.mode === 'since') {
      const { sinceCursor } = paging
      const place = readNavCursor(sinceCursor)
      if (place === null) return refusedAnswer(refusedSinceCursor())
      const { navs: newer, more } = navs.since(asked, place, pageSize, nowMs)
      const newest = newer[0]
      const newestCursor = newest === undefined ? undefined : placeCursor(newest)
      return listPage(
        newer.map((nav) => JSON.stringify(nav.record())),
        pollingPaging({ pageSize, sinceCursor, newestCursor, count: newer.length, hasMore: more }),
        warnings,
      )
    }
    const latest = navs.latest(asked, nowMs)
    const page = pageOf(latest, pageSize, paging.pageNumber)
    const newest = page[0]
    return listPage(
      page.map((nav) => JSON.stringify(nav.record())),
      classicPaging(
        { pageSize, pageNumber: paging.pageNumber, itemTotal: latest.length },
        newest === undefined ? undefined : placeCursor(newest),
      ),
      warnings,
    )
  }

  const single = (resource: SingleQuery['resource'], shareClass: ShareClass): object | null => {
    const nowMs = market.now()
    const today = new Date(nowMs).toISOString().slice(0, 10)
    switch (resource) {
      case 'nav':
        return navs.latest([shareClass], nowMs)[0]?.record() ?? null
      case 'buybacks':
        return buybacks.summary(shareClass, today, nowMs)
      case 'dividends': {
        const [latest] = dividends.history(shareClass, nowMs)
        return latest === undefined ? null : { latest, projected: dividends.projected(shareClass, nowMs) }
      }
      case 'events':
        return companyEvents(shareClass, { classes, dividends }, { today, nowMs })
      case 'performance':
        return latestPerformance(shareClass, classes, { today, nowMs })
    }
  }

  const history = (query: HistoryQuery, shareClass: ShareClass): Answer => {
    const records = datedHistory(query.resource, shareClass).filter(({ date }) => {
      const dateMs = Date.parse(date)
      return (query.fromMs ?? dateMs) <= dateMs && dateMs <= (query.toMs ?? dateMs)
    })
    const { pageSize, pageNumber } = query
    return listPage(
      pageOf(records, pageSize, pageNumber).map(({ record }) => JSON.stringify(record)),
      classicPaging({ pageSize, pageNumber, itemTotal: records.length }, undefined),
      [],
    )
  }

  /** Records with the day that date filters look at. */
  const datedHistory = (
    resource: HistoryQuery['resource'],
    shareClass: ShareClass,
  ): { date: string; record: object }[] => {
    const nowMs = market.now()
    switch (resource) {
      case 'nav':
        return navs.history(shareClass, nowMs).map((record) => ({ date: record.asOf, record }))
      case 'buybacks':
        return buybacks.history(shareClass, nowMs).map((record) => ({ date: record.date, record }))
      case 'dividends':
        return dividends
          .history(shareClass, nowMs)
          .map((record) => ({ date: record.declarationDate, record }))
    }
  }

  return {
    answer(query) {
      if (query.kind === 'navs') return navList(query)
      const shareClass = classes.find(query.instrument)
      if (shareClass === null) return notFound('there is no such instrument', UNKNOWN_HINT)
      if (query.kind === 'history') return history(query, shareClass)
      const found = single(query.resource, shareClass)
      if (found === null) return notFound(...missing[query.resource])
      return { status: 200, body: JSON.stringify({ data: found }), violation: null }
    },
  }
}

const UNKNOWN_HINT =
  'Use the ISIN, the symbol or XLON:<symbol> of an issuer of this market; GET /nav lists those with a NAV.'

/** Why an instrument that exists has nothing to say. */
const missing: Readonly<Record<SingleQuery['resource'], readonly [message: string, hint: string]>> = {
  nav: ['no NAV is published for this instrument', 'GET /nav lists the instruments that have one.'],
  buybacks: ['no repurchase of this instrument in the last year', 'Its history may hold earlier ones.'],
  dividends: ['no dividend was ever declared on this instrument', 'GET /events tells of its company.'],
  events: ['there are no events of this company', 'GET /nav lists the instruments that have a NAV.'],
  performance: [
    'the issuer states no returns of this instrument',
    'GET /nav/{identifier}/history has its NAVs.',
  ],
}

function notFound(message: string, hint: string): Answer {
  return refusedAnswer({ status: 404, violation: 'not_found', message, hint })
}

function pageOf<T>(records: readonly T[], pageSize: number, pageNumber: number): T[] {
  return records.slice((pageNumber - 1) * pageSize, pageNumber * pageSize)
}

/** The place behind a cursor of `/nav`, or null where it is none. */
function readNavCursor(text: string): Place | null {
  try {
    const place = readPlaceCursor(text)
    return isIsin(place.key) ? place : null
  } catch (error) {
    if (isBridgeError(error, 'cursor_invalid')) return null
    throw error
  }
}
