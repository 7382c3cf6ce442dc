/**
 * Serves `/v1/webhooks`: creates, lists, changes and deletes the webhook endpoints of a tenant, and
 * rotates their secrets.
 */
import { z } from 'zod'
import type { Reader } from '../../archive/reading/reader.ts'
import { requireCompleteReplica } from '../../archive/replica/replica-incomplete.ts'
import { ENDPOINTS_PATH } from '../../core/endpoint-status.ts'
import { newSecret } from '../../core/signature.ts'
import { PAGE_BYTES, pageOf, pageParameters, readPageParameters } from '../../http/page.ts'
import { HttpProblem, retryLater } from '../../http/problem.ts'
import { type Call, type Route, type RouteAnswer, sendJson } from '../../http/route.ts'
import { type Clock, yieldToEventLoop } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import {
  MAX_ENDPOINT_BYTES_PER_TENANT,
  MAX_ENDPOINTS_PER_TENANT,
  type NoRoom,
} from '../../registry/endpoint-room.ts'
import type { Endpoint, EndpointChange, Endpoints } from '../../registry/endpoints.ts'
import type { IdempotencyKeys, OnceSteps } from '../../registry/idempotency-keys.ts'
import { isId, newId } from '../../registry/ids.ts'
import type { AddressRules } from '../address/rules.ts'
import { actOnce, IDEMPOTENCY_KEY, KEY_REUSED, REPLAYED } from './act-once.ts'
import { auditedEndpoint } from './audited-endpoint.ts'
import type { HealthOf } from './endpoint-health.ts'
import {
  checkLoaded,
  endpointOf,
  ONE_ENDPOINT_PATH,
  type PathTarget,
  unknownEndpoint,
} from './endpoint-of.ts'
import {
  changeBody,
  creationBody,
  MAX_ENDPOINT_BODY_BYTES,
  readChange,
  readCreation,
} from './endpoint-request.ts'
import { rotated, signingSecrets } from './endpoint-secrets.ts'
import { startOf } from './endpoint-start.ts'
import {
  checkIfMatch,
  ENDPOINT_SHAPE,
  endpointSchema,
  endpointView,
  endpointWithSecretSchema,
  entityTag,
  isKnownToClient,
} from './endpoint-view.ts'
import type { SecretBox } from './secrets.ts'
import { storedHeaders, withStoredHeaders } from './stored-headers.ts'

const PATH = ENDPOINTS_PATH
const ONE = ONE_ENDPOINT_PATH
const IF_MATCH = {
  'If-Match': 'Acts only where the `ETag` of the endpoint is still this one, as this node sees it.',
}
const ONE_ANSWER: RouteAnswer = {
  meaning: 'The endpoint as it is now.',
  schema: endpointSchema,
  headers: { ETag: 'Names this state of it, for `If-Match`.' },
}
/** Endpoints of a list that are put together between two turns of the event loop. */
const ENDPOINTS_A_TICK = 16
/** In a list, events that endpoints have not read are counted for so long, in all. */
const HEALTH_BUDGET_MS = 500

/** What the routes work with. */
export interface EndpointRoutesOptions {
  endpoints: Endpoints
  idempotencyKeys: IdempotencyKeys
  healthOf: HealthOf
  reader: Reader
  secrets: SecretBox
  rules: AddressRules
  /** Has what waits of an endpoint made due. */
  hasten: (endpointId: string) => Promise<void>
  /** Resolves when nothing leaves for an endpoint any more that is stored as stopped. */
  untilStopped: (endpointId: string) => Promise<void>
  clock: Clock
  logger: Logger
}

