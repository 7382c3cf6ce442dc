/**
 * Opens the public HTTP listener and the ops listener (health, metrics), and puts their closing on the clean-up stack.
 */
import { createApp, type Mount } from '../http/app.ts'
import { createConnectionLimit } from '../http/bounds/connection-slots.ts'
import { type Listener, listen } from '../http/listener.ts'
import { createOpsApp, type OpsOptions } from '../http/ops.ts'
import type { AnyRoute } from '../http/route.ts'
import type { Upgrade } from '../http/upgrade.ts'
import type { Access } from './access.ts'
import type { StartContext } from './context.ts'
import type { Readers } from './readers.ts'
import type { Storage } from './storage.ts'

/** @throws BridgeError where the port of `BRIDGE_HTTP_PORT` is taken or may not be used */
export async function listenPublic(
  { settings, files, clock, logger, stack }: StartContext,
  { authenticate }: Access,
  { rates, trustedProxies, onRefused }: Readers,
  served: { routes: AnyRoute[]; mounts: readonly Mount[]; upgrade: Upgrade | undefined },
): Promise<Listener> {
  const { corsOrigins } = settings
  const { upgrade, ...routing } = served
  const { incoming: maxConnections } = files
  const listener = await listen(createApp({ ...routing, authenticate, corsOrigins, rates, logger }), {
    ...settings.http,
    tls: settings.httpTls,
    setting: 'BRIDGE_HTTP_PORT',
    clock,
    logger,
    maxConnections,
    ...(maxConnections !== null && { takeConnection: createConnectionLimit(maxConnections, trustedProxies) }),
    onRefused,
    ...(upgrade && { upgrade }),
  })
  stack.push('the public listener', () => listener.close(settings.drainTimeoutMs))
  return listener
}

/** @throws BridgeError where the port of `BRIDGE_OPS_PORT` is taken or may not be used */
export async function listenOps(
  context: StartContext,
  storage: Storage,
  { checks, webhooks }: { checks: OpsOptions['checks']; webhooks: { measure(): void } | null },
): Promise<Listener> {
  const { settings, files, clock, logger, stack } = context
  const metrics = scrapedMetrics(context, storage, webhooks)
  const listener = await listen(createOpsApp({ checks, metrics, logger }), {
    ...settings.ops,
    setting: 'BRIDGE_OPS_PORT',
    clock,
    logger,
    maxConnections: files.ops,
  })
  stack.push('the ops listener', () => listener.close(0))
  return listener
}

/** The metrics, with the gauges of log, replica and deliveries measured at each scrape. */
function scrapedMetrics(
  { metrics, clock }: StartContext,
  { replicator, recentEvents }: Storage,
  webhooks: { measure(): void } | null,
): OpsOptions['metrics'] {
  return {
    contentType: metrics.contentType,
    scrape() {
      const { events, sinceMs } = replicator.lag
      metrics.logSequence.set({}, recentEvents.latest + events)
      metrics.followerLagEvents.set({}, events)
      metrics.followerLag.set({}, sinceMs === null ? 0 : (clock.now() - sinceMs) / 1000)
      webhooks?.measure()
      return metrics.scrape()
    },
  }
}
