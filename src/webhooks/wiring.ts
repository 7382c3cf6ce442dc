/**
 * Connects the parts of webhooks that a process needs, to deliver them or to serve their API. All parts share one
 * sender, one set of metrics and one attempt history.
 */
import { join } from 'node:path'
import type { SequenceOfName } from '../archive/named-event.ts'
import type { Reader } from '../archive/reading/reader.ts'
import type { SearchSlices } from '../archive/reading/search-slices.ts'
import type { AnyRoute } from '../http/route.ts'
import type { Chance, Clock } from '../lifecycle/clock.ts'
import type { ReleaseStack } from '../lifecycle/release-stack.ts'
import type { Role } from '../lifecycle/supervisor.ts'
import type { Log } from '../log/log.ts'
import type { Logger } from '../obs/logger.ts'
import type { Metrics } from '../obs/metrics.ts'
import type { Tracing } from '../obs/tracing.ts'
import type { Endpoints } from '../registry/endpoints.ts'
import { IdempotencyKeys } from '../registry/idempotency-keys.ts'
import { type AddressSettings, addressRules } from './address/rules.ts'
import { ATTEMPTS_FILE, AttemptHistory } from './attempts/attempt-history.ts'
import { journalSink } from './attempts/attempt-pages.ts'
import { AttemptQueue } from './attempts/attempt-queue.ts'
import { ATTEMPTS_JOURNAL, ATTEMPTS_KEPT_MS, type AttemptPage } from './attempts/attempt-record.ts'
import { attemptRoutes } from './attempts/attempt-routes.ts'
import { endpointRoutes } from './endpoints/endpoint-routes.ts'
import { rewrapRoute } from './endpoints/re-encrypt-route.ts'
import { createSecretBox } from './endpoints/secrets.ts'
import { createPlaceOf, type PlaceSources } from './health/delivery-place.ts'
import { eventDeliveriesRoute } from './health/event-deliveries-route.ts'
import { createEventJourney } from './health/event-journey.ts'
import { createHealthOf, type HealthSources, newStanding } from './health/health-of.ts'
import { HealthReports } from './health/health-reports.ts'
import { replayListRoutes, runningReplays } from './replay/replay-list-routes.ts'
import type { FindEvents } from './replay/replay-window.ts'
import { wireReplays } from './replay/replay-wiring.ts'
import type { Attempted } from './send/delivery.ts'
import { createDeliveryTraces, type TraceOf } from './send/delivery-traces.ts'
import { createSender } from './send/sender.ts'
import { Webhooks } from './webhooks.ts'
import { createDeliveryAccount } from './worker/delivery-account.ts'

/** That no connection can be opened is logged at most this often. */
const NO_SOCKET_LOG_MS = 60_000

/** What webhooks need of the process. */
export interface WebhookWiringOptions {
  /** It has the role `webhooks`. */
  delivers: boolean
  /** It has the role `api`. */
  serves: boolean
  /** `BRIDGE_WEBHOOK_*`. `proxy` null: straight to the receivers. */
  settings: AddressSettings & { proxy: string | null }
  /** `BRIDGE_SECRET_KEY` and `BRIDGE_SECRET_KEY_OLD`. */
  keys: { key: string; oldKey: string | null }
  /** `BRIDGE_DATA_DIR`. */
  dataDir: string
  /** `BRIDGE_DRAIN_TIMEOUT`. */
  drainTimeoutMs: number
  /** Attempts that this process may have under way, and connections to receivers: each takes an open file. */
  mostAttempts: number
  log: Log
  reader: Reader
  searchSlices: SearchSlices
  findEvents: FindEvents
  sequenceOf: SequenceOfName
  /** Followed by somebody else. */
  endpoints: Endpoints
  clock: Clock
  chance: Chance
  metrics: Metrics
  /** Null where traces are off. */
  tracing: Tracing | null
  traceOf: TraceOf
  logger: Logger
}

export interface WebhookWiring {
  /** What runs as long as the process does. */
  readonly roles: readonly Role[]
  /** What is served; empty for a process that does not serve. */
  readonly routes: readonly AnyRoute[]
  /** Null for a process that does not deliver. */
  readonly webhooks: Webhooks | null
  /** What became of an event at the endpoints of a caller; absent for a process that does not serve. */
  readonly eventJourney?: ReturnType<typeof createEventJourney>
}

/** Of a process that has neither role. */
export const NO_WEBHOOKS: WebhookWiring = Object.freeze({ roles: [], routes: [], webhooks: null })

