/** Serves `GET /v1/nodes`: the processes that share the log, each with its roles, its version and how far its copy is. */
import { z } from 'zod'
import { isoMillis, isoOrNull } from '../../core/dates.ts'
import { SECOND_MS } from '../../core/durations.ts'
import type { Caller } from '../../http/auth.ts'
import { pageOf, pageParameters, readPageParameters } from '../../http/page.ts'
import { type Route, sendJson } from '../../http/route.ts'
import { isoTime } from '../../http/schemas/json-schema.ts'
import { nodeNameFor } from '../../registry/node-name.ts'
import { type ListedNode, type Nodes, nodeStates } from '../../registry/nodes.ts'

/** What the route works with. */
export interface NodesParts {
  nodes: Pick<Nodes, 'list' | 'heardMs'>
  /** The id of the node that leads, as the newest report of a leader says; null without one. */
  leaderId: () => string | null
  /** `BRIDGE_SECRET_KEY`, which makes names of nodes for tenants. */
  key: string
}

const nodeSchema = z.object({
  id: z
    .string()
    .describe('Host and process id for `BRIDGE_ADMIN_TOKEN`, a name that says neither for others.'),
  self: z.boolean().describe('Whether it is the node that answers.'),
  state: z
    .enum(nodeStates)
    .describe(
      '`up`; `stopped`, as it said itself; `gone`, when nothing came from it for 45 s. A node that has stopped or is gone is listed for an hour.',
    ),
  leads: z
    .boolean()
    .nullable()
    .describe('Whether it polls the upstream; `null` where the node that answers has heard from no leader.'),
  roles: z.array(z.string()).describe('What it does.'),
  version: z.string().describe('The version of the bridge that it runs.'),
  startedAt: isoTime('When its process was started.'),
  lastSeen: isoTime('When the node that answers last heard from it.'),
  copy: z
    .object({
      sequence: z.int().describe('How far its copy of the log is.'),
      lagEvents: z.int().describe('How many events that was behind the log.'),
      lagSeconds: z.number().describe('How long it had been behind, seconds.'),
      filled: z
        .number()
        .describe('How much of the log it has, from 0 to 1; below 1 only while a copy is filled.'),
    })
    .describe('Its copy of the log at `lastSeen`.'),
})

const nodesPage = pageOf(nodeSchema).extend({
  asOf: isoTime(
    'Until when the node that answers has heard from others. While Kafka is away it stays where it is, and nobody is called gone. `null` right after a start.',
  ).nullable(),
})

/** The answer. */
export type NodesPage = z.infer<typeof nodesPage>

/** The route. Every node answers from the rows that it has heard. */
export function nodesRoute({ nodes, leaderId, key }: NodesParts): Route {
  return {
    method: 'GET',
    path: '/v1/nodes',
    scope: 'admin',
    summary:
      'The nodes of this installation in the order of their ids: roles, version, state, which one leads, and how far the copy of the log is. On the embedded log there is one. See [nodes.md](../run/nodes.md).',
    parameters: pageParameters('nodes'),
    answers: { 200: { meaning: 'A page of nodes.', schema: nodesPage } },
    async handle({ query, caller, response }) {
      const { after, limit } = readPageParameters(query, (text) => text)
      query.check()
      const shown = nodes
        .list()
        .map((node) => shownTo(caller, node, leaderId(), key))
        .filter(({ id }) => id > (after ?? ''))
        .sort((one, other) => (one.id < other.id ? -1 : 1))
      const data = shown.slice(0, limit)
      const next = shown.length > limit ? (data.at(-1)?.id ?? null) : null
      const body: NodesPage = { asOf: isoOrNull(nodes.heardMs), data, next }
      sendJson(response, 200, Buffer.from(JSON.stringify(body)))
    },
  }
}

function shownTo(
  caller: Caller,
  node: ListedNode,
  leaderId: string | null,
  key: string,
): NodesPage['data'][number] {
  const { id, isSelf: self, state, roles, version, sequence, lagEvents, lagMs, filled } = node
  return {
    id: nodeNameFor(caller, id, key),
    self,
    state,
    leads: leaderId === null ? null : state === 'up' && id === leaderId,
    roles,
    version,
    startedAt: isoMillis(node.startedMs),
    lastSeen: isoMillis(node.seenMs),
    copy: { sequence, lagEvents, lagSeconds: lagMs / SECOND_MS, filled },
  }
}
