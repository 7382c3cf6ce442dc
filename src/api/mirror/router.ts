/**
 * Builds the Express router that serves the mirrored upstream API: authentication, methods, responses, warnings and
 * error bodies. The bridge's `/v2` and the sandbox both use it.
 */
import express, { type ErrorRequestHandler, type Request, type Response, type Router } from 'express'
import { ITEMS_PATH } from '../../core/upstream-paths.ts'
import { endAnswer } from '../../http/end-answer.ts'
import { problemOf } from '../../http/problem.ts'
import { findMember } from '../../upstream/split-items.ts'
import { unknownWarnings } from './parameters.ts'
import { errorBody, MirrorRefusal, problemBody, unauthorised, type Violation } from './refusal.ts'
import type { MirrorCaller, MirrorRequest, MirrorRoute } from './route.ts'

/** How a mirror is served. */
export interface MirrorOptions {
  routes: readonly MirrorRoute[]
  /** Upstream ignores unknown parameters silently, which is the default; the bridge's own `/v2` warns about them. */
  unknownParameters?: 'ignore' | 'warn'
  /** Checks a request first of all; throws HttpProblem to refuse it. */
  check?: (request: Request, response: Response) => void | Promise<void>
  /** The caller behind a request, or null where its key is missing or wrong. May throw HttpProblem. */
  authenticate: (request: Request, response: Response) => MirrorCaller | null | Promise<MirrorCaller | null>
  /** Sends the body once status and headers are set; the sandbox injects its faults here. Default: `endAnswer`. */
  deliver?: (response: Response, body: string) => void
  /** Called for every refused request. */
  onRefused?: (violation: Violation) => void
  /** Called for every internal error; the client gets a 500 without details. */
  onFault?: (error: unknown, request: Request) => void
}

/** Builds the router; anything else under the mount point answers 404. */
export function mirrorRouter(options: MirrorOptions): Router {
  const { check, deliver = (response, body) => endAnswer(response.req, response, body) } = options
  const router = express.Router({ caseSensitive: true })
  router.use(async (request, response, next) => {
    await check?.(request, response)
    next()
  })
  for (const route of options.routes) {
    router
      .route(route.path)
      .get(async (request, response) => {
        const body = await answerTo(route, request, response, options)
        const warnings =
          options.unknownParameters === 'warn'
            ? unknownWarnings(queryOf(request), Object.keys(route.parameters))
            : []
        deliver(response.type('application/json'), warned(body, warnings))
      })
      .all((_request, response) => {
        response.set('allow', 'GET, HEAD')
        throw new MirrorRefusal(405, 'method_not_allowed', 'this resource can only be read', 'Use GET.')
      })
  }
  router.use(() => {
    const hint = `Items are listed at ${ITEMS_PATH} below the base address.`
    throw new MirrorRefusal(404, 'not_found', 'there is no such resource', hint)
  })
  router.use(errorAnswers(options, deliver))
  return router
}

/** Parses the query string as sent; repeated names stay repeated. */
export function queryOf(request: { originalUrl: string }): URLSearchParams {
  return new URLSearchParams(queryTextOf(request))
}

/** The query string as sent, with its question mark; empty where there is none. */
function queryTextOf({ originalUrl }: { originalUrl: string }): string {
  const start = originalUrl.indexOf('?')
  return start === -1 ? '' : originalUrl.slice(start)
}

async function answerTo(
  route: MirrorRoute,
  request: Request,
  response: Response,
  { authenticate }: MirrorOptions,
): Promise<string> {
  if (route.key === 'none') return route.answer(mirrorRequest(request, response))
  const caller = await authenticate(request, response)
  if (caller === null) throw unauthorised()
  return route.answer(mirrorRequest(request, response), caller)
}

function mirrorRequest(request: Request, response: Response): MirrorRequest {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  return {
    // The address itself may also have a host or a fragment.
    target: request.path + queryTextOf(request),
    params: queryOf(request),
    segment: (name) => `${request.params[name]}`,
    gone: gone.signal,
  }
}

/**
 * Appends warnings to the top-level list `warnings` of a JSON text, which is not re-encoded. Leaves a body unchanged that is
 * not an object or whose own `warnings` is not a list. The body must be valid JSON.
 */
export function warned(body: string, warnings: readonly string[]): string {
  if (warnings.length === 0 || !body.trimStart().startsWith('{')) return body
  const entries = warnings.map((warning) => JSON.stringify(warning)).join(',')
  const own = findMember(body, 'warnings')
  if (own === null) return withLast(body, body.lastIndexOf('}'), '{', `"warnings":[${entries}]`)
  return body[own.start] === '[' ? withLast(body, own.end - 1, '[', entries) : body
}

/** Inserts one more entry before the bracket at `end`, in the object or list that `opening` begins. */
function withLast(body: string, end: number, opening: '{' | '[', entry: string): string {
  const before = body.slice(0, end).trimEnd()
  const comma = before.endsWith(opening) ? '' : ','
  return `${before}${comma}${entry}${body.slice(end)}`
}

/**
 * Turns errors into responses: a refusal and an HttpProblem into their status, a path that cannot be decoded into 400,
 * anything else into 500.
 */
function errorAnswers(
  options: MirrorOptions,
  deliver: (response: Response, body: string) => void,
): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) {
      next(error)
      return
    }
    const problem = problemOf(error)
    response.type('application/json')
    if (error instanceof MirrorRefusal) {
      options.onRefused?.(error.violation)
      if (error.retryAfterSeconds !== null) response.set('retry-after', error.retryAfterSeconds.toString())
      deliver(response.status(error.status), error.body)
    } else if (problem !== null) {
      const { headers } = problem.parts
      endAnswer(request, response.status(problem.status).set({ ...headers }), problemBody(problem))
    } else if (error instanceof URIError) {
      options.onRefused?.('parameter_invalid')
      const body = errorBody('the path cannot be decoded', 'Percent-encode it as UTF-8.')
      endAnswer(request, response.status(400), body)
    } else {
      options.onFault?.(error, request)
      endAnswer(request, response.status(500), errorBody('the server failed'))
    }
  }
}
