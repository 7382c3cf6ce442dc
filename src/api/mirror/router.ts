/**
 * The upstream API as an Express router: authentication, routes, methods, error bodies. Owns the HTTP side only; whoever
 * mounts it gives the base path, the item store and the meaning of a key.
 */
import express, { type ErrorRequestHandler, type Request, type Response, type Router } from 'express'
import type { PlanName } from '../../core/plans.ts'
import { type Answer, itemAnswer, listAnswer, refusedAnswer } from './answer.ts'
import type { ItemStore } from './item-store.ts'
import { type ListContext, readListQuery } from './list-query.ts'
import { errorBody, type Violation } from './refusal.ts'

/** Who asks, as far as the API cares. */
export interface Caller {
  plan: PlanName
}

export interface MirrorOptions {
  store: ItemStore
  /** The caller behind a request, or null where its key is missing or wrong. */
  authenticate: (request: Request) => Caller | null | Promise<Caller | null>
  /** The server's present moment, ms since 1970. */
  now: () => number
  nativeWord?: string
  unknownParameters?: ListContext['unknownParameters']
  channel?: ListContext['channel']
  /** Sends a finished body whose status and headers are set; the sandbox's faults spoil it here. Default: as it is. */
  deliver?: (response: Response, body: string) => void
  /** Told about every refused request. */
  onRefused?: (violation: Violation) => void
  /** Told about a fault on our side; the caller sees a bare 500. */
  onFault?: (error: unknown) => void
}

const ITEMS = '/disclosures/sources/rns/items'

/** Routes of specification §4.1 and §4.2. Anything else under the mount point answers 404. */
export function mirrorRouter(options: MirrorOptions): Router {
  const router = express.Router({ caseSensitive: true })
  const deliver = options.deliver ?? ((response, body) => void response.end(body))
  const send = (response: Response, answer: Answer): void => {
    if (answer.violation !== null) options.onRefused?.(answer.violation)
    deliver(response.status(answer.status).type('application/json'), answer.body)
  }
  /** Answers for a caller with a valid key, and refuses everybody else. */
  const forCaller =
    (answerFor: (request: Request, caller: Caller) => Promise<Answer>) =>
    async (request: Request, response: Response): Promise<void> => {
      const caller = await options.authenticate(request)
      send(response, caller === null ? refusedAnswer(unauthorised) : await answerFor(request, caller))
    }

  const list = forCaller(async (request, caller) => {
    const query = readListQuery(queryOf(request), {
      plan: caller.plan,
      nowMs: options.now(),
      nativeWord: options.nativeWord ?? 'native',
      unknownParameters: options.unknownParameters ?? 'ignore',
      channel: options.channel ?? 'serve',
    })
    return query.ok ? listAnswer(options.store, query.value) : refusedAnswer(query.refusal)
  })
  const item = forCaller((request) => itemAnswer(options.store, String(request.params.identifier)))
  const wrongMethod = (_request: Request, response: Response): void => {
    response.set('allow', 'GET, HEAD')
    send(response, refusedAnswer(methodNotAllowed))
  }

  router.route(ITEMS).get(list).all(wrongMethod)
  router.route(`${ITEMS}/:identifier`).get(item).all(wrongMethod)
  router.use((_request, response) => send(response, refusedAnswer(noSuchPath)))
  router.use(errorAnswers(options))
  return router
}

/** The query string as it was sent; repeated names stay repeated. */
export function queryOf(request: { originalUrl: string }): URLSearchParams {
  const start = request.originalUrl.indexOf('?')
  return new URLSearchParams(start === -1 ? '' : request.originalUrl.slice(start + 1))
}

/** A path that cannot be decoded is the caller's, answered 400; everything else is ours, answered 500. */
function errorAnswers(options: MirrorOptions): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) {
      next(error)
      return
    }
    const ours = !(error instanceof URIError)
    if (ours) options.onFault?.(error)
    else options.onRefused?.('parameter_invalid')
    const body = ours ? errorBody('the server failed') : errorBody('the path cannot be decoded')
    response
      .status(ours ? 500 : 400)
      .type('application/json')
      .end(body)
  }
}

const unauthorised = {
  status: 401,
  violation: 'unauthorised',
  message: 'the API key is missing or not valid',
  hint: 'Send your key in the request header x-api-key.',
} as const

const methodNotAllowed = {
  status: 405,
  violation: 'method_not_allowed',
  message: 'this resource can only be read',
  hint: 'Use GET.',
} as const

const noSuchPath = {
  status: 404,
  violation: 'not_found',
  message: 'there is no such resource',
  hint: `Items are listed at ${ITEMS} below the base address.`,
} as const
