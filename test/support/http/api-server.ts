/**
 * Serves the public listener over a store in memory: routes of api and streams on a real socket, with a clock that the
 * test moves.
 */
import type { IncomingMessage } from 'node:http'
import { journeyRoute } from '../../../src/api/journey/journey-route.ts'
import { createKeptPolls } from '../../../src/api/operations/kept-polls.ts'
import { disclosuresRoute } from '../../../src/api/routes/disclosures-route.ts'
import { eventRoute } from '../../../src/api/routes/event-route.ts'
import { filterTestRoute } from '../../../src/api/routes/filter-test-route.ts'
import { filterValueRoutes } from '../../../src/api/routes/filter-value-routes.ts'
import { meRoute } from '../../../src/api/routes/me-route.ts'
import { rejectedRoute } from '../../../src/api/routes/rejected-route.ts'
import { ticketRoute } from '../../../src/api/routes/ticket-route.ts'
import { tokenRoutes } from '../../../src/api/routes/token-routes.ts'
import { topicsOfEvents } from '../../../src/app/channels.ts'
import { sequenceOfName } from '../../../src/archive/named-event.ts'
import type { Reader } from '../../../src/archive/reading/reader.ts'
import { createSearchSlices } from '../../../src/archive/reading/search-slices.ts'
import { AppliedTimes } from '../../../src/archive/replica/applied-times.ts'
import type { ReplicaState } from '../../../src/archive/store/replica-progress.ts'
import { createApp } from '../../../src/http/app.ts'
import {
  type Authenticate,
  adminAuthenticate,
  type FindCaller,
  findCallerAmong,
} from '../../../src/http/auth.ts'
import { createReaderLimits, type ReaderLimits } from '../../../src/http/bounds/reader-limits.ts'
import { clientAddress } from '../../../src/http/bounds/remote-address.ts'
import { type Listener, listen } from '../../../src/http/listener.ts'
import type { RateLimits } from '../../../src/http/rate-limits.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import type { Journal } from '../../../src/log/journal.ts'
import type { Log } from '../../../src/log/log.ts'
import { createMetrics, type HttpRefusalCause, type Metrics } from '../../../src/obs/metrics.ts'
import { Endpoints } from '../../../src/registry/endpoints.ts'
import { IdempotencyKeys } from '../../../src/registry/idempotency-keys.ts'
import { Nodes } from '../../../src/registry/nodes.ts'
import { createTickets, type Tickets } from '../../../src/registry/tickets.ts'
import { Tokens } from '../../../src/registry/tokens.ts'
import type { UpstreamSnapshot } from '../../../src/streams/fanout/framing.ts'
import { createStreams, type Streams } from '../../../src/streams/streams.ts'
import { addressRules } from '../../../src/webhooks/address/rules.ts'
import { AttemptHistory } from '../../../src/webhooks/attempts/attempt-history.ts'
import {
  ATTEMPTS_JOURNAL,
  ATTEMPTS_KEPT_MS,
  type AttemptPage,
} from '../../../src/webhooks/attempts/attempt-record.ts'
import { attemptRoutes } from '../../../src/webhooks/attempts/attempt-routes.ts'
import type { DeliveryStanding } from '../../../src/webhooks/delivery-state/endpoint-state.ts'
import { endpointRoutes } from '../../../src/webhooks/endpoints/endpoint-routes.ts'
import { rewrapRoute } from '../../../src/webhooks/endpoints/re-encrypt-route.ts'
import { createSecretBox, type SecretBox } from '../../../src/webhooks/endpoints/secrets.ts'
import { createPlaceOf, type PlaceSources } from '../../../src/webhooks/health/delivery-place.ts'
import { eventDeliveriesRoute } from '../../../src/webhooks/health/event-deliveries-route.ts'
import { createEventJourney } from '../../../src/webhooks/health/event-journey.ts'
import { createHealthOf, type HealthSources } from '../../../src/webhooks/health/health-of.ts'
import { replayListRoutes, runningReplays } from '../../../src/webhooks/replay/replay-list-routes.ts'
import { type ReplayWiring, wireReplays } from '../../../src/webhooks/replay/replay-wiring.ts'
import type { Attempt, Attempted } from '../../../src/webhooks/send/delivery.ts'
import { type KeptLine, keepingLogger } from '../keeping-logger.ts'
import { createMemoryLog } from '../memory-log.ts'
import { createStore, EPOCH, REPLICA, type Store } from '../store.ts'
import { createManualClock, type ManualClock } from '../time/manual-clock.ts'

