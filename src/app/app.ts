/**
 * Starts the roles that the settings name, step by step, and stops them in reverse order. A role is one job of the
 * product, such as `poller`, `api` or `webhooks`; a process may have several.
 */
import type { Status } from '../api/routes/status.ts'
import type { Reader } from '../archive/reading/reader.ts'
import type { Console } from '../console/console.ts'
import { VERSION } from '../core/version.ts'
import type { Listener } from '../http/listener.ts'
import { createReleaseStack } from '../lifecycle/release-stack.ts'
import { superviseRoles } from '../lifecycle/supervisor.ts'
import { measureEventLoop } from '../obs/event-loop.ts'
import { type Check, createReadiness } from '../obs/health.ts'
import { logLastingFaults } from '../obs/lasting-faults.ts'
import type { ReadinessCheck } from '../obs/process-metrics.ts'
import type { Settings } from '../settings/settings.ts'
import { buildAccess } from './access.ts'
import { buildApi } from './api.ts'
import { buildAudit } from './audit.ts'
import { buildConsole } from './console.ts'
import { type AppParts, type StartContext, startContext } from './context.ts'
import { createEndLog, type EndLog } from './end-log.ts'
import { faultAreas } from './lasting-faults.ts'
import { buildLeader, buildPollingPauses } from './leader.ts'
import { buildLeaderView } from './leader-report.ts'
import { listenOps, listenPublic } from './listeners.ts'
import { scrapedMetrics } from './measures.ts'
import { buildNodes } from './nodes.ts'
import { buildReaders } from './readers.ts'
import { createStatus } from './status.ts'
import { openStorage } from './storage.ts'
import { buildStreams } from './streams.ts'
import { buildWebhooks } from './webhooks.ts'

/** The ready line that `bridge run` prints. */
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
  /** As that of a Console. */
  readonly consoleLink: Console['link']
  /** Whether it delivers to webhooks at the moment. */
  isDelivering(): boolean
  /** Runs until the signal aborts, then drains and releases everything. Rejects with the fault that ended it. */
  runUntil(signal: AbortSignal): Promise<void>
}

/** Starts everything up to open listeners; the roles begin with `runUntil`. Leaves nothing open when it rejects. */
export async function startApp(settings: Settings, parts: AppParts): Promise<App> {
  const stack = createReleaseStack()
  const stopping = new AbortController()
  const context = await startContext(settings, parts, { stack, stopping: stopping.signal })
  const endLog = createEndLog(context)
  try {
    const { streams, ...started } = await start(context)
    const stop = (): void => {
      stopping.abort()
      streams?.stop()
    }
    return { ...started, runUntil: (signal) => runUntil(signal, stop, endLog, context) }
  } catch (error) {
    endLog.startFailed(error)
    await stack.release().finally(endLog.close)
    throw error
  }
}

async function start(context: StartContext) {
  const ops = await listenOps(context)
  const storage = await openStorage(context, ops.noteUpgrade)
  const pauses = buildPollingPauses(context, storage)
  const ingest = buildLeader(context, storage, pauses)
  const access = buildAccess(context, storage)
  const { webhooks, routes: webhookRoutes, eventJourney } = buildWebhooks(context, storage, access)
  const leader = buildLeaderView(context, storage, access, ingest)
  const isLogAvailable = (): boolean =>
    storage.waitingFor() === null &&
    storage.silentSinceMs() === null &&
    ingest?.poller.state.name !== 'claiming'
  const status = createStatus({ ...context, ...context.settings, ...storage, leader, pauses, isLogAvailable })
  const readers = buildReaders(context)
  const { audit, trail } = buildAudit(context, storage, access, readers)
  const nodes = buildNodes(context, storage)
  const streams = buildStreams(context, storage, access, leader, readers)
  const api = buildApi(context, {
    storage,
    access,
    leader,
    readers,
    status,
    nodes,
    eventJourney,
    streams,
    trail,
    pauses,
  })
  const ownConsole = buildConsole(context, access, readers)
  const publicListener = await listenPublic(context, access, readers, {
    audit,
    routes: api.documented([
      ...api.routes,
      ...webhookRoutes,
      ...(streams?.routes ?? []),
      ...ownConsole.routes,
    ]),
    mounts: [...api.mounts, ...ownConsole.mounts],
    upgrade: streams?.upgrade,
  })
  const checks: Partial<Record<ReadinessCheck, Check>> = {
    log: isLogAvailable,
    copy: () => storage.replicator.replica.filling?.share ?? true,
    ...access.checks,
    ...(webhooks !== null && { webhooks: () => webhooks.isWell() }),
    running: () => !context.stopping.aborted,
  }
  const readiness = createReadiness(checks, context.logger, () => pauses.current !== null)
  const metrics = scrapedMetrics(context, storage, {
    ...{ readiness, webhooks, ingest },
    certificate: () => publicListener.certificate(),
  })
  ops.serve({ readiness, metrics })
  const areas = faultAreas({ ...context, storage, ingest, access, webhooks })
  context.roles.push(
    { name: 'event-loop', run: (signal) => measureEventLoop(context, signal) },
    { name: 'lasting-faults', run: (signal) => logLastingFaults({ ...context, areas }, signal) },
  )
  const ready = readyLine(context.settings, publicListener, ops.listener)
  context.logger.info('process.ready', { ...ready, version: VERSION })
  const isDelivering = (): boolean => webhooks?.isDelivering() ?? false
  return { ready, reader: storage.reader, status, consoleLink: ownConsole.link, isDelivering, streams }
}

async function runUntil(
  signal: AbortSignal,
  stop: () => void,
  endLog: EndLog,
  { settings, roles, clock, stack }: StartContext,
): Promise<void> {
  let fault: { error: unknown } | null = null
  const failed = (error: unknown): void => {
    fault ??= { error }
  }
  const onStopping = (first: typeof fault): void => {
    endLog.stopping(signal, first)
    stop()
  }
  await superviseRoles(roles, { signal, drainTimeoutMs: settings.drainTimeoutMs, clock, onStopping }).catch(
    failed,
  )
  await stack.release().catch(failed)
  endLog.stopped(fault)
  endLog.close()
  if (fault !== null) throw (fault as { error: unknown }).error
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
