/**
 * `npm run docs`: the pages that follow from the code, whole or in their blocks of code, and the dashboards. Owns their text around the tables. Refuses to be the source of
 * any name: settings, metrics, routes and problem codes come from where the program takes them.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dashboardFiles } from '../deploy/monitoring/boards/boards.ts'
import { journeyRoute } from '../src/api/journey/journey-route.ts'
import { auditRoute } from '../src/api/operations/audit-route.ts'
import { operationRoutes } from '../src/api/operations/operation-routes.ts'
import { disclosuresRoute } from '../src/api/routes/disclosures-route.ts'
import { asyncApiRoute, openApiRoute } from '../src/api/routes/document-route.ts'
import { eventRoute } from '../src/api/routes/event-route.ts'
import { filterTestRoute } from '../src/api/routes/filter-test-route.ts'
import { filterValueRoutes } from '../src/api/routes/filter-value-routes.ts'
import { rejectedRoute } from '../src/api/routes/rejected-route.ts'
import { reportRoute } from '../src/api/routes/report-route.ts'
import { statusRoute } from '../src/api/routes/status.ts'
import { ticketRoute } from '../src/api/routes/ticket-route.ts'
import { tokenRoutes } from '../src/api/routes/token-routes.ts'
import { createReader } from '../src/archive/reading/reader.ts'
import { RecentEvents } from '../src/archive/reading/recent-events.ts'
import { createSearchSlices } from '../src/archive/reading/search-slices.ts'
import { openArchive } from '../src/archive/store/archive.ts'
import { sessionRoutes } from '../src/console/session-routes.ts'
import { createCalendar } from '../src/core/calendar/calendar.ts'
import { MINUTE_MS } from '../src/core/durations.ts'
import { VERSION } from '../src/core/version.ts'
import { errorCodes, exitMeanings } from '../src/errors.ts'
import { createReaderLimits } from '../src/http/bounds/reader-limits.ts'
import { MAX_BODY_BYTES, MAX_HEADER_BYTES, MAX_URL_BYTES } from '../src/http/limits.ts'
import { opsPaths } from '../src/http/ops.ts'
import { problemCodes } from '../src/http/problem.ts'
import { type AnyRoute, meaningOf, type RouteBody } from '../src/http/route.ts'
import { jsonSchema } from '../src/http/schemas/json-schema.ts'
import { systemClock } from '../src/lifecycle/clock.ts'
import { lastingFaults } from '../src/obs/lasting-faults.ts'
import { logAdvice } from '../src/obs/log-advice.ts'
import { logEvents } from '../src/obs/log-events.ts'
import { createLogger } from '../src/obs/logger.ts'
import { createMetrics } from '../src/obs/metrics.ts'
import { Endpoints } from '../src/registry/endpoints.ts'
import { IdempotencyKeys } from '../src/registry/idempotency-keys.ts'
import { PollingPauses } from '../src/registry/polling-pauses.ts'
import { createSessions } from '../src/registry/sessions.ts'
import type { Tickets } from '../src/registry/tickets.ts'
import { Tokens } from '../src/registry/tokens.ts'
import { fileNames } from '../src/settings/environment.ts'
import { docOf, settingNames } from '../src/settings/schema.ts'
import { createStreams } from '../src/streams/streams.ts'
import { closeMeanings, errorNames } from '../src/streams/transport/refusal.ts'
import { addressRules } from '../src/webhooks/address/rules.ts'
import { attemptRoutes } from '../src/webhooks/attempts/attempt-routes.ts'
import { endpointRoutes } from '../src/webhooks/endpoints/endpoint-routes.ts'
import { rewrapRoute } from '../src/webhooks/endpoints/re-encrypt-route.ts'
import type { SecretBox } from '../src/webhooks/endpoints/secrets.ts'
import { eventDeliveriesRoute } from '../src/webhooks/health/event-deliveries-route.ts'
import { replayListRoutes } from '../src/webhooks/replay/replay-list-routes.ts'
import { wireReplays } from '../src/webhooks/replay/replay-wiring.ts'
import { readSources } from '../test/support/house/imports.ts'
import { lineLevels, loggedEvents } from '../test/support/house/log-calls.ts'
import { createMemoryLog } from '../test/support/memory-log.ts'
import { withSnippets } from './snippets.ts'

const GENERATED = '<!-- Made by `npm run docs` from the code. Do not edit. -->'

/** Every generated page: file name to text. */
export function generatedPages(): Record<string, string> {
  return {
    'configuration.md': configurationPage(),
    'metrics.md': metricsPage(),
    'errors.md': errorsPage(),
    'log-events.md': logEventsPage(),
    'use/http.md': httpPage(),
    'use/webhooks-receivers.md': withFiles('use/webhooks-receivers.md'),
    'use/streams-recipes.md': withFiles('use/streams-recipes.md'),
  }
}