/** An attempt that the receiver accepted. */
const taken: Attempt = async () => ({
  end: { kind: 'answered', status: 204, retryAfter: null },
  phase: 'body',
  startedMs: 0,
  durationMs: 1,
  response: null,
  detail: null,
})

const ownReport = ({ latest: sequence }: Reader) => ({
  ...{ version: 'test', roles: ['api'], startedMs: 0, lagEvents: 0, lagMs: 0, filled: 1 },
  sequence,
})

export const TOKEN = 'token of this test'
/** The id of the node that this server stands for. */
export const NODE = 'bridge.test:42'
const SECRET_KEY = 'the present key of this test, long enough'
export const OLD_SECRET_KEY = 'the key before of this test, long enough'
/** What a delivering node says of an endpoint that has nothing to do. */
export const RESTING: DeliveryStanding = {
  pending: 0,
  oldestMs: null,
  dead: 0,
  forgotten: 0,
  failingSinceMs: null,
  unreadAfter: null,
}

/** The upstream state in heartbeats of these tests. */
export const UPSTREAM: UpstreamSnapshot = {
  upstreamState: 'throttled',
  lastGoodPoll: '2026-06-01T05:59:59.000Z',
  nextPoll: '2026-06-01T06:00:04.000Z',
  openGaps: 2,
  quotaRemaining: 640,
  leader: 'c0ffee012345',
  leaderSince: '2026-05-30T21:00:00.000Z',
  asOf: '2026-06-01T05:59:59.000Z',
  phase: 'open',
}

