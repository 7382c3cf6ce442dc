/**
 * Serves the public listener over a store in memory: routes of api and streams on a real socket, with a clock that the
 * test moves.
 */
import type { IncomingMessage } from 'node:http'
import { disclosuresRoute } from '../../../src/api/routes/disclosures-route.ts'
import { eventRoute } from '../../../src/api/routes/event-route.ts'
import { filterTestRoute } from '../../../src/api/routes/filter-test-route.ts'
import { meRoute } from '../../../src/api/routes/me-route.ts'
import { rejectedRoute } from '../../../src/api/routes/rejected-route.ts'
import { ticketRoute } from '../../../src/api/routes/ticket-route.ts'
import { tokenRoutes } from '../../../src/api/routes/token-routes.ts'
import { topicsOfEvents } from '../../../src/app/channels.ts'
import type { Reader } from '../../../src/archive/reading/reader.ts'
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
import { createTickets, type Tickets } from '../../../src/registry/tickets.ts'
import { Tokens } from '../../../src/registry/tokens.ts'
import { createStreams, type Streams } from '../../../src/streams/streams.ts'
import { addressRules } from '../../../src/webhooks/address/rules.ts'
import { AttemptHistory } from '../../../src/webhooks/attempts/attempt-history.ts'
import {
  ATTEMPTS_JOURNAL,
  ATTEMPTS_KEPT_MS,
  type AttemptPage,
} from '../../../src/webhooks/attempts/attempt-record.ts'
import { attemptRoutes } from '../../../src/webhooks/attempts/attempt-routes.ts'
import { endpointRoutes } from '../../../src/webhooks/endpoints/endpoint-routes.ts'
import { rewrapRoute } from '../../../src/webhooks/endpoints/re-encrypt-route.ts'
import { createSecretBox, type SecretBox } from '../../../src/webhooks/endpoints/secrets.ts'
import { createHealthOf, type HealthSources } from '../../../src/webhooks/health/health-of.ts'
import { type ReplayWiring, wireReplays } from '../../../src/webhooks/replay/replay-wiring.ts'
import type { Attempt, Attempted } from '../../../src/webhooks/send/delivery.ts'
import { type KeptLine, keepingLogger } from '../keeping-logger.ts'
import { createMemoryLog } from '../memory-log.ts'
import { createStore, EPOCH, type Store } from '../store.ts'
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

export const TOKEN = 'token of this test'
const SECRET_KEY = 'the present key of this test, long enough'
export const OLD_SECRET_KEY = 'the key before of this test, long enough'
/** The upstream state in heartbeats of these tests. */
export const LAST_GOOD_POLL = '2026-06-01T05:59:59.000Z'
export const NEXT_POLL = '2026-06-01T06:00:04.000Z'

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
  /** The log of tokens and endpoints. */
  log: Log
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
    /** Sends test events and notifications; by default every endpoint accepts them. */
    attempt?: Attempt
  } = {},
): Promise<ApiServer> {
  const { count = 0, first = 1, maxClients = 100, corsOrigins = [], ...limits } = options
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
  const tickets = createTickets({ keys, clock })
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
  const { standingOf = () => null } = options
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
    upstream: () => ({
      lastGoodPoll: LAST_GOOD_POLL,
      nextPoll: NEXT_POLL,
      phase: 'open',
      asOf: LAST_GOOD_POLL,
    }),
    limits: readerLimits,
    ...(limits.rates && { rates: limits.rates }),
  })
  const app = createApp({
    ...(limits.rates && { rates: limits.rates }),
    routes: [
      disclosuresRoute({ reader, clock, limits: { ...readerLimits, onRefused }, stopping: stopping.signal }),
      eventRoute({
        archive: store.archive,
        reader,
        sendBuffers: readerLimits.sendBuffers,
        topicsOf: topicsOfEvents({ kafka: null, native: { kind: 'Native', word: 'native' } }),
      }),
      filterTestRoute(reader, readerLimits.sendBuffers),
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
      ...recovery.routes,
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
