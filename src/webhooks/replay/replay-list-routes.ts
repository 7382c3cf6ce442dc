/**
 * Serves `GET /v1/webhooks/{id}/replays` and `DELETE /v1/webhooks/{id}/replays/{replayId}`: lists the replays of an endpoint
 * that are not over, with their progress, and ends one.
 */
import { z } from 'zod'
import { isoMillis } from '../../core/dates.ts'
import { pageOf, pageParameters, readPageParameters } from '../../http/page.ts'
import { HttpProblem, retryLater } from '../../http/problem.ts'
import { type Call, type Route, sendJson } from '../../http/route.ts'
import { isoTime } from '../../http/schemas/json-schema.ts'
import type { Logger } from '../../obs/logger.ts'
import type { Endpoint, Endpoints } from '../../registry/endpoints.ts'
import { isId } from '../../registry/ids.ts'
import type { Commands } from '../commands/commands.ts'
import type { ReplayStanding } from '../delivery-state/endpoint-cursors.ts'
import type { DeliveryStanding } from '../delivery-state/endpoint-state.ts'
import { endpointOf, ONE_ENDPOINT_PATH, type PathTarget } from '../endpoints/endpoint-of.ts'

/** What the routes work with. */
export interface ReplayListOptions {
  endpoints: Endpoints
  commands: Pick<Commands, 'isLoaded' | 'of' | 'cancel'>
  /** The replays of an endpoint that were begun and are not over; null where no node that delivers has said. */
  runningOf: (endpoint: Endpoint) => readonly ReplayStanding[] | null
  logger: Logger
}

/** Finds the replays that run, from how the deliveries stand; null where nobody has said. */
export function runningReplays(
  standingOf: (endpoint: Endpoint) => DeliveryStanding | null,
): ReplayListOptions['runningOf'] {
  return (endpoint) => {
    const standing = standingOf(endpoint)
    return standing === null ? null : (standing.replays ?? [])
  }
}

const REPLAYS_PATH = `${ONE_ENDPOINT_PATH}/replays`

const replaySchema = z.object({
  id: z.string().meta({ description: 'Names the replay.', pattern: '^rp_' }),
  state: z
    .enum(['waiting', 'running'])
    .describe('Whether it waits for those before it, or was begun. One that is over is not listed.'),
  createdAt: isoTime('When it was requested.'),
  only: z
    .enum(['all', 'dead', 'ids'])
    .describe(
      'What of its window is sent: all that the filter matches, the dead deliveries, or events by id.',
    ),
  count: z
    .int()
    .describe('Deliveries that it makes, as counted at the request; null where an older version began it.')
    .nullable(),
  after: z
    .int()
    .describe('The sequence after which its window begins; null where an older version began it.')
    .nullable(),
  until: z.int().describe('The last sequence of its window.'),
  position: z
    .int()
    .describe(
      'Up to this sequence every event is delivered, given up or waits for a retry; null of one that waits.',
    )
    .nullable(),
  progress: z
    .number()
    .describe('The part of its window up to `position`, 0–1; null where that is not known.')
    .nullable(),
})

type Replay = z.infer<typeof replaySchema>

/** The routes. On Kafka, a node that does not deliver knows the progress of some seconds ago. */
export function replayListRoutes(options: ReplayListOptions): Route[] {
  const { endpoints } = options
  return [
    {
      method: 'GET',
      path: REPLAYS_PATH,
      scope: 'webhooks:read',
      requireTarget: (target) => void endpointOf(target, endpoints),
      summary:
        'The replays of an endpoint that are not over, the oldest first: `{data: [{id, state, createdAt, only, count, after, until, position, progress}], next}`. See [webhooks-replay.md](webhooks-replay.md#progress-and-end).',
      parameters: pageParameters('replays'),
      answers: { 200: { meaning: 'A page of replays.', schema: pageOf(replaySchema) } },
      problems: ['unavailable'],
      handle: async (call) => list(call, options),
    },
    {
      method: 'DELETE',
      audit: 'webhook.replay_cancelled',
      path: `${REPLAYS_PATH}/{replayId}`,
      scope: 'webhooks:replay',
      requireTarget: (target) => void replayOf(target, options),
      summary:
        'Ends a replay: 204; 202 where no node that delivers has answered yet. Nothing more of it is sent; what waits for a retry stays. See [webhooks-replay.md](webhooks-replay.md#progress-and-end).',
      parameters: {},
      answers: {
        204: { meaning: 'It is over.' },
        202: { meaning: 'It is ended as soon as a node delivers.' },
      },
      problems: ['unavailable'],
      handle: (call) => cancel(call, options),
    },
  ]
}

