/**
 * Serves `POST /v1/webhooks/{id}/test`: sends one test event to one endpoint and returns the outcome. The event is not
 * retried, and a 410 does not disable the endpoint.
 *
 * The node that receives the request sends the event itself, even if another process delivers the endpoint's other
 * events. Address rules, proxy and signature are those of every delivery.
 */
import { z } from 'zod'
import { attemptOutcomes, outcomeOf, shownOutcomeOf } from '../../core/attempt-end.ts'
import { didYouMean } from '../../core/near.ts'
import type { NoteChange } from '../../http/audit/changes.ts'
import { retryLater } from '../../http/problem.ts'
import { type Call, type Route, sendJson } from '../../http/route.ts'
import { createPlaces } from '../../lifecycle/places.ts'
import type { Logger } from '../../obs/logger.ts'
import type { Metrics } from '../../obs/metrics.ts'
import type { Endpoint, Endpoints } from '../../registry/endpoints.ts'
import { newId } from '../../registry/ids.ts'
import type { DeliveryEndpoint } from '../delivery-state/endpoint-state.ts'
import { endpointOf, ONE_ENDPOINT_PATH, unknownEndpoint } from '../endpoints/endpoint-of.ts'
import { attemptPhases } from './attempt-timer.ts'
import { type Attempted, type PostMeans, postEvent } from './delivery.ts'
import { type SampleKind, sampleEvent, sampleKinds } from './sample-event.ts'
import { systemDelivery, TEST_TYPE, testEvent } from './system-event.ts'

/** Maximum of concurrent tests on a node, and of one tenant; an endpoint has one at a time. */
const MOST_TESTS = 32
const MOST_TESTS_OF_TENANT = 8

/** What the route works with. */
export interface TestRouteOptions extends PostMeans {
  endpoints: Endpoints
  /** Prepares the endpoint with its secrets; null where none can be decrypted. */
  prepare: (endpoint: Endpoint) => DeliveryEndpoint | null
  /** Called for every test that was not aborted. */
  onTested: (attempted: Attempted) => void
  /** Has what waits of an endpoint made due. */
  hasten: (endpointId: string) => Promise<void>
  metrics: Pick<Metrics, 'webhookAttempts' | 'webhookAttemptDuration'>
  logger: Logger
}

const testSchema = z.object({
  webhookId: z.string().meta({ description: 'Of the test.', pattern: '^msg_' }),
  status: z.int().describe('Of the answer; null where there was none.').nullable(),
  outcome: z.enum(attemptOutcomes).describe('What it amounts to; `ok` for 2xx.'),
  durationMs: z.int().describe('How long it took.'),
  phase: z.enum(attemptPhases).describe('Where it was when it ended.'),
  response: z.string().describe("The first 1 KB of a failure's body.").nullable(),
})

/** The route. */
export function testRoute(options: TestRouteOptions): Route {
  const underWay = new Set<string>()
  const places = createPlaces(MOST_TESTS, MOST_TESTS_OF_TENANT)
  return {
    method: 'POST',
    audit: 'webhook.tested',
    path: `${ONE_ENDPOINT_PATH}/test`,
    scope: 'webhooks:write',
    requireTarget: (target) => void endpointOf(target, options.endpoints),
    summary: `Sends one event of type \`${TEST_TYPE}\`, whatever the status of the endpoint, once: 200 with what came of it, also where that is a failure. After a success, deliveries that wait for a retry are due at once. One test of an endpoint at a time, else 429.`,
    parameters: {
      type: `In place of \`${TEST_TYPE}\` a synthetic event of this kind, in the shape of a real one, with an \`id\` that begins with \`test_\` (of a gap: \`gap:test_\`), and \`sequence\` and \`epoch\` zero: ${sampleKinds.map((kind) => `\`${kind}\``).join(', ')}.`,
    },
    answers: { 200: { meaning: 'What came of it.', schema: testSchema } },
    problems: ['too_many', 'unavailable'],
    async handle(call) {
      const kind = kindOf(call)
      call.query.check()
      const endpoint = endpointOf(call, options.endpoints)
      const { id, tenant } = endpoint
      if (underWay.has(id)) throw retryLater('too_many', 'a test of this endpoint is under way')
      const free = places.take(tenant)
      if (free === 'share_full')
        throw retryLater('too_many', `this tenant has ${MOST_TESTS_OF_TENANT} tests under way on this node`)
      if (free === 'full') throw retryLater('too_many', 'this node has as many tests under way as it makes')
      underWay.add(id)
      try {
        await call.change(call.caller, { target: id, tenant }, (note) =>
          sendTest(call, endpoint, { kind, note }, options),
        )
      } finally {
        underWay.delete(id)
        free()
      }
    },
  }
}

/** The kind of synthetic event that is wanted, null for the test event. Notes what is wrong with the parameter. */
function kindOf({ query }: Call): SampleKind | null {
  const text = query.text('type')
  const kind = sampleKinds.find((one) => one === text) ?? null
  if (text !== null && kind === null)
    query.refuse('type', `must be one of ${sampleKinds.join(', ')}${didYouMean(text, sampleKinds)}`)
  return kind
}

async function sendTest(
  call: Call,
  found: Endpoint,
  { kind, note }: { kind: SampleKind | null; note: NoteChange },
  options: TestRouteOptions,
): Promise<void> {
  const { endpoints, prepare, onTested, clock, metrics, logger } = options
  const endpoint = prepare(found)
  if (endpoint === null) {
    throw retryLater('unavailable', 'no key of this bridge decrypts the secret of this endpoint; rotate it')
  }
  const [id, nowMs] = [newId('test', clock.now()), clock.now()]
  const event = kind === null ? testEvent(id, found.id, nowMs) : sampleEvent(kind, id, nowMs)
  const body = Buffer.from(event.json)
  const limits = { signal: call.gone, mayLeave: () => endpoints.get(found.id) !== null }
  const { report, webhookId } = await postEvent(endpoint, { eventId: event.id, body }, options, limits)
  const { end, durationMs, phase, response, detail } = report
  if (call.gone.aborted) return
  if (end.kind === 'aborted') throw unknownEndpoint()
  if (end.kind === 'no_socket')
    throw retryLater('unavailable', 'this node can open no connection at the moment')
  const outcome = outcomeOf(end)
  const status = end.kind === 'answered' ? end.status : null
  const verdict = { next: outcome === 'ok' ? 'delivered' : 'dead' } as const
  const delivery = systemDelivery(event)
  onTested({ endpoint, delivery, attempt: 1, sort: 'first', webhookId, end, report, verdict })
  note({ after: { webhookId, type: kind ?? TEST_TYPE, outcome, status } })
  metrics.webhookAttempts.add({ outcome })
  metrics.webhookAttemptDuration.observe(durationMs / 1000, null)
  logger.info('webhook.tested', {
    endpointId: found.id,
    tenant: found.tenant,
    webhookId,
    outcome,
    status,
    durationMs,
    phase,
    reason: detail,
    by: call.caller.tokenId,
  })
  // The receiver is well: what waits for a retry need not wait longer.
  if (outcome === 'ok') await options.hasten(found.id)
  const answer = {
    webhookId,
    status,
    outcome: shownOutcomeOf(end),
    durationMs,
    phase,
    response: outcome === 'ok' ? null : response,
  }
  sendJson(call.response, 200, Buffer.from(JSON.stringify(answer)))
}