/** The routes. */
export function endpointRoutes(options: EndpointRoutesOptions): Route[] {
  const requireTarget = (target: PathTarget): void => void endpointOf(target, options.endpoints)
  const change = (set: EndpointChange) => (call: Call) => changeBy(call, options, () => set)
  return [
    creationRoute(options),
    {
      method: 'GET',
      path: PATH,
      scope: 'webhooks:read',
      summary: 'The endpoints of the tenant, in the order of their creation: `{data: [endpoint], next}`.',
      parameters: pageParameters('endpoints', '; where they are large, fewer come.'),
      answers: { 200: { meaning: 'A page of endpoints.', schema: pageOf(endpointSchema) } },
      handle: (call) => list(call, options),
    },
    {
      method: 'GET',
      path: ONE,
      scope: 'webhooks:read',
      requireTarget,
      summary: `One endpoint: ${ENDPOINT_SHAPE}, with its \`ETag\`. With \`If-None-Match\` 304 where the \`ETag\` is still that one.`,
      parameters: {},
      headers: { 'If-None-Match': 'Answers 304 where the `ETag` of the endpoint is still this one.' },
      answers: { 200: ONE_ANSWER, 304: { meaning: 'It is unchanged.', headers: ONE_ANSWER.headers ?? {} } },
      handle: (call) => show(call, options),
    },
    {
      method: 'PATCH',
      audit: 'webhook.updated',
      path: ONE,
      scope: 'webhooks:write',
      requireTarget,
      summary:
        'Changes the members that are there, each as a whole: 200 with the endpoint. With `If-Match` only where its `ETag` is still that one, else 412.',
      parameters: {},
      body: { maxBytes: MAX_ENDPOINT_BODY_BYTES, schema: changeBody(options.rules) },
      headers: IF_MATCH,
      answers: { 200: ONE_ANSWER },
      problems: ['filter_invalid', 'limit_reached', 'precondition_failed'],
      handle: (call) =>
        changeBy(call, options, () => readChange(call.body, options.rules, call.caller.seesAllTenants)),
    },
    {
      method: 'DELETE',
      audit: 'webhook.deleted',
      path: ONE,
      scope: 'webhooks:write',
      requireTarget,
      summary: 'Deletes an endpoint, and with it what waits to be delivered: 204. Takes `If-Match`.',
      parameters: {},
      headers: IF_MATCH,
      answers: { 204: { meaning: 'It is deleted.' } },
      problems: ['precondition_failed'],
      handle: (call) => remove(call, options),
    },
    {
      method: 'POST',
      audit: 'webhook.secret_rotated',
      path: `${ONE}/rotate`,
      scope: 'webhooks:write',
      requireTarget,
      summary:
        'Gives an endpoint a new secret: 200 with the endpoint and `secret`, shown here only. The old one signs beside it for 24 hours. Takes `If-Match`.',
      parameters: {},
      headers: IF_MATCH,
      answers: { 200: { ...ONE_ANSWER, schema: endpointWithSecretSchema } },
      problems: ['limit_reached', 'precondition_failed'],
      handle: (call) => rotate(call, options),
    },
    {
      method: 'POST',
      audit: 'webhook.enabled',
      path: `${ONE}/enable`,
      scope: 'webhooks:write',
      requireTarget,
      summary:
        'Makes an endpoint `active` again, from where it stopped: 200 with the endpoint. Deliveries that wait for a retry are due at once, also where it was active. Takes `If-Match`.',
      parameters: {},
      headers: IF_MATCH,
      answers: { 200: ONE_ANSWER },
      problems: ['limit_reached', 'precondition_failed'],
      handle: change({ status: 'active', disabledReason: null }),
    },
    {
      method: 'POST',
      audit: 'webhook.disabled',
      path: `${ONE}/disable`,
      scope: 'webhooks:write',
      requireTarget,
      summary:
        'Disables an endpoint, with `disabledReason` `requested`: 200 with the endpoint. Its place is kept. Takes `If-Match`.',
      parameters: {},
      headers: IF_MATCH,
      answers: { 200: ONE_ANSWER },
      problems: ['limit_reached', 'precondition_failed'],
      handle: change({ status: 'disabled', disabledReason: 'requested' }),
    },
  ]
}

function creationRoute(options: EndpointRoutesOptions): Route {
  return {
    method: 'POST',
    audit: 'webhook.created',
    path: PATH,
    scope: 'webhooks:write',
    summary: `Makes an endpoint: 201 with ${ENDPOINT_SHAPE.slice(0, -2)}, secret}\`; \`secret\` is shown here only. At most ${MAX_ENDPOINTS_PER_TENANT} a tenant. Takes \`Idempotency-Key\`. See [webhooks.md](webhooks.md).`,
    parameters: {},
    body: { maxBytes: MAX_ENDPOINT_BODY_BYTES, schema: creationBody(options.rules, 0) },
    headers: IDEMPOTENCY_KEY,
    answers: {
      201: {
        meaning: 'The endpoint, with its secret.',
        schema: endpointWithSecretSchema,
        headers: { ...ONE_ANSWER.headers, ...REPLAYED, Location: 'The path of the endpoint.' },
      },
    },
    problems: ['filter_invalid', 'cursor_invalid', 'cursor_too_old', 'limit_reached', KEY_REUSED, 'too_many'],
    handle: (call) => create(call, options),
  }
}

