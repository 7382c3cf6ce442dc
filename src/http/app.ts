/**
 * Builds the handler of a listener from routes. It checks a request in this order: path, method, token, what the
 * path names, query encoding, body; then the route handles it. So 401, 403 and 404 come before 400.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express'
import { FILTER_PARAMETERS } from '../core/filter/filter-query.ts'
import { didYouMean } from '../core/near.ts'
import type { Logger } from '../obs/logger.ts'
import { type Audit, changeFor, NO_AUDIT } from './audit/changes.ts'
import {
  type Authenticate,
  bearerHeader,
  bearerToken,
  type Caller,
  callerOf,
  type FindSession,
  requireScope,
  requireUnlocked,
  sessionCaller,
} from './auth.ts'
import { bodyOf } from './body.ts'
import { ReceiveBuffers, type Sender } from './bounds/receive-buffers.ts'
import { endAnswer } from './end-answer.ts'
import { checkUrl, checkUrlLength } from './limits.ts'
import { Query } from './parameters.ts'
import { HttpProblem, NO_PATH, problemAnswer, problemOf } from './problem.ts'
import { RATE_HEADERS, type RateHeaders, type RateLimits } from './rate-limits.ts'
import type { AnyRoute, OpenCall, Route } from './route.ts'

/**
 * What answers below a prefix with its own rules, such as a mirror of another API. It comes before every check of the
 * app: what is wrong with an address, a body or a key is its own to say.
 */
export interface Mount {
  prefix: string
  handler: RequestHandler
}

export interface AppOptions {
  routes: readonly AnyRoute[]
  mounts?: readonly Mount[]
  authenticate: Authenticate
  /** Finds the callers of sessions; absent: cookies are not looked at. */
  findSession?: FindSession
  /** Exact browser origins that may call. */
  corsOrigins: readonly string[]
  /** Rates of requests; absent: no limits. A mount has to ask for its own. */
  rates?: RateLimits
  /** Counts the bodies that are being read; absent: with an account of its own. */
  receiveBuffers?: ReceiveBuffers
  /** Records what routes change; absent: nothing is recorded. */
  audit?: Audit
  logger: Logger
  onRequest?: OnRequest
}

/**
 * Called when a request has reached a route; what it returns is called when the response has ended, with its status, or null
 * where the client left before the response began.
 */
export type OnRequest = (route: AnyRoute) => (status: number | null) => void

/** Express's names of the methods. */
const METHODS = { GET: 'get', POST: 'post', PATCH: 'patch', DELETE: 'delete' } as const
/** Methods that a browser may use across origins below a mount. */
const MOUNTED_METHODS = 'GET, HEAD'
/** Headers that a browser may send and read. */
const CORS_REQUEST_HEADERS =
  'Authorization, X-Api-Key, Last-Event-ID, Content-Type, If-Match, If-None-Match, Idempotency-Key'
const CORS_ANSWER_HEADERS = [
  'Retry-After, Allow, WWW-Authenticate, ETag, Location, Idempotent-Replayed',
  ...RATE_HEADERS,
].join(', ')
const CORS_MAX_AGE_SECONDS = '600'

/**
 * Creates the handler; give it to `listen`. Express finds the routes with a variable part in their path, and what to
 * say where there is no route. The others are found here: most requests, and floods of them, cost half as much so.
 */
export function createApp(given: AppOptions): RequestListener {
  const options = { receiveBuffers: new ReceiveBuffers(), ...given }
  const app = routedApp(options)
  const handlers = new Map<string, { route: AnyRoute; handle: RouteHandler }>()
  for (const route of options.routes.filter(({ path }) => !path.includes('{'))) {
    const handler = { route, handle: callOf(route, options) }
    handlers.set(`${route.method} ${route.path}`, handler)
    if (route.method === 'GET') handlers.set(`HEAD ${route.path}`, handler)
  }
  const allow = allowOrigins(options)
  const refuse = answerErrors(options.logger)
  const serve = async (
    { route, handle }: { route: AnyRoute; handle: RouteHandler },
    request: IncomingMessage,
    response: ServerResponse,
  ) => {
    try {
      addSafetyHeaders(response)
      allow(request, response)
      limitAddress(options.rates, request, response)
      checkAddress(request)
      await handle(request, response, NO_SEGMENTS)
    } catch (error) {
      refuse(reworded(route, request, error, NO_SEGMENTS), request, response)
    }
  }
  return (request, response) => {
    const handler = handlers.get(`${request.method} ${pathOf(request)}`)
    if (handler === undefined) app(request, response)
    else void serve(handler, request, response)
  }
}

/** The options, with an account of the bodies in any case. */
type RoutedOptions = AppOptions & { receiveBuffers: ReceiveBuffers }

