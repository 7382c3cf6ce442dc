/**
 * Builds the HTTP API of a process with the role `api`, and an empty one for any other process. A role is one job of
 * the product; the settings give each process its roles.
 */
import { type Api, createApi, NO_API } from '../api/api.ts'
import type { Status } from '../api/routes/status.ts'
import type { AuditTrail } from '../audit/audit-trail.ts'
import type { Nodes } from '../registry/nodes.ts'
import type { PollingPauses } from '../registry/polling-pauses.ts'
import type { Streams } from '../streams/streams.ts'
import type { WebhookWiring } from '../webhooks/wiring.ts'
import type { Access } from './access.ts'
import { productChannels, topicsOfEvents } from './channels.ts'
import { hasRole, type StartContext } from './context.ts'
import type { LeaderView } from './leader-report.ts'
import type { Readers } from './readers.ts'
import type { Storage } from './storage.ts'

/** Registers the roles that keep its tables up to date; empty for a process without the role `api`. */
export function buildApi(
  context: StartContext,
  parts: {
    storage: Storage
    access: Access
    leader: LeaderView
    readers: Readers
    status: () => Status
    nodes: Nodes
    eventJourney: WebhookWiring['eventJourney']
    streams: Streams | null
    trail: AuditTrail | null
    pauses: PollingPauses
  },
): Api {
  if (!hasRole(context, 'api')) return NO_API
  const { settings, roles } = context
  const { storage, access, leader, readers, status, nodes, eventJourney, streams, trail, pauses } = parts
  const api = createApi({
    ...context,
    ...storage,
    ...access,
    ...readers,
    status,
    nodes,
    pauses,
    findEndpoints: eventJourney,
    findStreams: streams?.sendsOf,
    trail,
    doctor: context.doctor ?? null,
    upstreamNowMs: () => leader.upstreamNowMs(),
    nativeWord: settings.native.word,
    servesFunds: settings.gatewayUnits !== 0,
    topicsOf: topicsOfEvents(settings),
    channels: productChannels(settings.kafka?.topics ?? null),
  })
  roles.push(...api.roles)
  return api
}
