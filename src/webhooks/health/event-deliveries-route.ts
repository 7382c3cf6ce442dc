/**
 * Serves `GET /v1/disclosures/{id}/deliveries`: what became of one event at each endpoint of the tenant, and why an endpoint
 * has not got it.
 */
import { z } from 'zod'
import { noEvent, type SequenceOfName } from '../../archive/named-event.ts'
import type { Reader } from '../../archive/reading/reader.ts'
import type { StoredEvent } from '../../archive/store/stored.ts'
import { isoOrNull } from '../../core/dates.ts'
import { endpointStatuses } from '../../core/endpoint-status.ts'
import { pageOf, pageParameters, readPageParameters } from '../../http/page.ts'
import { type Call, type Route, sendJson } from '../../http/route.ts'
import { type Clock, yieldToEventLoop } from '../../lifecycle/clock.ts'
import type { Endpoint, Endpoints } from '../../registry/endpoints.ts'
import { isId } from '../../registry/ids.ts'
import type { AttemptHistory } from '../attempts/attempt-history.ts'
import { deliveryStates, type KeptDelivery } from '../attempts/attempt-store.ts'
import { deliverySchema } from '../attempts/attempt-view.ts'
import { checkLoaded } from '../endpoints/endpoint-of.ts'
import type { PlaceOf } from './delivery-place.ts'
import { deliveryReasons, explainDelivery } from './delivery-reason.ts'

/** Endpoints of one event-loop tick: a filter with ten thousand identifiers takes 0.1 ms. */
const ENDPOINTS_A_TICK = 32

/** What the route works with. */
export interface EventDeliveriesOptions {
  endpoints: Endpoints
  history: Pick<AttemptHistory, 'deliveriesOf'>
  sequenceOf: SequenceOfName
  placeOf: PlaceOf
  reader: Reader
  clock: Clock
}

const { attempts, nextAttempt, lastStatus } = deliverySchema.shape

const whySchema = z
  .object({
    reason: z
      .enum(deliveryReasons)
      .describe(
        '`filter`, `type`, `before_start`, `other_epoch`: it is not for the endpoint. `paused`, `disabled`, `not_read`, `under_way`: it comes. `no_record`, `unknown`: this node cannot tell.',
      ),
    members: z
      .array(z.string())
      .describe(
        'Of `filter`: the members that leave the event out, e.g. `symbols`, `exclude`, `filters[0].q`; else empty.',
      ),
    detail: z.string().describe('The reason as a sentence.'),
  })
  .describe('Why the endpoint has not got the event, or not yet.')

const eventDeliverySchema = z.object({
  endpointId: z.string().meta({ description: 'Names the endpoint.', pattern: '^ep_' }),
  url: z.string().describe('Where its webhooks are posted to.'),
  description: z.string().describe('What it is for.').nullable(),
  status: z.enum(endpointStatuses).describe('Only to an `active` one anything is sent.'),
  matched: z.boolean().describe('Whether its filter, as it is now, lets the event through.'),
  state: z
    .enum(deliveryStates)
    .describe('It comes or waits for its next try, was taken, or was given up; null: none of these.')
    .nullable(),
  attempts,
  nextAttempt,
  lastStatus,
  why: whySchema.nullable(),
})

/** The route. On Kafka, attempts that other nodes made appear some seconds later. */
export function eventDeliveriesRoute(options: EventDeliveriesOptions): Route {
  return {
    method: 'GET',
    path: '/v1/disclosures/{id}/deliveries',
    scope: 'webhooks:read',
    requireTarget: ({ segment }) => void options.sequenceOf(segment('id')),
    summary:
      'What became of one event at each webhook endpoint of the tenant: `{data: [{endpointId, url, description, status, matched, state, attempts, nextAttempt, lastStatus, why}], next}`. `why` says why it has not got it. See [webhooks-replay.md](webhooks-replay.md#why-an-endpoint-did-not-get-an-event).',
    parameters: pageParameters('endpoints'),
    answers: { 200: { meaning: 'A page of endpoints.', schema: pageOf(eventDeliverySchema) } },
    problems: ['cursor_too_old', 'unavailable'],
    handle: (call) => listDeliveries(call, options),
  }
}

async function listDeliveries(call: Call, options: EventDeliveriesOptions): Promise<void> {
  const { query, caller, segment, gone, response } = call
  const { endpoints, history, sequenceOf, reader } = options
  const { after, limit } = readPageParameters(query, (text) => (isId('ep', text) ? text : null))
  query.check()
  checkLoaded(endpoints)
  const sequence = sequenceOf(segment('id'))
  const read = await reader.read({ after: sequence - 1, filter: null, limit: 1, signal: gone })
  if (gone.aborted) return
  const event = read.events[0]
  if (event?.sequence !== sequence) throw noEvent()
  const tenant = caller.seesAllTenants ? null : caller.tenant
  const found = endpoints.list({ tenant, after: after ?? '', limit: limit + 1 })
  const page = found.slice(0, limit)
  const kept = history.deliveriesOf(
    page.map(({ id }) => id),
    { epoch: reader.epoch ?? '', sequence },
  )
  const data: z.infer<typeof eventDeliverySchema>[] = []
  const { id: eventId } = z.object({ id: z.string() }).parse(JSON.parse(event.json.toString()))
  for (const [at, endpoint] of page.entries()) {
    if (at % ENDPOINTS_A_TICK === ENDPOINTS_A_TICK - 1) await yieldToEventLoop()
    const delivery = kept.get(endpoint.id)
    // In a log that a backup has replaced, the sequence was another event's.
    data.push(deliveryView(endpoint, event, delivery?.eventId === eventId ? delivery : undefined, options))
  }
  const next = found.length > limit ? (page.at(-1)?.id ?? null) : null
  sendJson(response, 200, Buffer.from(JSON.stringify({ data, next })))
}

function deliveryView(
  endpoint: Endpoint,
  event: StoredEvent,
  kept: KeptDelivery | undefined,
  { placeOf, reader, clock }: EventDeliveriesOptions,
): z.infer<typeof eventDeliverySchema> {
  const { id: endpointId, url, description, status } = endpoint
  const place = placeOf(endpoint, event)
  const { matched, state, why } = explainDelivery({
    endpoint,
    event,
    kept,
    place,
    reader,
    nowMs: clock.now(),
  })
  return {
    endpointId,
    url,
    description,
    status,
    matched,
    state,
    attempts: kept?.attempts ?? 0,
    nextAttempt: isoOrNull(kept?.nextMs ?? null),
    lastStatus: kept?.lastStatus ?? null,
    why,
  }
}
