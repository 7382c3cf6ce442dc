/**
 * Serves the upstream API's nine paths for fund data (specification §4.4) from a given source. The source is the
 * sandbox's invented funds, or the bridge's gateway to the upstream. A wrong parameter never reaches it, nor an identifier
 * that is unsafe in a path.
 */
import { ISIN_SHAPE } from '../../core/check-digits.ts'
import { type PlanName, planIncludes } from '../../core/plans.ts'
import { anyObject } from '../../http/schemas/json-schema.ts'
import { isFundIdentifier } from '../../upstream/fund-target.ts'
import { type Browsing, readPageSize, readPaging } from './paging.ts'
import { readDate, readList, wrongParameter } from './parameters.ts'
import { MirrorRefusal } from './refusal.ts'
import type { MirrorRequest, MirrorRoute } from './route.ts'
import { historyParameters, navsParameters } from './self-description.ts'

/** Resources of one instrument that have no pages, with what the docs say of them. */
const singles = {
  nav: 'The latest NAV of one instrument.',
  buybacks: 'What repurchases have done for the NAV over a period.',
  dividends: 'The latest declared dividend and the next projected dates.',
  events: 'Results, meetings and dividend dates of the company.',
  performance: 'Returns as the issuer states them.',
}
/** Resources of one instrument that have a history, newest first. */
const histories = {
  nav: 'The NAVs of one instrument over time.',
  buybacks: 'Every announced repurchase.',
  dividends: 'Every declared dividend.',
}

/** The 404 of a path of one instrument. */
const NOT_FOUND =
  'There is no instrument of that ISIN, symbol or `<MIC>:<symbol>`, or nothing of this kind is published of it.'

/** The smallest plan that has the fund and investor-relations paths (specification §4.4). */
const FUNDS_PLAN: PlanName = 'advanced'

/** The instrument that a request names, which may not exist; `mic` is null for a bare symbol. */
export type InstrumentIdentifier =
  | { kind: 'isin'; isin: string }
  | { kind: 'symbol'; mic: string | null; symbol: string }

/** The latest NAVs, or those announced after a cursor. */
export interface NavsQuery {
  kind: 'navs'
  /** null = of every instrument. Never empty. */
  isins: readonly string[] | null
  pageSize: number
  paging: { mode: 'number'; pageNumber: number } | { mode: 'since'; sinceCursor: string }
  warnings: string[]
}

/** The present value of one resource of one instrument. */
export interface SingleQuery {
  kind: 'single'
  resource: keyof typeof singles
  instrument: InstrumentIdentifier
}

/** The history of one resource of one instrument. Bounds are ms since 1970, inclusive; null = none. */
export interface HistoryQuery {
  kind: 'history'
  resource: keyof typeof histories
  instrument: InstrumentIdentifier
  fromMs: number | null
  toMs: number | null
  pageSize: number
  pageNumber: number
}

/** A parsed and validated request to one of the nine paths. */
export type FundQuery = NavsQuery | SingleQuery | HistoryQuery

/**
 * Answers fund requests with JSON text: the sandbox's funds or the fund gateway. Bodies are untyped, because the upstream
 * does not publish their schemas.
 */
export interface FundSource {
  /** Statuses of refusals with their meanings, as in `MirrorRoute`. */
  readonly refusals?: Readonly<Record<number, string>>
  /** `target` is the path below the base address with its query, as sent. May throw MirrorRefusal. */
  answer(query: FundQuery, target: string): string | Promise<string>
}

