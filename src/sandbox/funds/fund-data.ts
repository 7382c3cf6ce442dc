/**
 * Answers requests for fund and investor-relations data of the sandbox's invented market. It implements `FundSource`,
 * from which the fund routes in `api/mirror` take their data.
 */
import type { FundSource, HistoryQuery, SingleQuery } from '../../api/mirror/fund-routes.ts'
import { classicPaging, listPage } from '../../api/mirror/paging.ts'
import { MirrorRefusal } from '../../api/mirror/refusal.ts'
import type { Issuers } from '../market/issuers.ts'
import { buybackSummary, repurchases } from './buybacks.ts'
import { dividendsOf } from './dividends.ts'
import { companyEvents } from './events.ts'
import { navListAnswer } from './nav-list.ts'
import { latestNavs, navHistory } from './navs.ts'
import { latestPerformance } from './performance.ts'
import { createShareClasses, isNamed, type ShareClass, shareClassesAt } from './share-classes.ts'

/** Creates the nine resources for these issuers. `now` returns the market time, ms since 1970. */
export function createFundData(market: { seed: number; issuers: Issuers; now: () => number }): FundSource {
  const ofFirstDay = createShareClasses(market)
  return {
    answer(query) {
      const nowMs = market.now()
      const all = shareClassesAt(ofFirstDay, nowMs)
      if (query.kind === 'navs') return navListAnswer(query, all, nowMs)
      const shareClass = all.find((candidate) => isNamed(candidate, query.instrument))
      if (shareClass === undefined) throw notFound('there is no such instrument', UNKNOWN_HINT)
      if (query.kind === 'history') return historyAnswer(query, histories[query.resource](shareClass, nowMs))
      if (query.resource === 'events') return found(companyEvents(shareClass, all, nowMs))
      const { read, missing } = singles[query.resource]
      const data = read(shareClass, nowMs)
      if (data === null) throw notFound(...missing)
      return found(data)
    },
  }
}

const UNKNOWN_HINT =
  'Use the ISIN, the symbol or XLON:<symbol> of an issuer of this market; GET /nav lists those with a NAV.'

/** A resource that not every instrument has: how it is read (null: there is none), and message and hint of its 404. */
interface Single {
  read: (shareClass: ShareClass, nowMs: number) => object | null
  missing: readonly [message: string, hint: string]
}

const singles: Readonly<Record<Exclude<SingleQuery['resource'], 'events'>, Single>> = {
  nav: {
    read: (shareClass, nowMs) => latestNavs([shareClass], nowMs)[0]?.record() ?? null,
    missing: ['no NAV is published for this instrument', 'GET /nav lists the instruments that have one.'],
  },
  buybacks: {
    read: buybackSummary,
    missing: ['no repurchase of this instrument in the last year', 'Its history may hold earlier ones.'],
  },
  dividends: {
    read(shareClass, nowMs) {
      const { history, projected } = dividendsOf(shareClass, nowMs)
      return history[0] === undefined ? null : { latest: history[0], projected }
    },
    missing: ['no dividend was ever declared on this instrument', 'GET /events lists those of its company.'],
  },
  performance: {
    read: latestPerformance,
    missing: [
      'the issuer states no returns of this instrument',
      'GET /nav/{identifier}/history has its NAVs.',
    ],
  },
}

/** Records, newest first, with the day that date filters apply to. */
type DatedRecords = { date: string; record: object }[]

const histories: Readonly<
  Record<HistoryQuery['resource'], (shareClass: ShareClass, nowMs: number) => DatedRecords>
> = {
  nav: (shareClass, nowMs) => navHistory(shareClass, nowMs).map((record) => ({ date: record.asOf, record })),
  buybacks: (shareClass, nowMs) =>
    repurchases(shareClass, nowMs).map(({ record }) => ({ date: record.date, record })),
  dividends: (shareClass, nowMs) =>
    dividendsOf(shareClass, nowMs).history.map((record) => ({ date: record.declarationDate, record })),
}

function historyAnswer({ fromMs, toMs, pageSize, pageNumber }: HistoryQuery, all: DatedRecords): string {
  const records = all.filter(({ date }) => {
    const dateMs = Date.parse(date)
    return (fromMs ?? dateMs) <= dateMs && dateMs <= (toMs ?? dateMs)
  })
  const page = records.slice((pageNumber - 1) * pageSize, pageNumber * pageSize)
  const paging = classicPaging({ pageSize, pageNumber, itemTotal: records.length })
  return listPage(
    page.map(({ record }) => JSON.stringify(record)),
    paging,
  )
}

function found(data: object): string {
  return JSON.stringify({ data })
}

function notFound(message: string, hint: string): MirrorRefusal {
  return new MirrorRefusal(404, 'not_found', message, hint)
}
