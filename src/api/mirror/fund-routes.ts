/**
 * Serves the nine fund paths of the upstream API (specification §4.4); a malformed request never reaches the source.
 */

import { type PlanName, planIncludes } from '../../core/plans.ts'
import { anyObject } from '../../http/schemas/json-schema.ts'
import { refusedAnswer } from './answer.ts'
import {
  type FundHistory,
  type FundQuery,
  type FundSingle,
  type FundSource,
  fundHistories,
  fundSingles,
  type HistoryQuery,
  type NavsQuery,
} from './fund-source.ts'
import { type InstrumentIdentifier, readIdentifier } from './instrument-identifier.ts'
import { readPageSize, readPaging, withinPlan } from './paging.ts'
import { type Read, read, readDate, readList, unreadable } from './parameters.ts'
import { FUNDS_PLAN } from './plans.ts'
import type { Refusal } from './refusal.ts'
import type { MirrorRequest, MirrorRoute } from './route.ts'
import { historyParameters, navsParameters } from './self-description.ts'

const singleSummaries: Readonly<Record<FundSingle, string>> = {
  nav: 'The latest NAV of one instrument.',
  buybacks: 'What repurchases have done for the NAV over a period.',
  dividends: 'The latest declared dividend and the next projected dates.',
  events: 'Results, meetings and dividend dates of the company.',
  performance: 'Returns as the issuer states them.',
}
const historySummaries: Readonly<Record<FundHistory, string>> = {
  nav: 'The NAVs of one instrument over time.',
  buybacks: 'Every announced repurchase.',
  dividends: 'Every declared dividend.',
}

type ReadQuery = (request: MirrorRequest, plan: PlanName) => Read<FundQuery>

/** Builds the nine fund routes over a source. A malformed request never reaches the source. */
export function fundRoutes(source: FundSource): MirrorRoute[] {
  const route = (
    path: string,
    { summary, parameters }: Pick<MirrorRoute, 'summary' | 'parameters'>,
    readQuery: ReadQuery,
  ): MirrorRoute => ({
    path,
    summary,
    parameters,
    schema: anyObject,
    refusals: source.refusals ?? {},
    key: 'required',
    answer(request, { plan }) {
      if (!planIncludes(plan, FUNDS_PLAN)) return refusedAnswer(planRequired(plan))
      const query = readQuery(request, plan)
      return query.ok ? source.answer(query.value, request.target) : refusedAnswer(query.refusal)
    },
  })
  return [
    route('/nav', { summary: 'The latest NAVs.', parameters: navsParameters }, ({ params }, plan) =>
      readNavs(params, plan),
    ),
    ...fundSingles.map((resource) =>
      route(`/${resource}/:identifier`, { summary: singleSummaries[resource], parameters: {} }, (request) => {
        const instrument = readIdentifier(request.segment('identifier'))
        return instrument.ok ? read({ kind: 'single', resource, instrument: instrument.value }) : instrument
      }),
    ),
    ...fundHistories.map((resource) =>
      route(
        `/${resource}/:identifier/history`,
        { summary: historySummaries[resource], parameters: historyParameters },
        (request, plan) => {
          const instrument = readIdentifier(request.segment('identifier'))
          return instrument.ok ? readHistory(request.params, plan, resource, instrument.value) : instrument
        },
      ),
    ),
  ]
}

function planRequired(plan: PlanName): Refusal {
  return {
    status: 403,
    violation: 'plan_required',
    message: `the plan "${plan}" has no fund and investor-relations data`,
    hint: `Use the plan "${FUNDS_PLAN}" or above.`,
  }
}

function readNavs(params: URLSearchParams, plan: PlanName): Read<FundQuery> {
  const paging = readPaging(params)
  if (!paging.ok) return paging
  const pageSize = withinPlan(readPageSize(params), plan)
  if (!pageSize.ok) return pageSize
  const isins = readList(params, 'isins', 'isin')
  if (!isins.ok) return isins
  const { values, warning } = isins.value
  for (const isin of values ?? []) {
    const checked = readIdentifier(isin)
    if (!checked.ok) return checked
    if (checked.value.kind !== 'isin') return unreadable(`"${isin}" is no ISIN`, 'isins takes ISINs only.')
  }
  const asked = paging.value
  if (asked.mode === 'cursor' && asked.pageCursor !== null) return notPagedBy('pageCursor')
  const query: NavsQuery = {
    kind: 'navs',
    isins: values,
    pageSize: pageSize.value,
    paging: asked.mode === 'cursor' ? { mode: 'number', pageNumber: 1 } : asked,
    warnings: warning === null ? [] : [warning],
  }
  return read(query)
}

function readHistory(
  params: URLSearchParams,
  plan: PlanName,
  resource: HistoryQuery['resource'],
  instrument: InstrumentIdentifier,
): Read<FundQuery> {
  const paging = readPaging(params)
  if (!paging.ok) return paging
  const pageSize = withinPlan(readPageSize(params), plan)
  if (!pageSize.ok) return pageSize
  const dateFrom = readDate(params, 'dateFrom')
  if (!dateFrom.ok) return dateFrom
  const dateTo = readDate(params, 'dateTo')
  if (!dateTo.ok) return dateTo
  if (paging.value.mode === 'since') return notPagedBy('sinceCursor')
  if (paging.value.mode === 'cursor' && paging.value.pageCursor !== null) return notPagedBy('pageCursor')
  return read({
    kind: 'history',
    resource,
    instrument,
    fromMs: dateFrom.value?.fromMs ?? null,
    toMs: dateTo.value?.toMs ?? null,
    pageSize: pageSize.value,
    pageNumber: paging.value.mode === 'number' ? paging.value.pageNumber : 1,
  })
}

/** Ignoring it would show the first page for ever. */
function notPagedBy(parameter: string): { ok: false; refusal: Refusal } {
  return unreadable(`this list is not paged by ${parameter}`, `Leave ${parameter} out and send pageNumber.`)
}