/** Builds the nine fund routes over a source. */
export function fundRoutes(source: FundSource): MirrorRoute[] {
  const route = (
    path: string,
    { summary, parameters }: Pick<MirrorRoute, 'summary' | 'parameters'>,
    readQuery: (request: MirrorRequest, plan: PlanName) => FundQuery,
  ): MirrorRoute => ({
    path,
    summary,
    parameters,
    schema: anyObject,
    refusals: { ...(path.includes(':') && { 404: NOT_FOUND }), ...source.refusals },
    key: 'required',
    answer(request, { plan }) {
      if (!planIncludes(plan, FUNDS_PLAN)) throw planRequired(plan)
      return source.answer(readQuery(request, plan), request.target)
    },
  })
  return [
    route('/nav', { summary: 'The latest NAVs.', parameters: navsParameters }, ({ params }, plan) =>
      readNavs(params, plan),
    ),
    ...namesOf(singles).map((resource) =>
      route(`/${resource}/:identifier`, { summary: singles[resource], parameters: {} }, (request) => ({
        kind: 'single',
        resource,
        instrument: readIdentifier(request.segment('identifier')),
      })),
    ),
    ...namesOf(histories).map((resource) =>
      route(
        `/${resource}/:identifier/history`,
        { summary: histories[resource], parameters: historyParameters },
        (request, plan) => ({
          kind: 'history',
          resource,
          instrument: readIdentifier(request.segment('identifier')),
          ...readHistory(request.params, plan),
        }),
      ),
    ),
  ]
}

function namesOf<Name extends string>(resources: Record<Name, string>): Name[] {
  return Object.keys(resources) as Name[]
}

function planRequired(plan: PlanName): MirrorRefusal {
  return new MirrorRefusal(
    403,
    'plan_required',
    `the plan "${plan}" has no fund and investor-relations data`,
    `Use the plan "${FUNDS_PLAN}" or above.`,
  )
}

function readNavs(params: URLSearchParams, plan: PlanName): NavsQuery {
  const paging = readPaging(params)
  const pageSize = readPageSize(params, plan)
  const warnings: string[] = []
  const isins = readList(params, 'isins', 'isin', warnings)
  for (const isin of isins ?? []) {
    if (!ISIN_SHAPE.test(isin)) {
      throw wrongParameter(`"${isin.slice(0, 40)}" is no ISIN`, 'isins takes ISINs only, in capitals.')
    }
  }
  if (paging.mode === 'since') return { kind: 'navs', isins, pageSize, paging, warnings }
  const pageNumber = readPageNumber(paging)
  return { kind: 'navs', isins, pageSize, paging: { mode: 'number', pageNumber }, warnings }
}

function readHistory(params: URLSearchParams, plan: PlanName) {
  const paging = readPaging(params)
  const pageSize = readPageSize(params, plan)
  const fromMs = readDate(params, 'dateFrom')?.fromMs ?? null
  const toMs = readDate(params, 'dateTo')?.toMs ?? null
  if (paging.mode === 'since') throw notPagedBy('sinceCursor')
  return { fromMs, toMs, pageSize, pageNumber: readPageNumber(paging) }
}

/** The number of the page, from 1. A page cursor is refused: ignoring it would show the first page for ever. */
function readPageNumber(paging: Browsing): number {
  if (paging.mode === 'number') return paging.pageNumber
  if (paging.pageCursor !== null) throw notPagedBy('pageCursor')
  return 1
}

function notPagedBy(parameter: string): MirrorRefusal {
  return wrongParameter(
    `this list is not paged by ${parameter}`,
    `Leave ${parameter} out and send pageNumber.`,
  )
}

/** Parses a decoded segment by its form only: whether there is such an instrument is for the source to say. */
function readIdentifier(text: string): InstrumentIdentifier {
  if (!isFundIdentifier(text)) {
    throw new MirrorRefusal(
      404,
      'not_found',
      'there is no such instrument',
      'Use an ISIN, a symbol, or <MIC>:<symbol> such as XLON:ABC, in capitals.',
    )
  }
  if (ISIN_SHAPE.test(text)) return { kind: 'isin', isin: text }
  const colon = text.indexOf(':')
  const mic = colon === -1 ? null : text.slice(0, colon)
  return { kind: 'symbol', mic, symbol: text.slice(colon + 1) }
}
