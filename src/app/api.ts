/**
 * Builds the routes of the role `api` and the mirror of the upstream API below `/v2`.
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
import type { Mount } from '../http/app.ts'
import type { AnyRoute } from '../http/route.ts'
import type { Ingest } from '../ingest/ingest.ts'
import type { Access } from './access.ts'
import { productChannels } from './channels.ts'
import { hasRole, type StartContext } from './context.ts'
import type { Storage } from './storage.ts'

/** Where the mirror of the upstream API is served. */
const MIRROR_PREFIX = '/v2'

/** What the public listener serves for this role. */
export interface Api {
  routes: AnyRoute[]
  mounts: Mount[]
  /** These routes, which are all of the process, and those of the OpenAPI and AsyncAPI documents that describe them. */
  documented(routes: readonly AnyRoute[]): AnyRoute[]
}

/** Empty for a process without the role `api`. */
export function buildApi(
  context: StartContext,
  parts: { storage: Storage; access: Access; ingest: Ingest | null; status: () => Status },
): Api {
  if (!hasRole(context, 'api')) return { routes: [], mounts: [], documented: (routes) => [...routes] }
  const { settings, clock, logger, roles, stopping } = context
  const { storage, access, status } = parts
  const { authenticate, tokens, tickets } = access
  const { log, reader } = storage
  const days = createDayReplica(log.table(DAYS_TABLE))
  roles.push({ name: 'reports', run: (signal) => days.run(signal) })
  const mirrored = mirrorRoutes(context, storage, parts.ingest)
  return {
    routes: [
      disclosuresRoute({ reader, clock, stopping }),
      filterTestRoute(reader),
      statusRoute(status),
      reportRoute(days),
      ...tokenRoutes({ tokens, clock, logger }),
      ticketRoute(tickets),
    ],
    mounts: [{ prefix: MIRROR_PREFIX, handler: bridgeMirror({ routes: mirrored, authenticate, logger }) }],
    documented(routes) {
      const all = [...routes, asyncApiRoute(productChannels(settings.kafka?.topics ?? null))]
      all.push(openApiRoute({ routes: all, mirror: { prefix: MIRROR_PREFIX, routes: mirrored } }))
      return all
    },
  }
}

function mirrorRoutes(context: StartContext, storage: Storage, ingest: Ingest | null): MirrorRoute[] {
  const { settings, clock, roles } = context
  const { log, archive, replicator, searchSlices } = storage
  const exchanges = createExchangeReplica(log.table(EXCHANGES_TABLE))
  roles.push({ name: 'exchanges', run: (signal) => exchanges.run(signal) })
  return [
    ...copiedItemRoutes({
      items: archiveItems(archive, clock, searchSlices),
      copy: replicator.replica,
      now: () => ingest?.upstreamNowMs() ?? clock.now(),
      nativeWord: settings.native.word,
    }),
    ...referenceRoutes(exchanges),
    ...fundRoutes(
      settings.gatewayUnits === 0 ? fundsOff : createFundGateway({ requests: log.requests, clock }),
    ),
  ]
}