/** A page with the files that it shows. */
function withFiles(name: string): string {
  return withSnippets(ownText(name), (path) => ownText(`../${path}`))
}

/** A file as it lies there, named from this folder. */
function ownText(path: string): string {
  return readFileSync(join(import.meta.dirname, path), 'utf8')
}

function configurationPage(): string {
  const rows = settingNames.map((name) => {
    const doc = docOf(name)
    const fallback = doc.default === null ? (doc.shown ?? '–') : `\`${doc.default}\``
    const secret = fileNames.has(`${name}_FILE`) ? ' Secret: also as `_FILE`.' : ''
    return [`\`${name}\``, fallback, `${doc.meaning}${secret}`]
  })
  return page(
    'Settings',
    'Settings come from the environment, and from a file `.env` in the working directory where there is one; the',
    'environment wins. An empty value there counts as absent, whatever `.env` says. An unknown name that begins with `BRIDGE_` stops the start and',
    'is answered with the near match; everything wrong is listed at once, with exit code 3.',
    '',
    'A secret may stand in a file: `NAME_FILE` gives its path. Give one of the two. Secrets are never shown or logged.',
    '',
    'Durations are ISO 8601 (`PT30S`, `P1D`, `P1Y`); a month counts as 30 days, a year as 365.',
    '',
    ...table(['Name', 'Default', 'Meaning'], rows),
  )
}

function metricsPage(): string {
  const { docs } = createMetrics({ version: VERSION })
  const rows = docs.map(({ name, type, help, labels }) => {
    const sets = Object.entries(labels).map(([label, values]) =>
      name === 'bridge_build_info' || name === 'bridge_info'
        ? `\`${label}\``
        : `\`${label}\`: ${values.join(', ')}`,
    )
    return [`\`${name}\``, type, help, sets.join('; ') || '–']
  })
  return page(
    'Metrics',
    'On the ops listener at `/metrics`, as Prometheus text, or as OpenMetrics [with exemplars](run/traces.md#from-a-slow-bucket-to-its-trace). Labels are closed sets and every series is there at zero',
    'from the start, except what only the leader knows: other processes have no series of that. ' +
      "Node's own metrics (`process_*`, `nodejs_*`) come with them. Figures of one client or one gap are",
    'in the API and the log, not in labels.',
    '',
    ...table(['Name', 'Type', 'Meaning', 'Labels'], rows),
  )
}