export interface ApiServer {
  store: Store
  clock: ManualClock
  feed: Streams
  metrics: Metrics
  lines: KeptLine[]
  limits: ReaderLimits
  /** Token registry over a separate log. */
  tokens: Tokens
  /** Endpoint registry over the same log. */
  endpoints: Endpoints
  tickets: Tickets
  /** The journal of that log, which the attempt history follows. */
  attempts: Journal<AttemptPage>
  recovery: ReplayWiring
  /** Test events, and attempts to deliver notifications. */
  attempted: Attempted[]
  secrets: SecretBox
  /** The log of tokens and endpoints, and of requests to the upstream. */
  log: Log
  /** When the events became visible on this node. */
  applied: AppliedTimes
  listener: Listener
  url: string
  auth: Record<string, string>
  /** Aborts long polls and streams as a stopping node does. */
  stop(): void
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts it over a store of `count` events from `first` on. `reader` = another reader than the store's own. */
export async function startApi(
  options: {
    count?: number
    first?: number
    /** The state of the store's copy; by default it is the log itself. */
    replica?: ReplicaState
    maxClients?: number
    reader?: (store: Store) => Reader
    authenticate?: Authenticate
    /** Authenticates callers with tickets; by default those of `tokens`. */
    findCaller?: FindCaller
    corsOrigins?: string[]
    /** The role `console`; by default it is on. */
    servesPages?: boolean
    maxPerToken?: number
    /** Time for the headers of a request. */
    headersTimeoutMs?: number
    /** The client address of a request; by default its socket's. */
    remoteAddress?: (request: IncomingMessage) => string | undefined
    /** Instead of one that follows an empty log. */
    tokens?: Tokens
    /** Instead of one that follows an empty log. */
    endpoints?: Endpoints
    /** Rates of requests and WebSocket handshakes; by default none. */
    rates?: RateLimits
    /** Allowed webhook targets; by default public hosts. */
    allowNets?: string[]
    /** How the deliveries of endpoints stand; by default no node has said. */
    standingOf?: HealthSources['standingOf']
    /** The state machines of endpoints; by default none is worked on here. */
    machineOf?: PlaceSources['machineOf']
    /** Sends test events and notifications; by default every endpoint accepts them. */
    attempt?: Attempt
  } = {},
): Promise<ApiServer> {
  const { count = 0, first = 1, maxClients = 100, corsOrigins = [], servesPages = true, ...limits } = options
  const clock = createManualClock()
  const store = createStore(clock, count, first, EPOCH, options.replica)
  const reader = options.reader?.(store) ?? store.reader
  const metrics = createMetrics({ version: '0' })
  const { logger, lines } = keepingLogger()
  const log = createMemoryLog()
  const tokens = options.tokens ?? new Tokens({ log, clock, logger })
  const endpoints = options.endpoints ?? new Endpoints({ log, clock, logger })
  const keys = { key: SECRET_KEY, oldKey: OLD_SECRET_KEY }
  const secrets = createSecretBox(keys)
  const tickets = createTickets({ keys, adminToken: null, clock })
  // Its timers stay out of the test's clock, on which tests wait for those of requests.
  const keysClock = { ...systemClock, now: () => clock.now() }
  const idempotencyKeys = new IdempotencyKeys({ log, clock: keysClock, logger })
  const rules = addressRules({ allowNets: options.allowNets ?? [], allowHttp: false, ports: [443, 8443] })
  const attempts = log.journal<AttemptPage>(ATTEMPTS_JOURNAL, ATTEMPTS_KEPT_MS)
  const chance = (): number => 0.5
  const history = new AttemptHistory({
    path: ':memory:',
    journal: attempts,
    isDirect: false,
    endpoints,
    searchSlices: createSearchSlices(clock),
    clock,
    chance,
    logger,
  })
  const attempted: Attempted[] = []
  const recovery = wireReplays({
    log,
    reader,
    findEvents: (ids) => store.archive.sequencesOf(ids, reader.latest),
    history,
    endpoints,
    idempotencyKeys,
    secrets,
    attempt: options.attempt ?? taken,
    onTested: (one) => attempted.push(one),
    onAttempted: (one) => attempted.push(one),
    clock,
    chance: () => 0.5,
    metrics,
    logger,
  })
  const { standingOf = () => RESTING } = options
  const healthOf = createHealthOf({ standingOf, history, reader, clock })
  const ended = new AbortController()
  const running = Promise.all([
    options.tokens === undefined ? tokens.run(ended.signal) : null,
    options.endpoints === undefined ? endpoints.run(ended.signal) : null,
    history.run(ended.signal),
    recovery.commands.run(ended.signal),
    idempotencyKeys.run(ended.signal),
  ])
  await until(() => options.tokens !== undefined || tokens.isLoaded)
  await until(() => options.endpoints !== undefined || endpoints.isLoaded)
  await until(() => recovery.commands.isLoaded && idempotencyKeys.isLoaded)
  const authenticate = options.authenticate ?? adminAuthenticate(TOKEN, tokens.authenticate)
  const stopping = new AbortController()
  const remoteAddress = limits.remoteAddress ?? (({ socket }: IncomingMessage) => socket.remoteAddress)
  const readerLimits = createReaderLimits({
    maxClients,
    ...(limits.maxPerToken === undefined ? {} : { maxPerToken: limits.maxPerToken }),
    clientOf: (request) =>
      clientAddress({ socket: { remoteAddress: remoteAddress(request) }, headers: {} }, []),
  })
  const onRefused = (cause: HttpRefusalCause): void => metrics.httpRefused.add({ cause })
  const feed = createStreams({
    reader,
    clock,
    chance: () => 0.5,
    metrics,
    logger,
    credentials: {
      authenticate,
      findCaller: options.findCaller ?? findCallerAmong(tokens.findCaller),
      tickets,
    },
    corsOrigins,
    servesPages,
    upstream: () => UPSTREAM,
    limits: readerLimits,
    ...(limits.rates && { rates: limits.rates }),
    tokens,
    node: { id: NODE, key: SECRET_KEY },
  })
  const placeOf = createPlaceOf({ machineOf: options.machineOf ?? (() => null), standingOf, clock })
  const applied = new AppliedTimes()
  const app = createApp({
    ...(limits.rates && { rates: limits.rates }),
    receiveBuffers: readerLimits.receiveBuffers,
    routes: [
      disclosuresRoute({ reader, clock, limits: { ...readerLimits, onRefused }, stopping: stopping.signal }),
      eventRoute({
        archive: store.archive,
        reader,
        sendBuffers: readerLimits.sendBuffers,
        topicsOf: topicsOfEvents({ kafka: null, native: { kind: 'Native', word: 'native' } }),
      }),
      filterTestRoute(reader, readerLimits.sendBuffers),
      ...filterValueRoutes({ archive: store.archive, reader, searchSlices: createSearchSlices(clock) }),
      ...tokenRoutes({ tokens, clock, logger }),
      ticketRoute(tickets),
      rejectedRoute(log),
      meRoute(tokens),
      rewrapRoute({ endpoints, secrets, clock, logger }),
      ...endpointRoutes({
        endpoints,
        idempotencyKeys,
        healthOf,
        reader,
        secrets,
        rules,
        hasten: recovery.commands.hasten,
        untilStopped: async () => undefined,
        clock,
        logger,
      }),
      ...attemptRoutes({ endpoints, history, reader }),
      eventDeliveriesRoute({
        endpoints,
        history,
        sequenceOf: (name) => sequenceOfName(store.archive, reader, name),
        placeOf,
        reader,
        clock,
      }),
      journeyRoute({
        archive: store.archive,
        reader,
        readPolls: createKeptPolls({ log, clock }),
        nodes: new Nodes({ table: null, id: NODE, report: () => ownReport(reader), applied, clock, logger }),
        findEndpoints: createEventJourney({ endpoints, history, placeOf, reader, clock }),
        findStreams: feed.sendsOf,
        logKind: options.replica === REPLICA ? 'kafka' : 'embedded',
        aheadMs: () => 0,
        key: SECRET_KEY,
        clock,
      }),
      ...recovery.routes,
      ...replayListRoutes({
        endpoints,
        commands: recovery.commands,
        runningOf: runningReplays(standingOf),
        logger,
      }),
      ...feed.routes,
    ],
    authenticate,
    corsOrigins,
    logger,
  })
  const listener = await listen(app, {
    host: '127.0.0.1',
    port: 0,
    setting: 'X',
    clock: systemClock,
    logger,
    upgrade: feed.upgrade,
    ...(limits.headersTimeoutMs === undefined ? {} : { headersTimeoutMs: limits.headersTimeoutMs }),
  })
  const feeding = feed.run(ended.signal)
  const stop = (): void => {
    stopping.abort()
    feed.stop()
  }
  return {
    store,
    clock,
    feed,
    metrics,
    lines,
    limits: readerLimits,
    tokens,
    tickets,
    endpoints,
    attempts,
    recovery,
    attempted,
    secrets,
    log,
    applied,
    listener,
    url: listener.url,
    auth: { authorization: `Bearer ${TOKEN}` },
    stop,
    async [Symbol.asyncDispose]() {
      stop()
      await listener.close(0)
      ended.abort()
      await running
      await feeding
      history.close()
      await log.close()
      store.archive.close()
    },
  }
}

/** Resolves when the condition holds; checked after every tick of the event loop. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve))
}
