/**
 * Serves `POST /v1/webhooks/{id}/replay`: checks the request, counts the deliveries, and stores a replay command. The
 * process that delivers to the endpoint carries the command out.
 */
import { z } from 'zod'
import type { Reader } from '../../archive/reading/reader.ts'
import { requireCompleteReplica } from '../../archive/replica/replica-incomplete.ts'
import { BridgeError } from '../../errors.ts'
import { retryLater } from '../../http/problem.ts'
import { type Call, type Route, sendJson } from '../../http/route.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { createPlaces } from '../../lifecycle/places.ts'
import type { Logger } from '../../obs/logger.ts'
import type { Endpoint, Endpoints } from '../../registry/endpoints.ts'
import type { IdempotencyKeys, OnceSteps } from '../../registry/idempotency-keys.ts'
import { newId } from '../../registry/ids.ts'
import type { AttemptHistory } from '../attempts/attempt-history.ts'
import { replayCommand } from '../commands/command-rows.ts'
import { type Commands, MOST_WAITING_REPLAYS } from '../commands/commands.ts'
import { MOST_WAITING } from '../delivery-state/endpoint-backlog.ts'
import { actOnce, IDEMPOTENCY_KEY, KEY_REUSED, REPLAYED } from '../endpoints/act-once.ts'
import { endpointOf, ONE_ENDPOINT_PATH } from '../endpoints/endpoint-of.ts'
import { COUNT_MS, countReplay, type ReplayCount } from './replay-count.ts'
import { MAX_REPLAY_BODY_BYTES, readReplay, replayBody } from './replay-request.ts'
import { type FindEvents, type ReplayWindow, windowOf } from './replay-window.ts'

/** Most windows that a node counts at a time, and of one tenant: each reads as fast as it may. */
const MOST_COUNTS = 8
const MOST_COUNTS_OF_TENANT = 4

/** Counts, unless too many are under way. @throws HttpProblem `too_many` */
type Counts = (tenant: string, count: () => Promise<ReplayCount>) => Promise<ReplayCount>

/** What the route works with. */
export interface ReplayRouteOptions {
  endpoints: Endpoints
  commands: Commands
  idempotencyKeys: IdempotencyKeys
  reader: Reader
  findEvents: FindEvents
  /** Knows which deliveries wait; null: nothing does here. */
  history: Pick<AttemptHistory, 'deliveries'> | null
  clock: Clock
  logger: Logger
}

const replaySchema = z.object({
  id: z
    .string()
    .meta({ description: 'Names the replay; null where none was begun.', pattern: '^rp_' })
    .nullable(),
  count: z.int().describe('Deliveries that it makes.'),
  waiting: z
    .int()
    .describe(
      'Of these, deliveries that wait for a retry: they are due at once. Null where this node cannot tell.',
    )
    .nullable(),
  more: z.boolean().describe(`True: counting ended after ${COUNT_MS / 1000} s, and there are more.`),
})

/** The route. */
export function replayRoute(options: ReplayRouteOptions): Route {
  const counts = createCounts()
  return {
    method: 'POST',
    audit: 'webhook.replay_started',
    path: `${ONE_ENDPOINT_PATH}/replay`,
    scope: 'webhooks:replay',
    requireTarget: (target) => void endpointOf(target, options.endpoints),
    summary: `Sends events once more, each with the \`webhook-id\` that it had: 202 with \`{id, count, waiting, more}\`; 200 with \`id\` null where nothing is begun, because of \`dryRun\` or for want of events. Give one of \`after\`, \`since\`, \`ids\`. At most ${MOST_WAITING_REPLAYS} of an endpoint wait to be begun, else 429. Takes \`Idempotency-Key\`. See [webhooks-replay.md](webhooks-replay.md#replay).`,
    parameters: {},
    body: { maxBytes: MAX_REPLAY_BODY_BYTES, schema: replayBody(0) },
    headers: IDEMPOTENCY_KEY,
    answers: {
      200: { meaning: 'What a replay would make; none was begun.', schema: replaySchema },
      202: {
        meaning: 'It is kept, and begun as soon as those before it are over.',
        schema: replaySchema,
        headers: REPLAYED,
      },
    },
    problems: ['cursor_invalid', 'cursor_too_old', KEY_REUSED, 'too_many', 'unavailable'],
    handle: (call) => replay(call, { ...options, counts }),
  }
}

/** What a request makes: a repeat of it must make the same. */
const replayPlan = z.object({
  id: z.string(),
  count: z.int(),
  waiting: z.int().nullable(),
  more: z.boolean(),
  command: replayCommand,
})