function httpPage(): string {
  return page(
    'HTTP API',
    'Send `Authorization: Bearer <token>` with every request but those that are open; `BRIDGE_ADMIN_TOKEN` is the first',
    'token, and makes the others: [tokens.md](tokens.md). How to read, resume and handle gaps: [streams.md](streams.md).',
    'A path with GET takes HEAD too; POST and PATCH take a JSON object with `Content-Type: application/json`, or no body',
    'where none is described; an empty JSON object counts as none. Unknown parameters and members are refused with the near match, and so is a name that',
    'stands twice in one object. For tools, the same stands in `/openapi.json`,',
    'and what comes by Kafka, webhook and stream in `/asyncapi.json`: [asyncapi.md](asyncapi.md).',
    'The upstream API below `/v2` has rules of its own: [mirror.md](mirror.md).',
    '',
    ...documentedRoutes().flatMap(routeSection),
    '## Errors',
    'Errors are `application/problem+json`: `type`, `title`, `status`, `detail`, `code`, and the list `errors` of',
    '`{field, message}`, empty where no field is to blame. Every `code`: [errors.md](../errors.md#http).',
    '',
    '## Limits',
    `An address has at most ${MAX_URL_BYTES} bytes; headers have ${MAX_HEADER_BYTES / 1024} KB,`,
    `a body ${MAX_BODY_BYTES / 1024} KB where its path says nothing else. Headers must arrive within 10 s, the whole`,
    'request within 30 s. Send the next request of a connection when you have the answer to the one before: behind it',
    'at most eight may wait. A client that takes nothing of its answer for 30 s is disconnected. Each answer says in the',
    'headers `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` how many requests you may send;',
    'one too many is answered 429 `rate_limited` with `Retry-After`: [http-limits.md](../run/http-limits.md).',
    'Browsers may call from the origins in `BRIDGE_CORS_ORIGINS`.',
    '',
    '## Ops listener',
    'Its own host and port, no token; on loopback unless set otherwise.',
    '',
    ...table(
      ['Path', 'Answer'],
      Object.entries(opsPaths).map(([path, answer]) => [`\`GET ${path}\``, answer]),
    ),
  )
}

/** What a client does after a close code, in words. */
const comeBackWords = {
  never: 'do not come back',
  later: 'come back later',
  at_once: 'come back at once',
  corrected: 'come back after a correction',
}

function errorsPage(): string {
  const problems = Object.entries(problemCodes).map(([code, [status, title, remedy]]) => [
    `\`${code}\``,
    String(status),
    title,
    remedy,
  ])
  return page(
    'Errors',
    'Every code that a bridge answers, closes with or writes to its log.',
    '',
    '## HTTP',
    'The `code` of an `application/problem+json` answer.',
    '',
    ...table(['Code', 'Status', 'Title', 'What to do'], problems),
    '',
    '## WebSocket close codes',
    'The reason text ends in `cursor=<resume point>` where there is one.',
    '',
    ...table(
      ['Code', 'Meaning', 'Client'],
      Object.entries(closeMeanings).map(([code, { meaning, comeBack }]) => [
        code,
        meaning,
        comeBackWords[comeBack],
      ]),
    ),
    '',
    '## WebSocket error messages',
    'The `code` and `name` of a message of type `error`; what each does to the connection: [websocket.md](use/websocket.md#errors).',
    '',
    ...table(
      ['Code', 'Name'],
      Object.entries(errorNames).map(([code, name]) => [code, `\`${name}\``]),
    ),
    '',
    '## Faults of the process',
    'The `code` of an error in a log line, or of the message with which a command ends.',
    '',
    ...table(
      ['Code', 'Meaning'],
      Object.entries(errorCodes).map(([code, meaning]) => [`\`${code}\``, meaning]),
    ),
    '',
    '## Exit codes',
    '',
    ...table(
      ['Code', 'Meaning'],
      Object.entries(exitMeanings).map(([code, meaning]) => [code, meaning]),
    ),
  )
}

function logEventsPage(): string {
  const advice: Readonly<Record<string, string>> = logAdvice
  const sources = readSources(join(import.meta.dirname, '..'), 'src')
  const levels = loggedEvents(sources, new Set(Object.keys(logEvents)))
  return page(
    'Log events',
    'The process log is one JSON line for each event, on stderr: `level`, `time`, `event`, the facts of the event, and `msg`,',
    'its meaning as in this table with what to do. On a terminal it is text (`BRIDGE_LOG_FORMAT`). Levels: `error` needs a person, `warn` should be known, `info` is normal work, `debug` is',
    'for developers.',
    '',
    ...table(
      ['Event', 'Level', 'Meaning', 'What to do'],
      Object.entries(logEvents).map(([event, meaning]) => [
        `\`${event}\``,
        lineLevels.filter((level) => levels.get(event)?.has(level)).join(', '),
        meaning,
        advice[event] ?? '',
      ]),
    ),
    '',
    '## Bad states that last',
    'A bad state is logged once as `fault.lasting` when it has lasted, and once as `fault.over` when it is over. While the log',
    'itself is in a bad state, nothing is said of what depends on it.',
    '',
    ...table(
      ['`what`', 'Logged', '`hint`'],
      Object.entries(lastingFaults).map(([what, { afterMs, hint }]) => [
        `\`${what}\``,
        afterMs === 0 ? 'at once' : `after ${afterMs / MINUTE_MS} minutes`,
        hint,
      ]),
    ),
  )
}

