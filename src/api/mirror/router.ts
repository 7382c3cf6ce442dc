/**
 * Serves the mirrored upstream API through an Express router: authentication, methods, responses and error bodies.
 */

import express, { type ErrorRequestHandler, type Request, type Response, type Router } from 'express'
import { ITEMS_PATH } from '../../core/upstream-paths.ts'
import { type HttpProblem, type ProblemCode, problemCodes, problemOf } from '../../http/problem.ts'
import { type MirrorAnswer, refusedAnswer } from './answer.ts'
import { unknownWarnings } from './parameters.ts'
import { errorBody, type Violation } from './refusal.ts'
import type { MirrorCaller, MirrorRequest, MirrorRoute } from './route.ts'
import { warned } from './warned.ts'

export interface MirrorOptions {
  routes: readonly MirrorRoute[]
  /** Upstream ignores unknown parameters silently, which is the default; the bridge's own `/v2` warns about them. */
  unknownParameters?: 'ignore' | 'warn'
  /** Checks a request first of all; throws HttpProblem to refuse it. */
  check?: (request: Request) => void | Promise<void>
  /** The caller behind a request, or null where its key is missing or wrong. May throw HttpProblem. */
  authenticate: (request: Request) => MirrorCaller | null | Promise<MirrorCaller | null>
  /** Sends the body once status and headers are set; the sandbox injects its faults here. Default: unchanged. */
  deliver?: (response: Response, body: string) => void
  /** Called for every refused request. */
  onRefused?: (violation: Violation) => void
  /** Called for every internal error; the client gets a 500 without details. */
  onFault?: (error: unknown, request: Request) => void
}

/** Builds the router; anything else under the mount point answers 404. */
export function mirrorRouter(options: MirrorOptions): Router {
  const router = express.Router({ caseSensitive: true })
  const deliver = options.deliver ?? ((response, body) => void response.end(body))
  const send = (response: Response, answer: MirrorAnswer): void => {
    if (answer.violation !== null) options.onRefused?.(answer.violation)
    if (answer.retryAfterSeconds !== undefined) response.set('retry-after', String(answer.retryAfterSeconds))
    deliver(response.status(answer.status).type('application/json'), answer.body)
  }
  const answerTo = async (
    route: MirrorRoute,
    request: Request,
    response: Response,
  ): Promise<MirrorAnswer> => {
    if (route.key === 'none') return route.answer(mirrorRequest(request, response))
    const caller = await options.authenticate(request)
    return caller === null
      ? refusedAnswer(unauthorised)
      : route.answer(mirrorRequest(request, response), caller)
  }
  const warningsFor = ({ parameters }: MirrorRoute, request: Request): string[] =>
    options.unknownParameters === 'warn' ? unknownWarnings(queryOf(request), Object.keys(parameters)) : []
  router.use(async (request, _response, next) => {
    await options.check?.(request)
    next()
  })
  for (const route of options.routes) {
    router
      .route(route.path)
      .get(async (request, response) => {
        const answer = await answerTo(route, request, response)
        send(response, warned(answer, warningsFor(route, request)))
      })
      .all((_request, response) => {
        response.set('allow', 'GET, HEAD')
        send(response, refusedAnswer(methodNotAllowed))
      })
  }
  router.use((_request, response) => send(response, refusedAnswer(noSuchPath)))
  router.use(errorAnswers(options))
  return router
}

/** Parses the query string as sent; repeated names stay repeated. */
export function queryOf(request: { originalUrl: string }): URLSearchParams {
  const start = request.originalUrl.indexOf('?')
  return new URLSearchParams(start === -1 ? '' : request.originalUrl.slice(start + 1))
}

function mirrorRequest(request: Request, response: Response): MirrorRequest {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  return {
    target: request.url,
    params: queryOf(request),
    segment: (name) => String(request.params[name]),
    gone: gone.signal,
  }
}

/**
 * Turns errors into responses: an HttpProblem into its status, a path that cannot be decoded into 400, anything else
 * into 500.
 */
function errorAnswers(options: MirrorOptions): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) {
      next(error)
      return
    }
    const problem = problemOf(error)
    response.type('application/json')
    if (problem !== null) {
      sendProblem(response, problem)
    } else if (error instanceof URIError) {
      options.onRefused?.('parameter_invalid')
      response.status(400).end(errorBody('the path cannot be decoded', 'Percent-encode it as UTF-8.'))
    } else {
      options.onFault?.(error, request)
      response.status(500).end(errorBody('the server failed'))
    }
  }
}

function sendProblem(response: Response, problem: HttpProblem): void {
  const [status, , remedy] = problemCodes[problem.code]
  response
    .status(status)
    .set({ ...problem.parts.headers })
    .end(errorBody(problem.message, hints[problem.code] ?? remedy))
}

/** Hints that replace the remedy of a problem where it names members that the upstream's error body does not have. */
const hints: Partial<Record<ProblemCode, string>> = {
  forbidden: 'Send a key that may do this in the request header x-api-key.',
  body_too_large: 'Send no body with this request.',
}

/** The refusal of a request without a valid key. */
export const unauthorised = {
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
  hint: `Items are listed at ${ITEMS_PATH} below the base address.`,
} as const