async function list(call: Call, options: ReplayListOptions): Promise<void> {
  const { query, response } = call
  const endpoint = endpointOf(call, options.endpoints)
  const replays = replaysOf(endpoint, options)
  const { after, limit } = readPageParameters(query, (text) => (isId('rp', text) ? text : null))
  query.check()
  if (!replays.areAll) throw unsaid()
  const rest = replays.known.filter(({ id }) => id > (after ?? ''))
  const data = rest.slice(0, limit)
  const next = rest.length > limit ? (data.at(-1)?.id ?? null) : null
  sendJson(response, 200, Buffer.from(JSON.stringify({ data, next })))
}

async function cancel(call: Call, options: ReplayListOptions): Promise<void> {
  const { query, caller, response, gone } = call
  const { commands, logger } = options
  query.check()
  const { endpoint, id: replay } = replayOf(call, options)
  const { id: endpointId, tenant } = endpoint
  logger.info('webhook.replay_cancel_requested', { endpointId, tenant, replay, by: caller.tokenId })
  const isOver = await call.change(caller, { target: endpointId, tenant, before: { replay } }, () =>
    commands.cancel(endpointId, replay, gone),
  )
  if (!gone.aborted) response.writeHead(isOver ? 204 : 202, { 'Cache-Control': 'no-store' }).end()
}

/**
 * @throws HttpProblem `not_found` where the endpoint has no such replay, `unavailable` where nobody has said, as `endpointOf`
 * where there is no endpoint
 */
function replayOf(target: PathTarget, options: ReplayListOptions): { endpoint: Endpoint; id: string } {
  const endpoint = endpointOf(target, options.endpoints)
  const id = target.segment('replayId')
  const { known, areAll } = replaysOf(endpoint, options)
  if (known.some((one) => one.id === id)) return { endpoint, id }
  if (!areAll) throw unsaid()
  throw new HttpProblem(
    'not_found',
    'there is no replay of this id that is not over; GET …/replays lists them',
  )
}

/** Those that wait are commands, those that were begun are known to the node that delivers. By id, so by their time. */
function replaysOf(
  endpoint: Endpoint,
  { commands, runningOf }: ReplayListOptions,
): { known: Replay[]; areAll: boolean } {
  if (!commands.isLoaded) throw retryLater('unavailable', 'this node has not read the replays yet')
  const said = runningOf(endpoint)
  const running = (said ?? []).map(runningView)
  const begun = new Set(running.map(({ id }) => id))
  const waiting = commands.of(endpoint.id).flatMap(({ id, command }): Replay[] => {
    if (command.kind !== 'replay' || begun.has(id)) return []
    const { after, until, only, count = null, atMs } = command
    const createdAt = isoMillis(atMs)
    const which = only === null ? 'all' : only === 'dead' ? 'dead' : 'ids'
    return [
      { id, state: 'waiting', createdAt, only: which, count, after, until, position: null, progress: null },
    ]
  })
  const known = [...running, ...waiting].sort((one, other) => (one.id < other.id ? -1 : 1))
  return { known, areAll: said !== null }
}

function unsaid(): HttpProblem {
  return retryLater(
    'unavailable',
    'no node that delivers has said yet which replays of this endpoint run; see /readyz of the nodes with the role webhooks',
  )
}

function runningView({ id, createdAtMs, only, count, from, until, position }: ReplayStanding): Replay {
  const createdAt = isoMillis(createdAtMs)
  const progress = from === null || until <= from ? null : (position - from) / (until - from)
  return { id, state: 'running', createdAt, only, count, after: from, until, position, progress }
}