/** What a request to create makes: a repeat of it must make the same. */
const endpointPlan = z.object({ id: z.string(), start: z.string(), wrapped: z.string() })

async function create(call: Call, options: EndpointRoutesOptions): Promise<void> {
  const { endpoints, reader, secrets, rules, clock, logger } = options
  const { query, body, caller, response } = call
  query.check()
  const { since, headers: own, ...wanted } = readCreation(body, rules, clock.now(), caller.seesAllTenants)
  checkLoaded(endpoints)
  const { tenant } = caller
  const steps: OnceSteps<z.output<typeof endpointPlan>> = {
    schema: endpointPlan,
    async prepare() {
      requireCompleteReplica(reader.replica)
      const id = newId('ep', clock.now())
      const start = startOf(since, reader, clock.now())
      return { id, start, wrapped: secrets.wrap(newSecret(), id) }
    },
    async act({ id, start, wrapped }, { isRepeat, isDone }) {
      if (isRepeat && (await isThere(id, isDone, endpoints))) return
      await call.change(caller, { target: id, tenant }, async (note) => {
        const made = await endpoints.create({
          ...wanted,
          ...{ id, tenant, start, status: 'active' },
          headers: storedHeaders(own, id, secrets),
          secrets: [{ wrapped, untilMs: null }],
        })
        if (made === 'tenant_full' || made === 'full') throw noRoom(made)
        note({ after: auditedEndpoint(made) })
      })
      logger.info('endpoint.created', { endpointId: id, tenant, by: caller.tokenId })
    },
  }
  const { plan, headers } = await actOnce(call, options.idempotencyKeys, steps)
  const made = endpoints.get(plan?.id ?? '')
  if (made === null) throw unknownEndpoint()
  const secret = signingSecrets(made, secrets, clock.now())[0]
  const all = { ...headers, ETag: entityTag(made), Location: `${PATH}/${made.id}` }
  const health = await options.healthOf(made, clock.now() + HEALTH_BUDGET_MS)
  const view = endpointView(made, secrets, health)
  sendJson(response, 201, Buffer.from(JSON.stringify({ ...view, secret })), all)
}

/**
 * Whether the endpoint that an earlier request made, or began to make, exists. One that this node does not know may have
 * come to another node only just now.
 * @throws HttpProblem `idempotency_key_reused` where it was deleted since, `unavailable` while this node does not know it
 */
async function isThere(id: string, isDone: boolean, endpoints: Endpoints): Promise<boolean> {
  if (endpoints.get(id) !== null) return true
  const isAbsent = (await endpoints.absent([id])).length > 0
  if (!isAbsent) throw retryLater('unavailable', 'this node has not read the endpoint of this key yet')
  if (!isDone) return false
  throw new HttpProblem(KEY_REUSED, 'the endpoint of this Idempotency-Key was deleted; send another key')
}

async function show(call: Call, options: EndpointRoutesOptions): Promise<void> {
  call.query.check()
  const endpoint = endpointOf(call, options.endpoints)
  if (!isKnownToClient(call.request, endpoint)) return sendEndpoint(call, endpoint, options)
  call.response.writeHead(304, { ETag: entityTag(endpoint), 'Cache-Control': 'no-store' }).end()
}

async function list({ query, caller, response }: Call, options: EndpointRoutesOptions): Promise<void> {
  const { endpoints, secrets, healthOf, clock } = options
  const { after, limit } = readPageParameters(query, (text) => (isId('ep', text) ? text : null))
  query.check()
  checkLoaded(endpoints)
  const tenant = caller.seesAllTenants ? null : caller.tenant
  const found = endpoints.list({ tenant, after: after ?? '', limit: limit + 1 })
  const parts: string[] = []
  const untilMs = clock.now() + HEALTH_BUDGET_MS
  let bytes = 0
  for (const [at, endpoint] of found.slice(0, limit).entries()) {
    if (at % ENDPOINTS_A_TICK === ENDPOINTS_A_TICK - 1) await yieldToEventLoop()
    const part = JSON.stringify(endpointView(endpoint, secrets, await healthOf(endpoint, untilMs)))
    bytes += part.length
    if (parts.length > 0 && bytes > PAGE_BYTES) break
    parts.push(part)
  }
  const next = parts.length < found.length ? (found[parts.length - 1]?.id ?? null) : null
  sendJson(response, 200, Buffer.from(`{"data":[${parts.join(',')}],"next":${JSON.stringify(next)}}`))
}

