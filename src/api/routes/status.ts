/**
 * Serves `GET /v1/status`, the state of the bridge, and defines the schema of its response.
 */
import { z } from 'zod'
import { phases } from '../../core/calendar/calendar.ts'
import { isOperator } from '../../http/auth.ts'
import { type Route, sendJson } from '../../http/route.ts'
import { gapSchema } from '../../http/schemas/event-schema.ts'
import { isoTime } from '../../http/schemas/json-schema.ts'
import {
  completenessLevels,
  MOST_REPORTED_GAPS,
  quotaSchema,
  unreconciledSchema,
} from '../../http/schemas/leader-report-schema.ts'
import { pollingSchema } from '../../http/schemas/polling-schema.ts'
import { upstreamStates } from '../../obs/metrics.ts'
import { nodeNameFor } from '../../registry/node-name.ts'

/** The state of a node as clients may see it, with what the leader reports. What this node does not know is null. */
const statusSchema = z.object({
  leader: z.object({
    id: z
      .string()
      .describe(
        'Who polls: host and process id for `BRIDGE_ADMIN_TOKEN`, a name that says neither for others.',
      )
      .nullable(),
    since: isoTime('Since when it leads.').nullable(),
    self: z.boolean().describe('Whether it is this node.'),
  }),
  upstream: z.object({
    state: z
      .enum(upstreamStates)
      .describe('What upstream last did to the leader; `waiting` before its first request.')
      .nullable(),
    lastGoodPoll: isoTime('When upstream last answered the leader well.').nullable(),
    nextPoll: isoTime('When the leader polls next; null while polling is paused.').nullable(),
    phase: z.enum(phases).describe('Where in the London day upstream is.'),
    aheadMs: z
      .number()
      .describe(
        "Upstream's clock minus the leader's, ms: by how much times of events differ from ours. Null while it is not known.",
      )
      .nullable(),
  }),
  polling: pollingSchema,
  quota: quotaSchema,
  log: z.object({
    kind: z.enum(['kafka', 'embedded', 'memory']).describe('Where the log is stored.'),
    available: z
      .boolean()
      .describe('Whether this node can read it, and write to it where it leads or may: `log` of `/readyz`.'),
    epoch: z.string().describe('The epoch of the log.').nullable(),
    oldest: z.int().describe('The earliest sequence that is kept.').nullable(),
    latest: z
      .int()
      .describe('The last sequence; `null`, as `oldest`, where this node has heard nothing of the log yet.')
      .nullable(),
  }),
  copy: z.object({
    sequence: z.int().describe('How far the copy of this node is.'),
    lagEvents: z
      .int()
      .describe(
        'How many events that is behind the log; `null` while the log does not answer, or has not answered yet.',
      )
      .nullable(),
    lagSeconds: z
      .number()
      .describe(
        'How long it has been behind, or the log silent, seconds; `null` where nothing was heard of the log yet and its silence is not ten seconds long.',
      )
      .nullable(),
    filled: z
      .number()
      .describe('How much of the log is here, from 0 to 1; below 1 only while a copy is filled.'),
  }),
  completeness: z
    .enum(completenessLevels)
    .describe(
      'What the plan pays for: polls with their fills, re-scans too, a reconciliation of each day too.',
    )
    .nullable(),
  unreconciled: unreconciledSchema.nullable(),
  gaps: z
    .array(gapSchema)
    .describe(`Gaps that are open; from a node that does not lead at most the ${MOST_REPORTED_GAPS} oldest.`)
    .nullable(),
  roles: z.array(z.string()).describe('What this node does.'),
  asOf: isoTime(
    "When the leader said what this answer has of `leader`, `upstream`, `quota`, `completeness`, `unreconciled` and `gaps`, by the leader's clock; null where this node has heard from no leader.",
  ).nullable(),
})

/** The answer. */
export type Status = z.infer<typeof statusSchema>
/** Outcome of the leader's last request to the upstream. */
export type UpstreamState = NonNullable<Status['upstream']['state']>

/** Builds the route; each request calls `status`. `key`: makes the leader's name for callers of tenants, the same on every node. */
export function statusRoute(status: () => Status, key: string): Route {
  return {
    method: 'GET',
    path: '/v1/status',
    scope: null,
    summary:
      'The log and the copy of this node, and what the leader reports: leader, upstream, quota, completeness and open gaps, with `asOf`, when it said so. What this node does not know is null.',
    parameters: {},
    answers: { 200: { meaning: 'The state of this node.', schema: statusSchema } },
    async handle({ query, response, caller }) {
      query.check()
      const { leader, polling, ...rest } = status()
      const id = leader.id && nodeNameFor(caller, leader.id, key)
      const shown = isOperator(caller) ? polling : { ...polling, by: null, reason: null }
      const body = { leader: { ...leader, id }, polling: shown, ...rest }
      sendJson(response, 200, Buffer.from(JSON.stringify(body)))
    },
  }
}
