/**
 * Answers of `/v1/webhooks` as JSON Schema. Owns the description of each member. Refuses the body of a request:
 * `endpoint-request.ts` has it.
 */

import { endpointStatuses } from '../../core/endpoint-status.ts'
import {
  figure,
  list,
  object,
  oneWord,
  orNull,
  ref,
  text,
  time,
  whole,
} from '../../http/schemas/json-schema.ts'
import { endpointOrders } from '../../registry/endpoint-rows.ts'

const facts = {
  id: text('Names the endpoint.', { pattern: '^ep_' }),
  tenant: text('Whose it is.'),
  url: text('Where webhooks are posted to.'),
  description: orNull(text('What it is for.')),
  status: oneWord(endpointStatuses, 'Only to an `active` one anything is sent.'),
  disabledReason: orNull(
    text(
      'Of a `disabled` one: `requested`, `gone` (it answered 410), `failing` (for five days); more may come.',
    ),
  ),
  filter: ref('Filter'),
  headers: {
    type: 'object' as const,
    description: 'Sent besides with every delivery.',
    additionalProperties: { type: 'string' as const },
  },
  maxConcurrency: whole('Most deliveries at a time.'),
  rateLimit: orNull(figure('Most deliveries a second; null: as many as it takes.')),
  order: oneWord(
    endpointOrders,
    'What is delivered one after the other: nothing, or the events of one issuer.',
  ),
  start: text('The cursor after which its deliveries began.'),
  createdAt: time('When it was made.'),
}

/** An endpoint. */
export const endpointSchema = object(facts)

/** An endpoint with a secret that was just made. */
export const endpointWithSecretSchema = object({
  ...facts,
  secret: text('Signs the webhooks of this endpoint. It is in this answer only.', { pattern: '^whsec_' }),
})

/** A page of the list. */
export const endpointPageSchema = object({
  data: list(endpointSchema),
  next: orNull(text('The next `after`; null at the end.')),
})

/** What one request for rewrapping did. */
export const rewrapSchema = object({
  rewrapped: whole('Endpoints that this request put under the present key.'),
  left: whole('Endpoints that still lie under the old one; ask again.'),
  unreadable: list(text('Id of an endpoint.'), {
    description: 'Endpoints whose secrets no key of this bridge opens, at most a hundred of them.',
  }),
})
