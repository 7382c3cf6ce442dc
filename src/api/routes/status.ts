/**
 * Serves `GET /v1/status`, the state of the bridge, and defines the schema of its response.
 */
import { z } from 'zod'
import { phases } from '../../core/calendar/calendar.ts'
import { type Route, sendJson } from '../../http/route.ts'
import { gapSchema } from '../../http/schemas/event-schema.ts'
import { isoTime } from '../../http/schemas/json-schema.ts'

/** The state of a node as clients may see it. Unknown values are null. */
const statusSchema = z.object({
  leader: z.object({
    id: z.string().describe('Who polls; null while nobody does.').nullable(),
    since: isoTime('Since when.').nullable(),
    self: z.boolean().describe('Whether it is this node.'),
  }),
  upstream: z.object({
    state: z
      .enum(['ok', 'throttled', 'quota', 'unauthorised', 'failing', 'waiting'])
      .describe(
        'What upstream last did; `waiting` before the first request, and on a node that does not poll.',
      ),
    lastGoodPoll: isoTime('The last good poll.').nullable(),
    nextPoll: isoTime('When the next poll is due; null on a node that does not poll.').nullable(),
    phase: z.enum(phases).describe('Where in the London day upstream is.'),
  }),
  quota: z.object({
    limit: z.int().describe('Units a week.').nullable(),
    used: z.int().describe('Units used of them.').nullable(),
    remaining: z.int().describe('Units left.').nullable(),
    reset: isoTime('When units come back.').nullable(),
    forecast: z.number().describe('Planned use over what is left.').nullable(),
    drift: z.number().describe('What upstream reports as used minus our count, over `limit`.').nullable(),
  }),
  log: z.object({
    kind: z.enum(['kafka', 'embedded', 'memory']).describe('Where the log is stored.'),
    epoch: z.string().describe('The epoch of the log.').nullable(),
    oldest: z.int().describe('The earliest sequence that is kept.'),
    latest: z.int().describe('The last sequence.'),
  }),
  copy: z.object({
    sequence: z.int().describe('How far the copy of this node is.'),
    lagEvents: z.int().describe('How many events that is behind the log.'),
    lagSeconds: z.number().describe('How long it has been behind, seconds.'),
    filled: z
      .number()
      .describe('How much of the log is here, from 0 to 1; below 1 only while a copy is filled.'),
  }),
  completeness: z
    .enum(['polls+fills', '+sweeps', '+day'])
    .describe('What the plan pays for: polls with their fills, sweeps too, a walk over each whole day too.'),
  gaps: z.array(gapSchema).describe('Gaps that are open.'),
  roles: z.array(z.string()).describe('What this node does.'),
})

/** The answer. */
export type Status = z.infer<typeof statusSchema>
/** Outcome of the last upstream request: `waiting` before the first one, and on a node that does not poll. */
export type UpstreamState = Status['upstream']['state']

/** Builds the route; each request calls `status`. */
export function statusRoute(status: () => Status): Route {
  return {
    method: 'GET',
    path: '/v1/status',
    scope: null,
    summary: 'What this node knows of leader, upstream, quota, log, copy, completeness and open gaps.',
    parameters: {},
    answers: { 200: { meaning: 'The state of this node.', schema: statusSchema } },
    async handle({ query, response }) {
      query.check()
      sendJson(response, 200, Buffer.from(JSON.stringify(status())))
    },
  }
}
