/**
 * Builds the HTTP routes of a process with the role `api`: the bridge's own paths, and the mirror below `/v2`. The
 * mirror answers in the form of the upstream API, so that its clients can use the bridge instead.
 */
import { createDayReplica, DAYS_TABLE } from '../archive/days.ts'
import { archiveItems } from '../archive/items/items.ts'
import type { Reader } from '../archive/reading/reader.ts'
import type { SearchSlices } from '../archive/reading/search-slices.ts'
import type { Archive } from '../archive/store/archive.ts'
import type { AuditTrail } from '../audit/audit-trail.ts'
import type { Calendar } from '../core/calendar/calendar.ts'
import type { Mount } from '../http/app.ts'
import type { Authenticate } from '../http/auth.ts'
import type { Channel } from '../http/channel.ts'
import type { RateLimits } from '../http/rate-limits.ts'
import type { AnyRoute } from '../http/route.ts'
import type { Clock } from '../lifecycle/clock.ts'
import type { Role } from '../lifecycle/supervisor.ts'
import type { Log } from '../log/log.ts'
import type { LogLevel } from '../obs/log-level.ts'
import type { Logger } from '../obs/logger.ts'
import type { Nodes } from '../registry/nodes.ts'
import type { PollingPauses } from '../registry/polling-pauses.ts'
import type { Tickets } from '../registry/tickets.ts'
import type { Tokens } from '../registry/tokens.ts'
import type { FindEndpoints, FindStreams } from './journey/journey-facts.ts'
import { journeyRoute } from './journey/journey-route.ts'
import { fundRoutes } from './mirror/fund-routes.ts'
import { referenceRoutes } from './mirror/reference-routes.ts'
import { descriptionRoute } from './openapi/upstream-document.ts'
import { auditRoute } from './operations/audit-route.ts'
import type { Doctor } from './operations/doctor-route.ts'
import { createKeptPolls } from './operations/kept-polls.ts'
import { operationRoutes } from './operations/operation-routes.ts'
import { disclosuresRoute } from './routes/disclosures-route.ts'
import { asyncApiRoute, openApiRoute } from './routes/document-route.ts'
import { eventRoute, type TopicsOf } from './routes/event-route.ts'
import { filterTestRoute } from './routes/filter-test-route.ts'
import { filterValueRoutes } from './routes/filter-value-routes.ts'
import { createFundGateway, fundsOff } from './routes/fund-gateway.ts'
import { bridgeMirror } from './routes/mirror-router.ts'
import type { PullLimits } from './routes/pull-places.ts'
import { createReferenceCopy } from './routes/reference-copy.ts'
import { rejectedRoute } from './routes/rejected-route.ts'
import { copiedItemRoutes } from './routes/replica-items.ts'
import { reportRoute } from './routes/report-route.ts'
import { type Status, statusRoute } from './routes/status.ts'
import { ticketRoute } from './routes/ticket-route.ts'
import { tokenRoutes } from './routes/token-routes.ts'

/** Where the mirror of the upstream API is served. */
const MIRROR_PREFIX = '/v2'

/** What the role works with. */
export interface ApiParts {
  log: Log
  archive: Archive
  reader: Reader
  searchSlices: SearchSlices
  tokens: Tokens
  tickets: Tickets
  authenticate: Authenticate
  status: () => Status
  nodes: Nodes
  pauses: PollingPauses
  /** What the journey of an event says of webhooks and streams; absent where this process has none. */
  findEndpoints?: FindEndpoints | undefined
  findStreams?: FindStreams | undefined
  /** The audit entries that this node knows; null: it serves none. */
  trail: Pick<AuditTrail, 'list'> | null
  /** What the doctor finds on this node; null: the process was started without one. */
  doctor: Doctor | null
  /** `BRIDGE_SECRET_KEY`. */
  keys: { key: string }
  calendar: Calendar
  /** The upstream's present time, ms since 1970. */
  upstreamNowMs: () => number
  /** The word that replaces `native` in parameter names of the upstream API. */
  nativeWord: string
  /** Whether requests for fund data may go to the upstream. */
  servesFunds: boolean
  topicsOf: TopicsOf
  /** Every channel of the product, for `/asyncapi.json`. */
  channels: readonly Channel[]
  clock: Clock
  logger: Logger
  logLevel: LogLevel
  limits: PullLimits
  /** Rates of requests below `/v2`. */
  rates: RateLimits
  /** Aborts when the process begins to stop. */
  stopping: AbortSignal
}

/** What the public listener serves for this role. */
export interface Api {
  /** What runs as long as the process does. */
  roles: readonly Role[]
  routes: readonly AnyRoute[]
  mounts: readonly Mount[]
  /** These routes, which are all of the process, and those of the OpenAPI and AsyncAPI documents that describe them. */
  documented(routes: readonly AnyRoute[]): AnyRoute[]
}

/** The API of a process that does not have the role. */
export const NO_API: Api = {
  roles: [],
  routes: [],
  mounts: [],
  documented: (routes) => [...routes],
}

/** The API over these parts. Reports and exchanges are empty until its roles run. */
export function createApi(parts: ApiParts): Api {
  const { log, archive, reader, tokens, tickets, authenticate, clock, logger, limits, doctor } = parts
  const days = createDayReplica(log.table(DAYS_TABLE))
  const references = createReferenceCopy({ log, clock, logger })
  const readPolls = createKeptPolls({ log, clock })
  const mirrored = [
    ...copiedItemRoutes({
      items: archiveItems(archive, clock, parts.searchSlices),
      copy: reader.replica,
      now: parts.upstreamNowMs,
      nativeWord: parts.nativeWord,
    }),
    ...referenceRoutes(references),
    ...fundRoutes(parts.servesFunds ? createFundGateway({ requests: log.requests, clock }) : fundsOff),
  ]
  mirrored.push(descriptionRoute(mirrored))
  return {
    roles: [
      { name: 'reports', run: (signal) => days.run(signal) },
      { name: 'exchanges', run: references.run },
    ],
    routes: [
      disclosuresRoute({ reader, clock, limits, stopping: parts.stopping }),
      eventRoute({ archive, reader, sendBuffers: limits.sendBuffers, topicsOf: parts.topicsOf }),
      journeyRoute({
        ...parts,
        readPolls,
        logKind: log.kind,
        aheadMs: () => parts.upstreamNowMs() - clock.now(),
        key: parts.keys.key,
      }),
      filterTestRoute(reader, limits.sendBuffers),
      ...filterValueRoutes({ archive, reader, searchSlices: parts.searchSlices }),
      statusRoute(parts.status, parts.keys.key),
      reportRoute(days),
      ...operationRoutes({
        ...parts,
        ...{ readPolls, days },
        doctor: doctor === null ? null : () => doctor(parts.status()),
      }),
      rejectedRoute(log),
      ...tokenRoutes({ tokens, clock, logger }),
      ticketRoute(tickets),
      ...(parts.trail === null ? [] : [auditRoute(parts.trail)]),
    ],
    mounts: [
      {
        prefix: MIRROR_PREFIX,
        handler: bridgeMirror({
          routes: mirrored,
          authenticate,
          sendBuffers: limits.sendBuffers,
          rates: parts.rates,
          logger,
        }),
      },
    ],
    documented(routes) {
      const all = [...routes, asyncApiRoute(parts.channels)]
      all.push(openApiRoute({ routes: all, mirror: { prefix: MIRROR_PREFIX, routes: mirrored } }))
      return all
    },
  }
}
