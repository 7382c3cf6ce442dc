/**
 * Opens the public HTTP listener and the ops listener (health, metrics), and puts their closing on the clean-up stack.
 */
import { createApp, type Mount, type OnRequest } from '../http/app.ts'
import type { Audit } from '../http/audit/changes.ts'
import { createConnectionLimit } from '../http/bounds/connection-slots.ts'
import { type Listener, listen } from '../http/listener.ts'
import { createOpsApp, type OpsOptions } from '../http/ops.ts'
import type { AnyRoute } from '../http/route.ts'
import type { Upgrade } from '../http/upgrade.ts'
import { createReadiness } from '../obs/health.ts'
import { type httpCodeClasses, unauthorisedCodes } from '../obs/metrics.ts'
import type { Access } from './access.ts'
import type { StartContext } from './context.ts'
import type { Readers } from './readers.ts'

type CodeClass = (typeof httpCodeClasses)[number]

/** @throws BridgeError where the port of `BRIDGE_HTTP_PORT` is taken or may not be used */
export async function listenPublic(
  { settings, files, clock, logger, metrics, stack }: StartContext,
  { authenticate, sessions }: Access,
  { rates, trustedProxies, onRefused, limits: { receiveBuffers } }: Readers,
  served: { routes: AnyRoute[]; mounts: readonly Mount[]; upgrade: Upgrade | undefined; audit: Audit },
): Promise<Listener> {
  const { corsOrigins } = settings
  const { upgrade, ...routing } = served
  const { incoming: maxConnections } = files
  const listener = await listen(
    createApp({
      ...routing,
      ...{ authenticate, corsOrigins, rates, receiveBuffers, logger },
      findSession: sessions.findInRequest,
      onRequest: countRequests(routing.routes, { metrics, clock }),
    }),
    {
      ...settings.http,
      tls: settings.httpTls,
      setting: 'BRIDGE_HTTP_PORT',
      clock,
      logger,
      maxConnections,
      ...(maxConnections !== null && {
        takeConnection: createConnectionLimit(maxConnections, trustedProxies),
      }),
      onRefused,
      ...(upgrade && { upgrade }),
    },
  )
  stack.push('the public listener', () => listener.close(settings.drainTimeoutMs))
  return listener
}

/** Registers the series of each route; returns what counts and times their requests. */
function countRequests(
  routes: readonly AnyRoute[],
  { metrics: { httpRequests, httpUnauthorised }, clock }: Pick<StartContext, 'metrics' | 'clock'>,
): OnRequest {
  const nameOf = ({ method, path }: AnyRoute): string => `${method} ${path}`
  for (const route of routes) httpRequests.addRoute(nameOf(route))
  return (route) => {
    const begunMs = clock.now()
    return (status) => {
      const code = status === null ? 'none' : (`${Math.trunc(status / 100)}xx` as CodeClass)
      const refused = unauthorisedCodes.find((one) => Number(one) === status)
      if (refused !== undefined) httpUnauthorised.add({ code: refused })
      httpRequests.observe(nameOf(route), { code }, Math.max(0, clock.now() - begunMs) / 1000)
    }
  }
}

/** The ops listener while the process starts. */
export interface EarlyOps {
  readonly listener: Listener
  /** The share of the store that is upgraded so far. */
  noteUpgrade(share: number): void
  /** From now on these are served, and the listener closes before what was opened until now. */
  serve(served: OpsServed): void
}

type OpsServed = Pick<OpsOptions, 'readiness' | 'metrics'>

/**
 * Opens the ops listener before the store: an upgrade of the store may take minutes. Until `serve`, `/healthz` answers 200, and
 * `/readyz` 503 with `log` false and the share of the upgrade as `copy`.
 * @throws BridgeError where the port of `BRIDGE_OPS_PORT` is taken or may not be used
 */
export async function listenOps(context: StartContext): Promise<EarlyOps> {
  const { settings, files, clock, logger, metrics, stack } = context
  let upgraded = 1
  const starting = { log: () => false, copy: () => upgraded, running: () => !context.stopping.aborted }
  const { contentType, scrape } = metrics
  const readiness = createReadiness(starting, logger)
  let app = createOpsApp({ readiness, metrics: { contentType, scrape }, logger })
  const listener = await listen((request, response) => app(request, response), {
    ...settings.ops,
    setting: 'BRIDGE_OPS_PORT',
    clock,
    logger,
    maxConnections: files.ops,
  })
  stack.push('the ops listener', () => listener.close(0))
  return {
    listener,
    noteUpgrade(share) {
      upgraded = share
    },
    serve(ready) {
      app = createOpsApp({ ...ready, logger })
      stack.push('the ops listener', () => listener.close(0))
    },
  }
}