/** Connects webhooks for a process with one of the roles `webhooks` and `api`, or both. Whatever must be closed goes on the stack. Nothing is done before the roles run. */
export function wireWebhooks(options: WebhookWiringOptions, stack: ReleaseStack): WebhookWiring {
  const { delivers, serves, settings, endpoints, reader, clock, metrics, logger } = options
  const secrets = createSecretBox(options.keys)
  const rules = addressRules(settings)
  const attempts = openAttempts(options, stack)
  const sender = createSender({
    ...{ rules, proxyUrl: settings.proxy, clock },
    mostConnections: options.mostAttempts,
    onNoSocket: noSocketLog(options),
  })
  stack.push('connections to receivers', sender.close)
  const account = createDeliveryAccount({ clock, metrics, logger })
  const onAttempted = (attempted: Attempted): void => {
    account.attempted(attempted)
    attempts.queue.add(attempted)
  }
  const idempotencyKeys = new IdempotencyKeys(options)
  const traces = options.tracing === null ? null : createDeliveryTraces(options.tracing, options.traceOf)
  const shared = { ...options, traces, idempotencyKeys, secrets, attempt: sender.attempt, onAttempted }
  const replays = wireReplays({
    ...shared,
    history: attempts.history,
    onTested: (tested) => attempts.queue.add(tested),
  })

  // On the embedded log this process delivers, and has stopped when it has read the change.
  const untilStopped = options.log.kind === 'embedded' ? async () => undefined : replays.commands.untilStopped

  const roles: Role[] = [{ name: 'webhook commands', run: replays.commands.run }]
  const routes: AnyRoute[] = []
  const webhooks = delivers
    ? new Webhooks({
        ...shared,
        measureShards: account.measure,
        disable: async (endpoint, reason) => {
          const isDisabled = await replays.disable(endpoint, reason)
          if (isDisabled) metrics.webhookDisabled.add({ reason })
          return isDisabled
        },
        notify: replays.notify,
      })
    : null
  // On the embedded log no other process delivers.
  const reports = options.log.kind === 'embedded' ? null : new HealthReports(options)
  if (webhooks !== null) {
    roles.push({ name: 'webhooks', run: (signal) => webhooks.run(signal) })
    const report = async () => reports?.publishNow(() => webhooks.standings())
    const runner = replays.runner((id) => webhooks.workerOf(id), report)
    roles.push({ name: 'webhook replays', run: (signal) => runner.run(signal) })
  }
  if (reports !== null && webhooks !== null) {
    roles.push({
      name: 'webhook health',
      run: (signal) => reports.publish(() => webhooks.standings(), signal),
    })
  }
  const { history } = attempts
  if (history !== null) roles.push({ name: 'attempts', run: (signal) => history.run(signal) })
  let eventJourney: WebhookWiring['eventJourney']
  if (serves && history !== null) {
    roles.push({ name: 'idempotency keys', run: (signal) => idempotencyKeys.run(signal) })
    if (reports !== null) {
      roles.push({ name: 'webhook health of other nodes', run: (signal) => reports.follow(signal) })
    }
    const standingOf: HealthSources['standingOf'] = (endpoint) =>
      webhooks?.workerOf(endpoint.id)?.standing(endpoint.id) ?? reports?.of(endpoint) ?? null
    const knownStandingOf: PlaceSources['standingOf'] = (endpoint) =>
      standingOf(endpoint) ?? newStanding(endpoint, reader.epoch, clock.now())
    const machineOf: PlaceSources['machineOf'] = (id) => webhooks?.machineOf(id) ?? null
    const healthOf = createHealthOf({ standingOf, history, reader, clock })
    const placeOf = createPlaceOf({ machineOf, standingOf: knownStandingOf, clock })
    eventJourney = createEventJourney({ endpoints, history, placeOf, reader, clock })
    routes.push(
      rewrapRoute({ endpoints, secrets, clock, logger }),
      ...endpointRoutes({
        endpoints,
        idempotencyKeys,
        healthOf,
        reader,
        secrets,
        rules,
        hasten: replays.commands.hasten,
        untilStopped,
        clock,
        logger,
      }),
      ...replays.routes,
      ...replayListRoutes({
        endpoints,
        commands: replays.commands,
        runningOf: runningReplays(knownStandingOf),
        logger,
      }),
      ...attemptRoutes({ endpoints, history, reader }),
      eventDeliveriesRoute({
        endpoints,
        history,
        sequenceOf: options.sequenceOf,
        placeOf,
        reader,
        clock,
      }),
    )
  }
  return { roles, routes, webhooks, ...(eventJourney && { eventJourney }) }
}

/** Logs that no connection can be opened, at most once a minute. */
function noSocketLog({ clock, logger }: WebhookWiringOptions): (reason: string) => void {
  let loggedMs = Number.NEGATIVE_INFINITY
  return (reason) => {
    if (clock.now() - loggedMs < NO_SOCKET_LOG_MS) return
    loggedMs = clock.now()
    logger.warn('webhook.no_socket', { reason })
  }
}

/**
 * Where attempts go, and the history that is listed. On the embedded log there is no other process: attempts are written to
 * the file of the history at once. On Kafka they go through a journal, which each node that serves reads into its own file.
 */
function openAttempts(
  { serves, dataDir, log, endpoints, searchSlices, clock, chance, metrics, logger }: WebhookWiringOptions,
  stack: ReleaseStack,
): { queue: AttemptQueue; history: AttemptHistory | null } {
  const journal = log.journal<AttemptPage>(ATTEMPTS_JOURNAL, ATTEMPTS_KEPT_MS)
  const isDirect = log.kind === 'embedded'
  const path = join(dataDir, ATTEMPTS_FILE)
  const history =
    serves || isDirect
      ? new AttemptHistory({ path, journal, isDirect, endpoints, searchSlices, clock, chance, logger })
      : null
  stack.push('the attempt history', () => history?.close())
  const sink = isDirect && history !== null ? history.sink : journalSink(journal)
  const queue = new AttemptQueue({ sink, clock, chance, metrics, logger })
  stack.push('the queue of attempts', () => queue.close())
  if (isDirect) history?.includePending((endpointIds) => queue.pendingOf(endpointIds))
  return { queue, history }
}
