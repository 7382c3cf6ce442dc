/**
 * Serves the sandbox's public API, which imitates the upstream: checks key, limits and faults, then passes the request
 * to the routes of `api/mirror`.
 */
import express, { type Express, type Request, type Response } from 'express'
import { type FundSource, fundRoutes } from '../api/mirror/fund-routes.ts'
import { itemRoutes } from '../api/mirror/item-routes.ts'
import type { ItemStore } from '../api/mirror/item-store.ts'
import { referenceRoutes } from '../api/mirror/reference-routes.ts'
import type { Violation } from '../api/mirror/refusal.ts'
import { mirrorRouter, queryOf } from '../api/mirror/router.ts'
import { descriptionRoute, upstreamDocument } from '../api/openapi/upstream-document.ts'
import type { PlanName } from '../core/plans.ts'
import { DESCRIPTION_PATH } from '../core/upstream-paths.ts'
import { checkUrlLength, headersProblem } from '../http/limits.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { type DocumentsOptions, documentsRouter } from './documents-router.ts'
import {
  answerInPlace,
  answerTooManyRequests,
  type FaultSetting,
  isUncounted,
  sendCorrupted,
} from './faults/fault-kinds.ts'
import type { Faults } from './faults/faults.ts'
import type { Limits } from './limits.ts'
import { createExchanges } from './market/exchanges.ts'
import { withoutFilters } from './store/item-store.ts'
import type { Counts } from './usage.ts'

/** Path prefix of documents on the public listener. */
export const DOCUMENTS_PATH = '/documents'

/** Parts of the public API. */
export interface UpstreamOptions extends DocumentsOptions {
  funds: FundSource
  limits: Limits
  counts: Counts
  faults: Faults
  key: string
  plan: PlanName
  nativeWord: string
  clock: Clock
}

/** Creates the app that serves `/v2`, `/documents` and `/openapi.json`. */
export function upstreamApp(options: UpstreamOptions): Express {
  const { market, limits, counts, faults, clock } = options
  /** Faults that corrupt the body of a response in progress. */
  const corrupting = new WeakMap<Response, FaultSetting>()
  const hasKey = (request: Request): boolean => request.get('x-api-key') === options.key
  const mirror = {
    check(request: Request) {
      const problem = headersProblem(request)
      if (problem !== null) throw problem
      checkUrlLength(request.originalUrl)
    },
    authenticate: (request: Request) => (hasKey(request) ? { plan: options.plan } : null),
    onRefused(violation: Violation) {
      counts.refused[violation] += 1
    },
    deliver(response: Response, body: string) {
      const fault = corrupting.get(response)
      if (fault === undefined) response.end(body)
      else sendCorrupted(fault.kind, { response, body, fault, params: queryOf(response.req), clock })
    },
  }
  const references = referenceRoutes(createExchanges())
  const routesOver = (store: ItemStore) => {
    const routes = [
      ...itemRoutes({ store, now: () => market.nowMs(), nativeWord: options.nativeWord }),
      ...references,
      ...fundRoutes(options.funds),
    ]
    return [...routes, descriptionRoute(routes)]
  }
  const routes = routesOver(market.items)
  const filtering = mirrorRouter({ ...mirror, routes })
  const ignoringFilters = mirrorRouter({ ...mirror, routes: routesOver(withoutFilters(market.items)) })

  const app = express()
  app.disable('x-powered-by')
  app.use(DOCUMENTS_PATH, documentsRouter(options))
  app.get(DESCRIPTION_PATH, (_request, response) => void response.json(upstreamDocument(routes)))
  app.use('/v2', (request, response, next) => {
    market.advance()
    counts.requests += 1
    response.set('date', new Date(market.nowMs()).toUTCString())
    // Open routes need no key; a key that is sent anyway is ignored and costs no unit.
    const needsKey = !request.path.startsWith('/references/') && request.path !== DESCRIPTION_PATH
    const takesUnit = needsKey && hasKey(request)
    const verdict = takesUnit ? limits.take(clock.now()) : 'ok'
    if (verdict !== 'ok') {
      counts[verdict === 'quota' ? 'quotaRefused' : 'throttled'] += 1
      answerTooManyRequests(response)
      return
    }
    const fault = faults.meet({
      url: request.originalUrl,
      params: queryOf(request),
      isList: request.path.endsWith('/items'),
      needsKey,
    })
    if (fault === null) {
      filtering(request, response, next)
      return
    }
    counts.faults[fault.kind] += 1
    if (isUncounted(fault) && takesUnit) limits.giveBack()
    if (answerInPlace(fault, response)) return
    corrupting.set(response, fault)
    if (fault.kind === 'ignore-filters') ignoringFilters(request, response, next)
    else filtering(request, response, next)
  })
  return app
}
