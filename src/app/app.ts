/**
 * The composition root: builds what the chosen roles need, in order, and lets go of it in the opposite order. The only
 * file that knows everything. Refuses to decide anything about disclosures.
 */

import { fundRoutes } from '../api/mirror/fund-routes.ts'
import { referenceRoutes } from '../api/mirror/reference-routes.ts'
import type { MirrorRoute } from '../api/mirror/route.ts'
import { asyncApiRoute } from '../api/routes/asyncapi-route.ts'
import { disclosuresRoute } from '../api/routes/disclosures-route.ts'
import { filterTestRoute } from '../api/routes/filter-test-route.ts'
import { createFundGateway } from '../api/routes/fund-gateway.ts'
import { fundsOff } from '../api/routes/funds-off.ts'
import { bridgeMirror } from '../api/routes/mirror-router.ts'
import { openApiRoute } from '../api/routes/openapi-route.ts'
import { copiedItemRoutes } from '../api/routes/replica-items.ts'
import { reportRoute } from '../api/routes/report-route.ts'
import type { Status } from '../api/routes/status.ts'
import { statusRoute } from '../api/routes/status-route.ts'
import { ticketRoute } from '../api/routes/ticket-route.ts'
import { tokenRoutes } from '../api/routes/token-routes.ts'
import { createDayReplica, DAYS_TABLE } from '../archive/days.ts'
import { createExchangeReplica, EXCHANGES_TABLE } from '../archive/exchanges.ts'
import { archiveItems } from '../archive/items/items.ts'
import { createReader, type Reader } from '../archive/reading/reader.ts'
import { RecentEvents } from '../archive/reading/recent-events.ts'
import { createSearchSlices } from '../archive/reading/search-slices.ts'
import { runPruner } from '../archive/replica/pruner.ts'
import { Replicator } from '../archive/replica/replicator.ts'
import { sequencesOf } from '../archive/store/event-ids.ts'
import { VERSION } from '../core/version.ts'
import { createApp, type Mount } from '../http/app.ts'
import { adminAuthenticate, eitherAuthenticate, findCallerAmong } from '../http/auth.ts'
import { type Listener, listen } from '../http/listener.ts'
import { createOpsApp } from '../http/ops.ts'
import type { AnyRoute } from '../http/route.ts'
import { createIngest } from '../ingest/ingest.ts'
import type { Chance, Clock } from '../lifecycle/clock.ts'
import { createReleaseStack } from '../lifecycle/release-stack.ts'
import { type Role, superviseRoles } from '../lifecycle/supervisor.ts'
import type { Seam } from '../log/fault-hook.ts'
import { createLogger } from '../obs/logger.ts'
import { createMetrics } from '../obs/metrics.ts'
import { createEndpoints } from '../registry/endpoints.ts'
import { createTickets } from '../registry/tickets.ts'
import { createTokens } from '../registry/tokens.ts'
import { loadCalendar } from '../settings/calendar-file.ts'
import type { Settings } from '../settings/settings.ts'
import { mostConnections, openFilesLimit } from '../streams/limits/connection-slots.ts'
import { createStreams } from '../streams/streams.ts'
import { createWebhookParts, NO_WEBHOOKS } from '../webhooks/wiring.ts'
import { productChannels } from './channels.ts'
import { openLog } from './open-log.ts'
import { createStatus, createUpstreamStatus } from './status.ts'

/** Where the upstream API stands. */
const MIRROR_PREFIX = '/v2'

/** The ready line of contract §2. */
export interface ReadyLine {
  ready: true
  http: string
  ops: string
  roles: readonly string[]
  log: 'kafka' | 'embedded'
}

/** A running product. */
export interface App {
  readonly ready: ReadyLine
  readonly reader: Reader
  status(): Status
  /** Runs until the signal aborts, then drains and releases everything. Rejects with the fault that ended it. */
  runUntil(signal: AbortSignal): Promise<void>
}

/** What the product takes from outside besides its settings. */
export interface AppParts {
  clock: Clock
  chance: Chance
  /** Where a test breaks a claim or a commit on Kafka; production gives none. */
  seam?: Seam
}

/** Starts everything up to open listeners; the roles begin with `runUntil`. Leaves nothing open when it rejects. */
export async function startApp(settings: Settings, parts: AppParts): Promise<App> {
  const stack = createReleaseStack()
  try {
    return await buildApp(settings, parts, stack)
  } catch (error) {
    await stack.release()
    throw error
  }
}

