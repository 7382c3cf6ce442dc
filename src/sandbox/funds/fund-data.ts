/**
 * Answers requests for fund and investor-relations data of the synthetic market (a `FundSource`).
 */
import type { FundSource, HistoryQuery, SingleQuery } from '../../api/mirror/fund-routes.ts'
import { classicPaging, listPage } from '../../api/mirror/paging.ts'
import { MirrorRefusal } from '../../api/mirror/refusal.ts'
import type { Issuers } from '../market/issuers.ts'
import { createBuybacks } from './buybacks.ts'
import { createMarketDays } from './dates.ts'
import { createDividends } from './dividends.ts'
import { companyEvents } from './events.ts'
import { navListAnswer } from './nav-list.ts'
import { createNavs } from './navs.ts'
import { latestPerformance } from './performance.ts'
import { createShareClasses, type ShareClass } from './share-classes.ts'

/** Creates the nine resources for these issuers. `now` returns the market time, ms since 1970. */
export function createFundData(market: { seed: number; issuers: Issuers; now: () => number }): FundSource {
  const classes = createShareClasses(market)
  const days = createMarketDays()
  const navs = createNavs(classes, days)
  const buybacks = createBuybacks(classes, days, navs)
  const dividends = createDividends(classes)

  const present = (): { nowMs: number; today: string } => {
    const nowMs = market.now()
    return { nowMs, today: new Date(nowMs).toISOString().slice(0, 10) }
  }
  /** Returns null if the instrument has no such data. */
  const single = (resource: Optional, shareClass: ShareClass): object | null => {
    const { nowMs, today } = present()
    switch (resource) {
      case 'nav':
        return navs.latest([shareClass], nowMs)[0]?.record() ?? null
      case 'buybacks':
        return buybacks.summary(shareClass, today, nowMs)
      case 'dividends': {
        const [latest] = dividends.history(shareClass, nowMs)
        return latest === undefined ? null : { latest, projected: dividends.projected(shareClass, nowMs) }
      }
      case 'performance':
        return latestPerformance(shareClass, classes, { today, nowMs })
    }
  }

  const history = (query: HistoryQuery, shareClass: ShareClass): string => {
    const records = datedHistory(query.resource, shareClass).filter(({ date }) => {
      const dateMs = Date.parse(date)
      return (query.fromMs ?? dateMs) <= dateMs && dateMs <= (query.toMs ?? dateMs)
    })
    const { pageSize, pageNumber } = query
    const page = records.slice((pageNumber - 1) * pageSize, pageNumber * pageSize)
    return listPage(
      page.map(({ record }) => JSON.stringify(record)),
      classicPaging({ pageSize, pageNumber, itemTotal: records.length }),
    )
  }

  /** Records with the day that date filters apply to. */
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
      if (query.kind === 'navs') return navListAnswer(query, { all: classes.all, navs, nowMs: market.now() })
      const shareClass = classes.find(query.instrument)
      if (shareClass === null) throw notFound('there is no such instrument', UNKNOWN_HINT)
      if (query.kind === 'history') return history(query, shareClass)
      const { resource } = query
      if (resource === 'events') return found(companyEvents(shareClass, { classes, dividends }, present()))
      const data = single(resource, shareClass)
      if (data === null) throw notFound(...missing[resource])
      return found(data)
    },
  }
}

/** Resources that not every instrument has. */
type Optional = Exclude<SingleQuery['resource'], 'events'>

const UNKNOWN_HINT =
  'Use the ISIN, the symbol or XLON:<symbol> of an issuer of this market; GET /nav lists those with a NAV.'

/** Message and hint of the 404 for an existing instrument without such data. */
const missing: Readonly<Record<Optional, readonly [message: string, hint: string]>> = {
  nav: ['no NAV is published for this instrument', 'GET /nav lists the instruments that have one.'],
  buybacks: ['no repurchase of this instrument in the last year', 'Its history may hold earlier ones.'],
  dividends: ['no dividend was ever declared on this instrument', 'GET /events tells of its company.'],
  performance: [
    'the issuer states no returns of this instrument',
    'GET /nav/{identifier}/history has its NAVs.',
  ],
}

function found(data: object): string {
  return JSON.stringify({ data })
}

function notFound(message: string, hint: string): MirrorRefusal {
  return new MirrorRefusal(404, 'not_found', message, hint)
}