function routedApp(options: RoutedOptions): Express {
  const app = bareApp()
  const allow = allowOrigins(options)
  app.use((request, response, next) => {
    if (!allow(request, response)) next()
  })
  for (const { prefix, handler } of options.mounts ?? []) app.use(prefix, handler)
  app.use((request, response, next) => {
    limitAddress(options.rates, request, response)
    checkAddress(request)
    next()
  })
  for (const [path, methods] of methodsByPath(options.routes)) {
    for (const route of options.routes.filter((candidate) => candidate.path === path)) {
      const handler = callOf(route, options)
      app[METHODS[route.method]](patternOf(path), async (request, response) => {
        const segment = (name: string): string => `${request.params[name]}`
        try {
          await handler(request, response, segment)
        } catch (error) {
          throw reworded(route, request, error, segment)
        }
      })
    }
    app.all(patternOf(path), refuseMethod(methods))
  }
  app.use(notFound(options.routes.map(({ path }) => path)))
  app.use(errorHandler(options.logger))
  return app
}

function reworded(
  route: AnyRoute,
  request: IncomingMessage,
  error: unknown,
  segment: OpenCall['segment'],
): unknown {
  return route.reword === undefined ? error : route.reword(request, error, segment)
}

/** An app without any route that says nothing about itself. */
export function bareApp(): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.enable('case sensitive routing')
  app.use((_request, response, next) => {
    addSafetyHeaders(response)
    next()
  })
  return app
}

/** Headers of every answer: a browser must not guess what it is, nor show it as a page. */
function addSafetyHeaders(response: ServerResponse): void {
  response.setHeader('X-Content-Type-Options', 'nosniff')
  response.setHeader('X-Frame-Options', 'DENY')
  response.setHeader('Referrer-Policy', 'no-referrer')
  response.setHeader('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'")
}

/** Counts each request of its address. @throws HttpProblem `rate_limited` where that sends too many */
function limitAddress(
  rates: RateLimits | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  setRateHeaders(response, rates?.takeAddress(request) ?? null)
}

/** Tells the client how many requests it may send; `rates` null: as many as it likes. */
export function setRateHeaders(response: ServerResponse, rates: RateHeaders): void {
  if (rates === null) return
  for (const [name, value] of Object.entries(rates)) response.setHeader(name, value)
}

/** Refuses a request whose address is too long, or whose path is badly encoded. Throws as `checkUrl` does. */
export function checkAddress(request: IncomingMessage): void {
  checkUrlLength(request.url ?? '')
  checkUrl(pathOf(request))
}

/** The address without its query, as it was sent. */
function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}

/** The handler of a path without variable parts has none. */
const NO_SEGMENTS: OpenCall['segment'] = () => ''

/** A path as Express writes it: `:id` for `{id}`. */
function patternOf(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}

/** Whether a URL path matches the route path. */
function fits(path: string, address: string): boolean {
  const [wanted, given] = [path.split('/'), address.split('/')]
  return (
    wanted.length === given.length &&
    wanted.every((part, index) => part === given[index] || (part.startsWith('{') && given[index] !== ''))
  )
}

/** The methods of each path as `Allow` lists them, OPTIONS left out. */
function methodsByPath(routes: readonly AnyRoute[]): Map<string, string> {
  const methods = new Map<string, string>()
  for (const { path, method } of routes) {
    const own = method === 'GET' ? 'GET, HEAD' : method
    const others = methods.get(path)
    methods.set(path, others === undefined ? own : `${others}, ${own}`)
  }
  return methods
}

/** Handles a request of one route, or throws what becomes its answer. */
type RouteHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  segment: OpenCall['segment'],
) => Promise<void>

/** Why the signal `gone` of every call aborts. One for all: to make one costs as much as to refuse a request. */
const GONE: unknown = AbortSignal.abort().reason

/** What the caller of a request is found by, and its rates. */
type Credentials = Pick<AppOptions, 'authenticate' | 'findSession' | 'rates'>
type CallOptions = Credentials & Pick<RoutedOptions, 'onRequest' | 'audit' | 'receiveBuffers'>

/** A handler that checks token, path and body before the route gets its call. A stranger's body is never read. */
function callOf(route: AnyRoute, options: CallOptions): RouteHandler {
  const known = [...Object.keys(route.parameters), ...(route.takesFilter === true ? FILTER_PARAMETERS : [])]
  const { onRequest, audit = NO_AUDIT, receiveBuffers } = options
  return async (request, response, segment) => {
    const onEnd = onRequest?.(route)
    if (onEnd !== undefined) {
      response.on('close', () => onEnd(response.headersSent ? response.statusCode : null))
    }
    const { handle, sender } = admit(route, { request, response, segment }, options)
    const gone = new AbortController()
    response.on('close', () => gone.abort(GONE))
    const { url = '' } = request
    checkUrl(url)
    const body = await bodyOf(route.body, request, receiveBuffers.of(sender))
    const query = new Query(url, known)
    const change = changeFor(route.audit, request, audit)
    await handle({ request, response, query, segment, body, gone: gone.signal, change })
  }
}

/** A client without a token, counted by its address. */
function strangerAt({ remoteAddress = '' }: IncomingMessage['socket']): Sender {
  return { tokenId: `at ${remoteAddress}`, seesAllTenants: false }
}

/**
 * The route's handler, with the caller where the route needs one, and who sends the body. Throws as `bearerToken`, `callerOf`, rates and the
 * route's `identify`, `requireTarget` and `takePlace` do.
 */
