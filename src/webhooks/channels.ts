/**
 * Describes webhook deliveries as a channel for AsyncAPI: headers, bodies, and how the bridge reacts to
 * the receiver's response.
 */
import { z } from 'zod'
import { BATCH_CONTENT_TYPE, CONTENT_TYPE } from '../core/delivery-headers.ts'
import type { Channel, ChannelMessage } from '../http/channel.ts'
import { disclosureEventSchema, eventSchema, gapEventSchema } from '../http/schemas/event-schema.ts'
import { isoTime } from '../http/schemas/json-schema.ts'
import { DISABLED_TYPE, EXHAUSTED_TYPE, RECOVERED_TYPE, TEST_TYPE } from './send/system-event.ts'

const HTTP_BINDING = '0.3.0'

/** Names of the headers of every delivery are in lower case here; HTTP does not care. */
const headers = z.object({
  'content-type': z.literal(CONTENT_TYPE),
  'user-agent': z.string().describe("`disclosure-bridge/<version>`, or the endpoint's own."),
  'webhook-id': z.string().meta({
    description:
      'The same on every try and replay of an event, and on every try of a batch: what it names was received before.',
    pattern: '^msg_[0-9a-f]{32}$',
  }),
  'webhook-timestamp': z
    .string()
    .meta({ description: 'When this try was sent, seconds since 1970.', pattern: '^[0-9]+$' }),
  'webhook-signature': z.string().meta({
    description:
      'Standard Webhooks: `v1,` and the HMAC-SHA256 of id, timestamp and body in base64, one for each secret that signs.',
    pattern: '^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)*$',
  }),
  traceparent: z.string().meta({
    description: 'W3C Trace Context: one trace over all tries, a span for each.',
    pattern: '^00-[0-9a-f]{32}-[0-9a-f]{16}-01$',
  }),
})

const disabledSchema = systemEvent(
  DISABLED_TYPE,
  z.object({
    endpointId: z.string().describe('The endpoint that was disabled.'),
    description: z.string().describe('What it was for.').nullable(),
    reason: z.enum(['gone', 'failing']).describe('It answered 410, or it failed for five days.'),
    disabledAt: isoTime('When.'),
  }),
)
const exhaustedSchema = systemEvent(
  EXHAUSTED_TYPE,
  z.object({
    endpointId: z.string().describe('The endpoint whose deliveries were given up.'),
    description: z.string().describe('What it is for.').nullable(),
    count: z.int().describe('How many since the last such notification.'),
    firstAt: isoTime('When the first of them was given up.'),
    lastAt: isoTime('When the last of them was.'),
  }),
)
const recoveredSchema = systemEvent(
  RECOVERED_TYPE,
  z.object({
    endpointId: z.string().describe('The endpoint that accepts deliveries again.'),
    description: z.string().describe('What it is for.').nullable(),
    troubledSince: isoTime('Since when it had failed, or when it was disabled.'),
    recoveredAt: isoTime('When it accepted a delivery.'),
  }),
)
const testSchema = systemEvent(
  TEST_TYPE,
  z.object({
    message: z.string().describe('That it is a test.'),
    endpointId: z.string().describe('The endpoint that is tested.'),
  }),
)

const anySchema = [
  disclosureEventSchema,
  gapEventSchema,
  disabledSchema,
  exhaustedSchema,
  recoveredSchema,
  testSchema,
] as const
const batchHeaders = headers.extend({ 'content-type': z.literal(BATCH_CONTENT_TYPE) })

const messages: readonly ChannelMessage[] = [
  {
    name: 'batch',
    summary:
      'To an endpoint with `maxBatch` every request: events in the order of the log, or one event of the bridge.',
    contentType: BATCH_CONTENT_TYPE,
    headers: batchHeaders,
    payload: z.array(z.union(anySchema)).min(1),
  },
  delivery('disclosure', 'An announcement that the filter of the endpoint matches.', disclosureEventSchema),
  delivery('gap', 'A gap was opened, filled or given up; where `types` names `gap`.', gapEventSchema),
  delivery(
    'webhook.disabled',
    'Another endpoint of the tenant was disabled; where `types` names `webhook.disabled`.',
    disabledSchema,
  ),
  delivery(
    'webhook.exhausted',
    'Deliveries to another endpoint of the tenant were given up, at most once an hour; where `types` names `webhook.exhausted`.',
    exhaustedSchema,
  ),
  delivery(
    'webhook.recovered',
    'Another endpoint of the tenant accepts deliveries again, after it had failed for long or was disabled; where `types` names `webhook.recovered`.',
    recoveredSchema,
  ),
  delivery('webhook.test', 'A test that somebody asked for.', testSchema),
]

/** What endpoints receive. */
export const webhookChannels: readonly Channel[] = [
  {
    key: 'webhooks',
    server: 'receiver',
    address: null,
    title: 'Webhook deliveries',
    description:
      'Posted to the URL of each endpoint, with the headers of the endpoint beside these. Verify the signature before anything else; docs/use/webhooks-receivers.md has the code in five languages.',
    sends: {
      messages,
      description:
        'At least once. 2xx: delivered. 410: the endpoint is disabled. 429 and 503 with `Retry-After`: waited for, up to a day. Everything else, redirects too, is tried again, nine times in 39 hours.',
      bindings: { http: { method: 'POST', bindingVersion: HTTP_BINDING } },
    },
  },
]

function delivery(name: string, summary: string, payload: z.ZodType): ChannelMessage {
  return {
    name,
    summary,
    contentType: CONTENT_TYPE,
    headers,
    payload,
  }
}

/** An event that is in no log: the envelope without a place. */
function systemEvent(type: string, data: z.ZodType) {
  const { specversion, time, recordedtime, datacontenttype } = eventSchema.shape
  return z.object({
    specversion,
    id: z.string().describe('Its own.'),
    source: z.literal('/bridge'),
    type: z.literal(type),
    time,
    subject: z.string().describe('The endpoint.'),
    recordedtime,
    datacontenttype,
    data,
  })
}