async function buildApp(
  settings: Settings,
  { clock, chance, seam }: AppParts,
  stack: ReturnType<typeof createReleaseStack>,
): Promise<App> {
  const logger = createLogger({ level: settings.logLevel, secrets: settings.secrets })
  const metrics = createMetrics({ version: VERSION })
  const calendar = loadCalendar(settings.calendarFile)
  for (const warning of settings.warnings) logger.warn('settings.warning', { warning })
  logger.info('settings.read', { settings: settings.summary })

  const opened = openLog({
    kafka: settings.kafka,
    dataDir: settings.dataDir,
    nativeKind: settings.native.kind,
    clock,
    logger,
    ...(seam && { seam }),
    onUpgrade: ({ sequence, latest }) => logger.info('archive.upgrade', { sequence, latest }),
  })
  stack.push('the log', opened.close)
  const { log, archive, shared } = opened
  const recentEvents = new RecentEvents(archive.latest)
  const replicator = new Replicator({
    log,
    archive,
    recentEvents,
    clock,
    logger,
    shared,
    silentSinceMs: opened.silentSinceMs,
  })
  const searchSlices = createSearchSlices(clock)
  const reader = createReader(archive, recentEvents, clock, replicator.replica, searchSlices)
  const roles: Role[] = [{ name: 'replicator', run: (signal) => replicator.run(signal) }]
  if (!shared) {
    const parts = { log, archive, replica: replicator.replica, clock, logger }
    roles.push({ name: 'pruner', run: (signal) => runPruner(parts, signal) })
    roles.push({ name: 'replica', run: opened.watchReplica })
  }

  const replica = {
    get oldest() {
      return archive.oldest
    },
    get latest() {
      return archive.latest
    },
    oldestRecordedMs: archive.oldestRecordedMs,
    known: archive.known,
    caughtUp: (sequence: number, epoch: string, signal: AbortSignal) =>
      replicator.caughtUp(sequence, epoch, signal),
  }
  const ingest =
    settings.roles.includes('poller') && settings.upstream !== null
      ? createIngest({
          ...settings,
          upstream: settings.upstream,
          calendar,
          log,
          replica,
          clock,
          chance,
          logger,
          metrics,
        })
      : null
  if (ingest !== null) {
    stack.push('the upstream client', () => ingest.close())
    roles.push(...ingest.tasks)
  }

  const status = createStatus({ roles: settings.roles, log, reader, replicator, ingest, calendar, clock })
  const stopping = new AbortController()
  const tokens = createTokens({ log, clock, logger })
  const readsTokens = settings.roles.some((role) => role === 'api' || role === 'feed')
  if (readsTokens) roles.push({ name: 'tokens', run: (signal) => tokens.run(signal) })
  const authenticate = eitherAuthenticate(adminAuthenticate(settings.adminToken ?? ''), tokens.authenticate)
  const keys = { key: settings.secretKey ?? '', oldKey: settings.oldSecretKey }
  const tickets = createTickets({ keys, clock })
  const endpoints = createEndpoints({ log, clock, logger })
  const readsEndpoints = settings.roles.some((role) => role === 'api' || role === 'webhooks')
  if (readsEndpoints) roles.push({ name: 'endpoints', run: (signal) => endpoints.run(signal) })
  const webhookParts = readsEndpoints
    ? createWebhookParts(
        {
          delivers: settings.roles.includes('webhooks'),
          serves: settings.roles.includes('api'),
          settings: settings.webhooks,
          keys,
          dataDir: settings.dataDir,
          drainTimeoutMs: settings.drainTimeoutMs,
          log,
          reader,
          findEvents: (ids) => sequencesOf(archive, ids, reader.latest),
          endpoints,
          clock,
          chance,
          metrics,
          logger,
        },
        stack,
      )
    : NO_WEBHOOKS
  roles.push(...webhookParts.roles)
  const { webhooks } = webhookParts
  const routes: AnyRoute[] = []
  const mounts: Mount[] = []
  /** What `/v2` serves, resource by resource. */
  const mirrored: MirrorRoute[] = []
  if (settings.roles.includes('api')) {
    const days = createDayReplica(log.table(DAYS_TABLE))
    roles.push({ name: 'reports', run: (signal) => days.run(signal) })
    routes.push(
      disclosuresRoute({ reader, clock, stopping: stopping.signal }),
      filterTestRoute(reader),
      statusRoute(status),
      reportRoute(days),
      ...tokenRoutes({ tokens, clock, logger }),
      ticketRoute(tickets),
    )
    routes.push(...webhookParts.routes)
    const exchanges = createExchangeReplica(log.table(EXCHANGES_TABLE))
    roles.push({ name: 'exchanges', run: (signal) => exchanges.run(signal) })
    const upstreamNow = (): number => ingest?.upstreamNowMs() ?? clock.now()
    mirrored.push(
      ...copiedItemRoutes({
        items: archiveItems(archive, clock, searchSlices),
        copy: replicator.replica,
        now: upstreamNow,
        nativeWord: settings.native.word,
      }),
      ...referenceRoutes(exchanges),
      ...fundRoutes(
        settings.gatewayUnits === 0 ? fundsOff : createFundGateway({ questions: log.questions, clock }),
      ),
    )
    mounts.push({ prefix: MIRROR_PREFIX, handler: bridgeMirror({ routes: mirrored, authenticate, logger }) })
  }
  const feed = settings.roles.includes('feed')
    ? createStreams({
        reader,
        clock,
        chance,
        metrics,
        logger,
        credentials: { authenticate, findCaller: findCallerAmong(tokens.findCaller), tickets },
        corsOrigins: settings.corsOrigins,
        upstream: createUpstreamStatus({ ingest, calendar, clock }),
        maxClients: settings.streamMaxClients,
      })
    : null
  if (feed !== null) {
    routes.push(...feed.routes)
    roles.push({ name: 'feed', run: (signal) => feed.run(signal) })
  }
  // The last one: it describes all others.
  if (settings.roles.includes('api')) {
    routes.push(asyncApiRoute(productChannels(settings.kafka?.topics ?? null)))
    routes.push(openApiRoute({ routes, mirror: { prefix: MIRROR_PREFIX, routes: mirrored } }))
  }

  const publicListener = await listen(
    createApp({
      routes,
      mounts,
      authenticate,
      corsOrigins: settings.corsOrigins,
      logger,
    }),
    {
      ...settings.http,
      setting: 'BRIDGE_HTTP_PORT',
      clock,
      logger,
      maxConnections: mostConnections(openFilesLimit()),
      ...(feed === null ? {} : { upgrade: feed.upgrade }),
    },
  )
  stack.push('the public listener', () => publicListener.close(settings.drainTimeoutMs))
  const checks = {
    log: () =>
      opened.waitingFor() === null &&
      opened.silentSinceMs() === null &&
      ingest?.poller.state.name !== 'claiming',
    copy: () => replicator.replica.filling?.share ?? true,
    ...(readsTokens && { tokens: () => tokens.isLoaded }),
    ...(readsEndpoints && { endpoints: () => endpoints.isLoaded }),
    ...(webhooks !== null && { webhooks: webhooks.isWell }),
    running: () => !stopping.signal.aborted,
  }
  const opsListener = await listen(
    createOpsApp({
      checks,
      metrics: freshMetrics(metrics, { replicator, recentEvents, webhooks, clock }),
      logger,
    }),
    {
      ...settings.ops,
      setting: 'BRIDGE_OPS_PORT',
      clock,
      logger,
    },
  )
  stack.push('the ops listener', () => opsListener.close(0))
  const ready = readyLine(settings, publicListener, opsListener)
  logger.info('process.ready', { ...ready, version: VERSION })

  return {
    ready,
    reader,
    status,
    async runUntil(signal) {
      const stop = (): void => {
        stopping.abort()
        feed?.stop()
      }
      signal.addEventListener('abort', stop, { once: true })
      try {
        await superviseRoles(roles, { signal, drainTimeoutMs: settings.drainTimeoutMs, clock })
      } finally {
        stop()
        await stack.release()
        logger.info('process.stopped')
      }
    },
  }
}

function readyLine(settings: Settings, publicListener: Listener, opsListener: Listener): ReadyLine {
  return {
    ready: true,
    http: publicListener.url,
    ops: opsListener.url,
    roles: settings.roles,
    log: settings.kafka === null ? 'embedded' : 'kafka',
  }
}

/** The metrics with what this node knows of the log, the replicator's lag and what is to be delivered, as they are at the scrape. */
function freshMetrics(
  metrics: ReturnType<typeof createMetrics>,
  parts: {
    replicator: { lag: { events: number; sinceMs: number | null } }
    recentEvents: { latest: number }
    webhooks: { measure(): void } | null
    clock: Clock
  },
) {
  const { replicator, recentEvents, webhooks, clock } = parts
  return {
    contentType: metrics.contentType,
    scrape(): Promise<string> {
      const { events, sinceMs } = replicator.lag
      metrics.logSequence.set({}, recentEvents.latest + events)
      metrics.followerLagEvents.set({}, events)
      metrics.followerLag.set({}, sinceMs === null ? 0 : (clock.now() - sinceMs) / 1000)
      webhooks?.measure()
      return metrics.scrape()
    },
  }
}
