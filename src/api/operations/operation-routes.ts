/**
 * Builds the routes that show how the bridge works: arrivals, polls, the quota, the nodes, the consumers and the
 * doctor; and those by which an operator acts on it.
 */
import type { Route } from '../../http/route.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Log } from '../../log/log.ts'
import { type AdminParts, adminRoutes } from './admin-routes.ts'
import { type ArrivalsParts, arrivalsRoute } from './arrivals-route.ts'
import { consumersRoute } from './consumers-route.ts'
import { type DoctorAnswer, doctorRoute } from './doctor-route.ts'
import type { ReadKeptPolls } from './kept-polls.ts'
import { knownTargets, type TargetSources } from './known-targets.ts'
import { createLeaderFigures } from './leader-figures.ts'
import { type NodesParts, nodesRoute } from './nodes-route.ts'
import { pollsRoute } from './polls-route.ts'
import { quotaRoute } from './quota-route.ts'

/** What the routes work with. */
export interface OperationParts extends ArrivalsParts, Pick<AdminParts, 'pauses' | 'logLevel'> {
  log: Pick<Log, 'requests' | 'table' | 'consumers'>
  readPolls: ReadKeptPolls
  clock: Clock
  nodes: NodesParts['nodes']
  status: () => { leader: { id: string | null } } & ReturnType<TargetSources['status']>
  days: TargetSources['days']
  /** What the doctor finds on this node; null: the process was started without one. */
  doctor: (() => DoctorAnswer['data']) | null
  /** `BRIDGE_SECRET_KEY`. */
  keys: { key: string }
}

/** The routes. */
export function operationRoutes(parts: OperationParts): Route[] {
  const { log, clock, nodes, status, keys } = parts
  const leader = { requests: log.requests, clock }
  const leaderId = (): string | null => status().leader.id
  const figures = createLeaderFigures(leader)
  return [
    arrivalsRoute(parts),
    quotaRoute({ ...parts, figures }),
    pollsRoute(parts),
    nodesRoute({ nodes, leaderId, key: keys.key }),
    consumersRoute(log),
    doctorRoute(parts.doctor),
    ...adminRoutes({
      ...{ ...leader, nodes, leaderId, pauses: parts.pauses, logLevel: parts.logLevel },
      known: knownTargets(parts),
    }),
  ]
}
