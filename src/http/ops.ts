/**
 * Serves liveness, readiness and metrics on the ops listener. There is no authentication, because that listener binds
 * to loopback by default.
 */
import type { Express } from 'express'
import { OPEN_METRICS } from '../obs/exemplars.ts'
import type { Health } from '../obs/health.ts'
import type { Logger } from '../obs/logger.ts'
import type { Metrics } from '../obs/metrics.ts'
import { bareApp, checkAddress, errorHandler, notFound } from './app.ts'
import { HttpProblem } from './problem.ts'
import { sendJson } from './route.ts'

export interface OpsOptions {
  /** Whether this node takes readers; see `createReadiness`. */
  readiness: () => Health
  metrics: Pick<Metrics, 'contentType' | 'scrape'> & {
    /** The text of a scrape as OpenMetrics; absent where that would say nothing more. */
    scrapeOpenMetrics?: Metrics['scrapeOpenMetrics'] | undefined
  }
  logger: Logger
}

/** Prometheus asks for OpenMetrics before its own text; an Accept that names it is from such a scraper. */
const TAKES_OPEN_METRICS = /(^|,)\s*application\/openmetrics-text\b(?![^,]*;\s*q=0(\.0*)?\s*(,|;|$))/i

/** The paths of the ops listener, with one line for the docs. */
export const opsPaths = {
  '/healthz': '200 while the process turns; depends on nothing outside it.',
  '/readyz':
    '200 when every check holds, else 503: `{ready, checks}`, with `polling: "paused"` while an operator has paused it.',
  '/metrics':
    'Prometheus text; OpenMetrics with exemplars for a scraper that asks for it, where traces are on.',
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
  app.get('/metrics', async (request, response) => {
    const { scrapeOpenMetrics } = metrics
    const takesOpen = scrapeOpenMetrics !== undefined && TAKES_OPEN_METRICS.test(request.headers.accept ?? '')
    response.setHeader('Content-Type', takesOpen ? OPEN_METRICS : metrics.contentType)
    response.end(await (takesOpen ? scrapeOpenMetrics() : metrics.scrape()))
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