function accessOf(route: AnyRoute): string {
  const { scope } = route
  if (scope === 'open') return route.takesToken === true ? 'Any valid token' : 'Open to everybody'
  return scope === null ? 'Any valid token' : `Scope \`${scope}\``
}

function bodyTable({ schema, maxBytes }: RouteBody): string[] {
  const { properties = {}, required = [] } = jsonSchema(schema)
  const rows = Object.entries(properties).map(([name, { description = '' }]) => [
    `\`${name}\``,
    required.includes(name) ? `${description} Required.` : description,
  ])
  return [`Body, at most ${maxBytes / 1024} KB:`, '', ...table(['Member', 'Meaning'], rows), '']
}

function routeSection(route: AnyRoute): string[] {
  const parameters = Object.entries(route.parameters).map(([name, described]) => [
    `\`${name}\``,
    meaningOf(described),
  ])
  return [
    `## \`${route.method} ${route.path}\``,
    `${route.summary} ${accessOf(route)}.`,
    '',
    ...(parameters.length === 0
      ? []
      : [
          ...table(
            ['Parameter', 'Meaning'],
            route.takesFilter === true
              ? [...parameters, ['filter fields', 'See [filters.md](filters.md).']]
              : parameters,
          ),
          '',
        ]),
    ...(route.body === undefined ? [] : bodyTable(route.body)),
  ]
}

/** Nothing is wrapped for the docs. */
const noSecrets: SecretBox = { wrap: () => '', unwrap: () => '', rewrap: () => null }

/** No stream is opened for the docs. */
const noTickets: Tickets = {
  give: () => ({ ticket: '', expiresAtMs: 0 }),
  take: () => 'unknown',
  peek: () => 'unknown',
  enter: () => 'unknown',
}

/** No token is known. */
const nobody: Record<'authenticate' | 'findCaller', () => 'unknown'> = {
  authenticate: () => 'unknown',
  findCaller: () => 'unknown',
}

/** No log is written. */
const noLevel = { level: 'info', usual: 'info', untilMs: null }