function admit(
  route: AnyRoute,
  { request, response, segment }: Pick<OpenCall, 'request' | 'response' | 'segment'>,
  credentials: Credentials,
): { handle: (call: OpenCall) => Promise<void>; sender: Sender } {
  if (route.scope === 'open') {
    return { handle: (call) => route.handle(call), sender: strangerAt(request.socket) }
  }
  const caller = callerFor(route, request, credentials)
  setRateHeaders(response, credentials.rates?.takeToken(caller, request) ?? null)
  requireScope(caller, route.scope)
  if (route.method !== 'GET' && route.isReadOnly !== true) requireUnlocked(caller)
  route.requireTarget?.({ segment, caller })
  route.takePlace?.({ request, response, caller })
  return { handle: (call) => route.handle({ ...call, caller }), sender: caller }
}

/**
 * The caller by the route's own credential, else by a session, else by the bearer token. A session counts only where no
 * bearer token is sent. Throws as `identify`, `sessionCaller`, `bearerToken` and `callerOf` do.
 */
function callerFor(
  { identify }: Pick<Route, 'identify'>,
  request: IncomingMessage,
  { authenticate, findSession }: Credentials,
): Caller {
  const own = identify?.(request)
  if (own) return own
  const { headers } = request
  const takesSession =
    findSession !== undefined && identify === undefined && bearerHeader(headers) === undefined
  const session = takesSession ? sessionCaller(request, findSession) : null
  return session ?? callerOf(bearerToken(headers.authorization), null, authenticate)
}

/** Answers OPTIONS, and refuses every other method, of a path whose own methods are these. */
export function refuseMethod(own: string): RequestHandler {
  const methods = `${own}, OPTIONS`
  return (request, response) => {
    if (request.method === 'OPTIONS') {
      response.writeHead(204, { Allow: methods }).end()
      return
    }
    const detail = `${request.method} is not a method of this path; it has ${methods}`
    throw new HttpProblem('method_not_allowed', detail, { headers: { Allow: methods } })
  }
}

/** The last handler: no route has this path. */
export function notFound(paths: readonly string[]): RequestHandler {
  return (request) => {
    throw new HttpProblem('not_found', `${NO_PATH}${didYouMean(request.path.slice(0, 100), paths)}`)
  }
}

/** CORS for exact origins: the headers on every answer, and the answer to a preflight; true where it has answered one. */
function allowOrigins({
  corsOrigins,
  routes,
}: AppOptions): (request: IncomingMessage, response: ServerResponse) => boolean {
  const methods = [...methodsByPath(routes)]
  return (request, response) => {
    if (corsOrigins.length === 0) return false
    response.setHeader('Vary', 'Origin')
    const { origin } = request.headers
    if (origin === undefined || !corsOrigins.includes(origin)) return false
    response.setHeader('Access-Control-Allow-Origin', origin)
    response.setHeader('Access-Control-Expose-Headers', CORS_ANSWER_HEADERS)
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
      return false
    }
    const [, own = MOUNTED_METHODS] = methods.find(([path]) => fits(path, pathOf(request))) ?? []
    response.setHeader('Access-Control-Allow-Methods', own)
    response.setHeader('Access-Control-Allow-Headers', CORS_REQUEST_HEADERS)
    response.setHeader('Access-Control-Max-Age', CORS_MAX_AGE_SECONDS)
    response.writeHead(204).end()
    return true
  }
}

/** The last layer of an Express app: `answerErrors`. */
export function errorHandler(logger: Logger): ErrorRequestHandler {
  const answer = answerErrors(logger)
  return (error, request, response, _next) => answer(error, request, response)
}

/** Turns what a handler threw into an answer. A fault of ours goes to the log, not to the client. */
function answerErrors(
  logger: Logger,
): (error: unknown, request: IncomingMessage, response: ServerResponse) => void {
  return (error, request, response) => {
    const problem = problemOf(error) ?? malformed(error)
    if (problem === null) {
      const path = pathOf(request).slice(0, 200)
      logger.error('http.request_failed', { method: request.method, path, error })
    }
    sendProblem(
      request,
      response,
      problem ?? new HttpProblem('internal', 'internal error of the bridge; its log says more'),
    )
  }
}

/** Express itself refuses a path whose parameters cannot be decoded. */
function malformed(error: unknown): HttpProblem | null {
  return error instanceof URIError
    ? new HttpProblem('url_malformed', 'the percent-encoding of the address is broken')
    : null
}

function sendProblem(request: IncomingMessage, response: ServerResponse, problem: HttpProblem): void {
  if (response.headersSent) {
    request.socket.destroy()
    return
  }
  const { status, headers, body } = problemAnswer(problem)
  const { Connection: own } = headers
  // A header Connection of ours takes the place of Node's, which would say that the connection ends.
  if (own !== undefined && own !== 'close' && !response.shouldKeepAlive) headers.Connection = `${own}, close`
  response.statusCode = status
  response.setHeaders(new Map(Object.entries(headers)))
  endAnswer(request, response, body)
}
