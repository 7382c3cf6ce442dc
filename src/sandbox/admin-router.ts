/**
 * Serves the admin API of the sandbox, a local imitation of the upstream: published items, usage, faults, scenario and
 * clock (docs/use/sandbox.md). It has no authentication: it is a test tool that listens on this machine by default.
 */
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express'
import { z } from 'zod'
import { WEEK_MS } from '../core/durations.ts'
import { BridgeError, messageOf } from '../errors.ts'
import { pageRefusal } from './browser-guard.ts'
import { type Faults, readFault } from './faults/faults.ts'
import type { Market } from './market/market.ts'
import type { Usage } from './usage.ts'

export interface AdminOptions {
  /** The address of its listener. */
  host: string
  market: Market
  faults: Faults
  usage: () => Usage
  finished: () => boolean
  /** The running scenario as `GET /scenario` returns it. */
  scenario: Readonly<Record<string, unknown>>
}

/** Longest move of the market clock in one request; a longer one would publish items for seconds. */
const LONGEST_MOVE_MS = WEEK_MS

const itemsBody = z.union([z.array(z.unknown()), z.strictObject({ items: z.array(z.unknown()) })])
const clockBody = z.strictObject({ advanceMs: z.int().min(0).max(LONGEST_MOVE_MS) })

/** Creates the admin app. */
export function adminApp({ host, market, faults, usage, finished, scenario }: AdminOptions): Express {
  const app = express()
  app.disable('x-powered-by')
  app.use((request, response, next) => {
    const refusal = pageRefusal(request.headers, host)
    if (refusal === null) next()
    else sendError(response, refusal.status, refusal)
  })
  app.use(express.json({ limit: '32mb' }))
  const scenarioNow = (): object => ({
    ...scenario,
    marketTime: new Date(market.nowMs()).toISOString(),
    finished: finished(),
  })

  route(app, '/truth', { get: () => market.truth() })
  route(app, '/usage', { get: usage })
  route(app, '/scenario', { get: scenarioNow })
  route(app, '/items', {
    post: (request) => {
      const body = readBody(itemsBody, request, '{"items":[…]} or a list of items')
      return market.publish(Array.isArray(body) ? body : body.items)
    },
  })
  route(app, '/clock', {
    post: (request) => {
      market.moveForward(readBody(clockBody, request, '{"advanceMs":60000}').advanceMs)
      market.advance()
      return scenarioNow()
    },
  })
  route(app, '/faults', {
    get: () => ({ faults: faults.list() }),
    post: (request) => faults.add(readFault(request.body)),
    delete: () => ({ removed: faults.remove(null) }),
  })
  route(app, '/faults/:id', {
    delete: (request) => ({ removed: faults.remove(Number(request.params.id)) }),
  })
  app.use((_request, response) => {
    const paths =
      'GET /truth, GET /usage, GET /scenario, POST /items, POST /clock, GET, POST and DELETE /faults'
    sendError(response, 404, { message: 'there is no such path', hint: `There are ${paths}.` })
  })
  app.use(answerErrors)
  return app
}

type Method = 'get' | 'post' | 'delete'

/** Serves what each method returns as JSON; any other method answers 405. */
function route(
  app: Express,
  path: string,
  methods: Partial<Record<Method, (request: Request) => unknown>>,
): void {
  for (const [method, answer] of Object.entries(methods) as [Method, (request: Request) => unknown][]) {
    app[method](path, (request, response) => void response.json(answer(request)))
  }
  const allowed = Object.keys(methods).join(', ').toUpperCase()
  app.all(path, (_request, response) => {
    response.set('allow', allowed)
    sendError(response, 405, { message: `${path} takes ${allowed}` })
  })
}

function readBody<T>(schema: z.ZodType<T>, request: Request, example: string): T {
  const result = schema.safeParse(request.body)
  if (result.success) return result.data
  const problems = result.error.issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`)
  throw new BridgeError('failed', `the body cannot be read (${problems.join('; ')})`, {
    hint: `Send ${example}.`,
  })
}

/** Answers 400 for an invalid body or path, 413 for a body above 32 MB, and 500 for anything else. */
const answerErrors: ErrorRequestHandler = (error: unknown, _request, response, _next) => {
  const unreadable = error instanceof SyntaxError || error instanceof URIError
  const tooLarge = error instanceof Error && error.name === 'PayloadTooLargeError'
  if (error instanceof BridgeError) sendError(response, 400, error)
  else if (tooLarge) sendError(response, 413, { message: 'the body is larger than 32 MB' })
  else sendError(response, unreadable ? 400 : 500, { message: messageOf(error) })
}

function sendError(
  response: Response,
  status: number,
  { message, hint, errors = [] }: Pick<BridgeError, 'message'> & Partial<BridgeError>,
): void {
  response.status(status).json({ error: { message, hint, ...(errors.length > 0 ? { errors } : {}) } })
}