/** `read` gives the change, after it is known that the caller has the endpoint. */
async function changeBy(
  call: Call,
  options: EndpointRoutesOptions,
  read: () => EndpointChange,
): Promise<void> {
  const { endpoints, secrets, hasten, untilStopped, logger } = options
  call.query.check()
  const found = endpointOf(call, endpoints)
  const { id, status: before } = found
  const change = read()
  const changed = await update(call, endpoints, found, (now) => withStoredHeaders(change, now, secrets))
  if (change.status === 'active') await hasten(id)
  else if (before === 'active' && changed.status !== 'active') await untilStopped(id)
  const { tenant, status } = changed
  logger.info('endpoint.changed', { endpointId: id, tenant, status, by: call.caller.tokenId })
  await sendEndpoint(call, changed, options)
}

async function rotate(call: Call, options: EndpointRoutesOptions): Promise<void> {
  const { endpoints, secrets, clock, logger } = options
  call.query.check()
  const { id, tenant } = endpointOf(call, endpoints)
  const secret = newSecret()
  const wrapped = secrets.wrap(secret, id)
  const changed = await update(call, endpoints, { id, tenant }, (now) => ({
    secrets: rotated(now.secrets, wrapped, clock.now()),
  }))
  logger.info('endpoint.rotated', { endpointId: id, tenant, by: call.caller.tokenId })
  await sendEndpoint(call, changed, options, { secret })
}

async function remove(call: Call, { endpoints, untilStopped, logger }: EndpointRoutesOptions): Promise<void> {
  const { query, caller, request, response } = call
  query.check()
  const { id, tenant, status } = endpointOf(call, endpoints)
  await call.change(caller, { target: id, tenant }, async (note) => {
    const check = (now: Endpoint): void => {
      checkIfMatch(request, now)
      note({ before: auditedEndpoint(now) })
    }
    if (!(await endpoints.delete(id, check))) throw unknownEndpoint()
  })
  if (status === 'active') await untilStopped(id)
  logger.info('endpoint.deleted', { endpointId: id, tenant, by: caller.tokenId })
  response.writeHead(204, { 'Cache-Control': 'no-store' }).end()
}

/** The endpoint after the change, where the request's precondition holds for it as it was. */
function update(
  call: Call,
  endpoints: Endpoints,
  { id, tenant }: Pick<Endpoint, 'id' | 'tenant'>,
  change: (now: Endpoint) => EndpointChange,
): Promise<Endpoint> {
  return call.change(call.caller, { target: id, tenant }, async (note) => {
    const changed = await endpoints.update(id, (now) => {
      checkIfMatch(call.request, now)
      note({ before: auditedEndpoint(now) })
      return change(now)
    })
    if (changed === 'unknown') throw unknownEndpoint()
    if (changed === 'tenant_full' || changed === 'full') throw noRoom(changed)
    note({ after: auditedEndpoint(changed) })
    return changed
  })
}

async function sendEndpoint(
  { response }: Call,
  endpoint: Endpoint,
  { secrets, healthOf, clock }: EndpointRoutesOptions,
  more: object = {},
): Promise<void> {
  const health = await healthOf(endpoint, clock.now() + HEALTH_BUDGET_MS)
  const view = endpointView(endpoint, secrets, health)
  const body = Buffer.from(JSON.stringify({ ...view, ...more }))
  sendJson(response, 200, body, { ETag: entityTag(endpoint) })
}

function noRoom(refusal: NoRoom): HttpProblem {
  const mebibytes = MAX_ENDPOINT_BYTES_PER_TENANT / 1024 ** 2
  const detail =
    refusal === 'full'
      ? 'this bridge has as many endpoints as it keeps'
      : `a tenant has at most ${MAX_ENDPOINTS_PER_TENANT} endpoints, of at most ${mebibytes} MiB together`
  return new HttpProblem('limit_reached', detail)
}