async function replay(call: Call, options: ReplayRouteOptions & { counts: Counts }): Promise<void> {
  const { endpoints, commands, reader, findEvents, history, clock, logger } = options
  call.query.check()
  const endpoint = endpointOf(call, endpoints)
  const request = readReplay(call.body, clock.now())
  requireCompleteReplica(reader.replica)
  if (!commands.isLoaded) throw retryLater('unavailable', 'this node has not read the replays yet')
  let found: z.output<typeof replaySchema> = { id: null, count: 0, waiting: 0, more: false }
  const steps: OnceSteps<z.output<typeof replayPlan>> = {
    schema: replayPlan,
    async prepare() {
      const window = windowOf(request, reader, findEvents, clock.now())
      if (!request.dryRun) refuseWhereMany(endpoint, commands)
      const { epoch } = reader
      const counted = await count(call, endpoint, window, request.onlyDead, options)
      const waiting = request.onlyDead ? 0 : waitingIn(endpoint, window, epoch, history)
      found = { id: null, waiting, ...counted }
      if (call.gone.aborted || request.dryRun || counted.count === 0 || epoch === null) return null
      const only = request.onlyDead ? 'dead' : window.only
      const { count: deliveries } = counted
      const command = {
        kind: 'replay',
        epoch,
        ...window,
        only,
        count: deliveries,
        atMs: clock.now(),
      } as const
      return { ...found, id: newId('rp', clock.now()), command }
    },
    async act({ id, count: deliveries, command }, { isDone }) {
      if (isDone) return
      const { tenant } = endpoint
      const { after, until, only } = command
      const which = Array.isArray(only) ? 'ids' : (only ?? 'all')
      const begun = { replay: id, which, from: after, until, deliveries }
      await call.change(call.caller, { target: endpoint.id, tenant, after: begun }, () =>
        commands.put(endpoint.id, id, command),
      )
      logger.info('webhook.replay_requested', {
        endpointId: endpoint.id,
        tenant,
        replay: id,
        count: deliveries,
        by: call.caller.tokenId,
      })
    },
  }
  const { plan, headers } = await actOnce(call, options.idempotencyKeys, steps)
  if (call.gone.aborted) return
  if (plan === null) answer(call, 200, found)
  else answer(call, 202, plan, headers)
}

/** How many deliveries of the window wait for a retry, by the history of this node; null where it cannot be read. */
function waitingIn(
  { id }: Endpoint,
  { after, until, only }: ReplayWindow,
  epoch: string | null,
  history: ReplayRouteOptions['history'],
): number | null {
  if (history === null || epoch === null) return null
  try {
    const states = ['pending'] as const
    const waiting = history.deliveries(id, { epoch, states, before: until + 1, limit: MOST_WAITING })
    return waiting.filter(({ sequence }) => sequence > after && (only?.includes(sequence) ?? true)).length
  } catch (error) {
    // The lists of attempts say so too; a replay does not need them.
    if (error instanceof BridgeError) return null
    throw error
  }
}

function refuseWhereMany({ id }: Endpoint, commands: Commands): void {
  const waiting = commands.of(id).filter(({ command }) => command.kind === 'replay')
  if (waiting.length < MOST_WAITING_REPLAYS) return
  throw retryLater('too_many', `${MOST_WAITING_REPLAYS} replays of this endpoint wait to be begun`)
}

function createCounts(): Counts {
  const places = createPlaces(MOST_COUNTS, MOST_COUNTS_OF_TENANT)
  return async (tenant, count) => {
    const free = places.take(tenant)
    if (free === 'share_full')
      throw retryLater('too_many', 'this node counts as many replays of this tenant as it does at a time')
    if (free === 'full') throw retryLater('too_many', 'this node counts as many replays as it can')
    try {
      return await count()
    } finally {
      free()
    }
  }
}

async function count(
  { gone, caller }: Call,
  { id, tenant, filter }: Endpoint,
  window: ReplayWindow,
  onlyDead: boolean,
  { commands, reader, clock, counts }: ReplayRouteOptions & { counts: Counts },
): Promise<ReplayCount> {
  const { after, until, only } = window
  if (only !== null) return { count: only.length, more: false }
  if (!onlyDead)
    return counts(tenant, () =>
      countReplay({ reader, clock }, filter, { after, until, caller: caller.tokenId }, gone),
    )
  const question = { kind: 'count', after, until, atMs: clock.now() } as const
  const dead = await commands.count(id, newId('rp', clock.now()), question, gone)
  if (dead !== null) return { count: dead, more: false }
  throw retryLater(
    'unavailable',
    'no node works on this endpoint at the moment; see `/readyz` of the nodes with the role webhooks',
  )
}

function answer(
  { response }: Call,
  status: number,
  { id, count, waiting, more }: z.infer<typeof replaySchema>,
  headers: Readonly<Record<string, string>> = {},
): void {
  sendJson(response, status, Buffer.from(JSON.stringify({ id, count, waiting, more })), headers)
}
