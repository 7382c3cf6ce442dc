/**
 * Serves liveness, readiness and metrics on the ops listener. There is no authentication, because that listener binds
 * to loopback by default.
 */
import type { Express } from 'express'
import type { Health } from '../obs/health.ts'
import type { Logger } from '../obs/logger.ts'
import type { Metrics } from '../obs/metrics.ts'
import { bareApp, checkAddress, errorHandler, notFound } from './app.ts'
import { HttpProblem } from './problem.ts'
import { sendJson } from './route.ts'

export interface OpsOptions {
  /** Whether this node takes readers; see `createReadiness`. */
  readiness: () => Health
  metrics: Pick<Metrics, 'contentType' | 'scrape'>
  logger: Logger
}

/** The paths of the ops listener, with one line for the docs. */
export const opsPaths = {
  '/healthz': '200 while the process turns; depends on nothing outside it.',
  '/readyz': '200 when every check holds, else 503: `{ready, checks}`.',
  '/metrics': 'Prometheus text.',
} as const

/** The app. Give it to `listen`. */
export function createOpsApp({ readiness, metrics, logger }: OpsOptions): Express {
  const app = bareApp()
  app.use((request, _response, next) => {
    checkAddress(request)
    next()
  })
  app.get('/healthz', (_request, response) => {
    sendJson(response, 200, bodyOf({ ready: true, checks: { process: true } }))
  })
  app.get('/readyz', (_request, response) => {
    const health = readiness()
    sendJson(response, health.ready ? 200 : 503, bodyOf(health))
  })
  app.get('/metrics', async (_request, response) => {
    response.setHeader('Content-Type', metrics.contentType)
    response.end(await metrics.scrape())
  })
  const paths = Object.keys(opsPaths)
  app.all(paths, (request) => {
    throw new HttpProblem('method_not_allowed', `${request.method} is not a method of this path`, {
      headers: { Allow: 'GET, HEAD' },
    })
  })
  app.use(notFound(paths))
  app.use(errorHandler(logger))
  return app
}

function bodyOf(health: Health): Buffer {
  return Buffer.from(JSON.stringify(health))
}