/** The routes of all roles, over an empty store. */
export function documentedRoutes(): AnyRoute[] {
  const archive = openArchive({ path: ':memory:', nativeKind: 'Native', durable: false })
  const reader = createReader(archive, new RecentEvents(0), systemClock)
  const logger = createLogger({ level: 'silent', secrets: [] })
  const limits = createReaderLimits({ maxClients: 0, clientOf: () => null })
  const feed = createStreams({
    reader,
    clock: systemClock,
    chance: () => 0,
    metrics: createMetrics({ version: VERSION }),
    logger,
    credentials: { ...nobody, tickets: noTickets },
    corsOrigins: [],
    servesPages: false,
    upstream: () => {
      throw new Error('the docs ask for no upstream')
    },
    limits,
    tokens: { get: () => null },
    node: { id: '', key: '' },
  })
  const status = statusRoute(() => {
    throw new Error('the docs ask for no status')
  }, '')
  const pull = disclosuresRoute({
    reader,
    clock: systemClock,
    limits: { ...limits, onRefused: () => undefined },
    stopping: new AbortController().signal,
  })
  const tokens = new Tokens({ log: createMemoryLog(), clock: systemClock, logger })
  const endpoints = new Endpoints({ log: createMemoryLog(), clock: systemClock, logger })
  const rules = addressRules({ allowNets: [], allowHttp: false, ports: [] })
  const idempotencyKeys = new IdempotencyKeys({ log: createMemoryLog(), clock: systemClock, logger })
  const keys = { key: '', oldKey: null }
  const sessions = createSessions({ ...nobody, keys, adminToken: null, clock: systemClock })
  const healthOf = () => Promise.reject(new Error('the docs ask for no health'))
  const hooks = {
    endpoints,
    idempotencyKeys,
    healthOf,
    reader,
    rules,
    secrets: noSecrets,
    clock: systemClock,
    logger,
  }
  const recovery = wireReplays({
    ...hooks,
    log: createMemoryLog(),
    findEvents: () => new Map(),
    history: null,
    attempt: () => Promise.reject(new Error('the docs send nothing')),
    onTested: () => undefined,
    onAttempted: () => undefined,
    chance: () => 0,
    metrics: createMetrics({ version: VERSION }),
  })
  const searchSlices = createSearchSlices(systemClock)
  archive.close()
  return [
    pull,
    eventRoute({ archive, reader, sendBuffers: limits.sendBuffers, topicsOf: () => null }),
    ...feed.routes,
    filterTestRoute(reader, limits.sendBuffers),
    ...filterValueRoutes({ archive, reader, searchSlices: createSearchSlices(systemClock) }),
    ...endpointRoutes({
      ...hooks,
      hasten: recovery.commands.hasten,
      untilStopped: recovery.commands.untilStopped,
    }),
    ...attemptRoutes({
      ...hooks,
      history: { attempts: () => [], attemptsOfEvent: async () => [], deliveries: () => [] },
    }),
    eventDeliveriesRoute({
      ...hooks,
      history: { deliveriesOf: () => new Map() },
      sequenceOf: () => 0,
      placeOf: () => 'unknown',
    }),
    ...recovery.routes,
    ...replayListRoutes({ ...hooks, commands: recovery.commands, runningOf: () => [] }),
    rewrapRoute(hooks),
    ...tokenRoutes({ tokens, clock: systemClock, logger }),
    ticketRoute(noTickets),
    auditRoute({ list: () => [] }),
    ...sessionRoutes({ ...nobody, sessions, tokens, clock: systemClock, logger }),
    status,
    reportRoute({ last: () => null }),
    journeyRoute({
      archive,
      reader,
      readPolls: async () => new Map(),
      nodes: { reachedBy: () => [] },
      logKind: 'embedded',
      aheadMs: () => 0,
      key: '',
      clock: systemClock,
    }),
    ...operationRoutes({
      archive,
      readPolls: async () => new Map(),
      reader,
      searchSlices,
      log: createMemoryLog(),
      nodes: { list: () => [], heardMs: null },
      days: { last: () => null },
      status: () => ({ leader: { id: null }, gaps: null }),
      doctor: null,
      pauses: new PollingPauses({ log: createMemoryLog(), clock: systemClock, logger }),
      logLevel: { state: noLevel, set: () => noLevel },
      keys: { key: '' },
      calendar: createCalendar(),
      upstreamNowMs: () => 0,
      clock: systemClock,
    }),
    rejectedRoute({ rejectedPage: async () => [] }),
    asyncApiRoute([]),
    openApiRoute({ routes: [], mirror: { prefix: '', routes: [] } }),
  ]
}

function page(title: string, ...lines: string[]): string {
  return `${[`# ${title}`, GENERATED, '', ...lines].join('\n').trimEnd()}\n`
}

function table(head: string[], rows: string[][]): string[] {
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)]
}

if (import.meta.main) {
  for (const [name, text] of Object.entries(generatedPages())) {
    writeFileSync(join(import.meta.dirname, name), text)
  }
  for (const [name, text] of Object.entries(dashboardFiles())) {
    writeFileSync(join(import.meta.dirname, '../deploy/monitoring/dashboards', name), text)
  }
}
