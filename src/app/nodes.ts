/** Builds the list of the nodes that share the log, in which this process takes part whatever its roles are. */

import { MINUTE_MS } from '../core/durations.ts'
import { VERSION } from '../core/version.ts'
import { nodeId } from '../lifecycle/node-id.ts'
import { NODES_TABLE, type NodeRow } from '../registry/node-rows.ts'
import { Nodes } from '../registry/nodes.ts'
import type { StartContext } from './context.ts'
import type { Storage } from './storage.ts'

/** What a row tells of when events became visible: a lost row or seven leave no hole, and a row stays small. */
const TOLD_MS = 2 * MINUTE_MS
const TOLD_POINTS = 64

/** Registers the role that writes this node's rows and reads those of others, where others may share the log. */
export function buildNodes(context: StartContext, { log, reader, replicator }: Storage): Nodes {
  const { settings, clock, logger, roles } = context
  const startedMs = clock.now()
  const nodes = new Nodes({
    table: log.kind === 'kafka' ? log.table<NodeRow>(NODES_TABLE) : null,
    id: nodeId(),
    report() {
      const applied = replicator.applied.newest(clock.now() - TOLD_MS, TOLD_POINTS)
      return {
        version: VERSION,
        roles: [...settings.roles],
        startedMs,
        sequence: reader.latest,
        // Rows of other versions hold a number.
        lagEvents: replicator.lag.events ?? 0,
        lagMs: replicator.lagMs ?? 0,
        filled: replicator.replica.filling?.share ?? 1,
        ...(applied && { applied: { ...applied, points: applied.points.map(([...point]) => point) } }),
      }
    },
    applied: replicator.applied,
    clock,
    logger,
  })
  if (log.kind === 'kafka') roles.push({ name: 'nodes', run: (signal) => nodes.run(signal) })
  return nodes
}
