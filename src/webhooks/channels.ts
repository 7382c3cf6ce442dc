/**
 * Deliveries of webhooks as a channel (contract §7): headers, bodies, what an answer does. Owns their description. Refuses
 * to send them.
 */
import type { Channel, ChannelMessage } from '../http/channel.ts'
import { disclosureEventSchema, eventSchema, gapEventSchema } from '../http/schemas/event-schema.ts'
import { type JsonSchema, object, oneWord, orNull, text, time } from '../http/schemas/json-schema.ts'
import { CONTENT_TYPE } from './send/delivery-headers.ts'
import { DISABLED_TYPE, TEST_TYPE } from './send/system-event.ts'

const HTTP_BINDING = '0.3.0'

/** Names of the headers of every delivery are in lower case here; HTTP does not care. */
const headers = object({
  'content-type': { type: 'string', const: CONTENT_TYPE },
  'user-agent': text("`disclosure-bridge/<version>`, or the endpoint's own."),
  'webhook-id': text('The same on every try and replay: what it names was received before.', {
    pattern: '^msg_[0-9a-f]{32}$',
  }),
  'webhook-timestamp': text('When this try was sent, seconds since 1970.', { pattern: '^[0-9]+$' }),
  'webhook-signature': text(
    'Standard Webhooks: `v1,` and the HMAC-SHA256 of id, timestamp and body in base64, one for each secret that signs.',
    { pattern: '^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)*$' },
  ),
  traceparent: text('W3C Trace Context: one trace over all tries, a span for each.', {
    pattern: '^00-[0-9a-f]{32}-[0-9a-f]{16}-01$',
  }),
})

const messages: readonly ChannelMessage[] = [
  delivery('disclosure', 'An announcement that the filter of the endpoint matches.', disclosureEventSchema),
  delivery('gap', 'A gap was opened, filled or given up; where `types` names `gap`.', gapEventSchema),
  delivery(
    'webhook.disabled',
    'Another endpoint of the tenant was disabled; where `types` names `webhook.disabled`.',
    ownEvent(
      DISABLED_TYPE,
      object({
        endpointId: text('The endpoint that was disabled.'),
        description: orNull(text('What it was for.')),
        reason: oneWord(['gone', 'failing'], 'It answered 410, or it failed for five days.'),
        disabledAt: time('When.'),
      }),
    ),
  ),
  delivery(
    'webhook.test',
    'A test that somebody asked for.',
    ownEvent(
      TEST_TYPE,
      object({ message: text('That it is a test.'), endpointId: text('The endpoint that is tested.') }),
    ),
  ),
]

/** What endpoints receive. */
export const webhookChannels: readonly Channel[] = [
  {
    key: 'webhooks',
    server: 'receiver',
    address: null,
    title: 'Webhook deliveries',
    description:
      'Posted to the URL of each endpoint, with the headers of the endpoint beside these. Verify the signature before anything else; docs/webhooks-receivers.md has the code in five languages.',
    sends: {
      messages,
      description:
        'At least once. 2xx: delivered. 410: the endpoint is disabled. 429 and 503 with `Retry-After`: waited for, up to a day. Everything else, redirects too, is tried again, nine times in 39 hours.',
      bindings: { http: { method: 'POST', bindingVersion: HTTP_BINDING } },
    },
  },
]

function delivery(name: string, summary: string, payload: JsonSchema): ChannelMessage {
  return {
    name,
    summary,
    contentType: CONTENT_TYPE,
    headers,
    payload,
  }
}

/** An event of no log: the envelope without a place. */
function ownEvent(type: string, data: JsonSchema): JsonSchema {
  const {
    specversion = {},
    time: at = {},
    recordedtime = {},
    datacontenttype = {},
  } = eventSchema.properties ?? {}
  return object({
    specversion,
    id: text('Its own.'),
    source: { type: 'string', const: '/bridge' },
    type: { type: 'string', const: type },
    time: at,
    subject: text('The endpoint.'),
    recordedtime,
    datacontenttype,
    data,
  })
}
