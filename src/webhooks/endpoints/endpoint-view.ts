/**
 * Defines and builds the JSON form of an endpoint that the API returns, and compares `If-Match` and
 * `If-None-Match` with the endpoint's state.
 */
import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { isoMillis } from '../../core/dates.ts'
import { endpointStatuses } from '../../core/endpoint-status.ts'
import { HttpProblem } from '../../http/problem.ts'
import { filterSchema } from '../../http/schemas/filter-schema.ts'
import { isoTime } from '../../http/schemas/json-schema.ts'
import { endpointOrders } from '../../registry/endpoint-rows.ts'
import type { Endpoint } from '../../registry/endpoints.ts'
import { type EndpointHealth, healthSchema } from './endpoint-health.ts'
import type { SecretBox } from './secrets.ts'
import { readableHeaders } from './stored-headers.ts'

/** An endpoint. */
export const endpointSchema = z.object({
  id: z.string().meta({ description: 'Names the endpoint.', pattern: '^ep_' }),
  tenant: z.string().describe('Whose it is.'),
  url: z.string().describe('Where webhooks are posted to.'),
  description: z.string().describe('What it is for.').nullable(),
  status: z.enum(endpointStatuses).describe('Only to an `active` one anything is sent.'),
  disabledReason: z
    .string()
    .describe(
      'Of a `disabled` one: `requested`, `gone` (it answered 410), `failing` (for five days); more may come.',
    )
    .nullable(),
  filter: filterSchema,
  headers: z
    .record(z.string(), z.string())
    .describe('Sent besides with every delivery; null: no key of this bridge opens them.')
    .nullable(),
  maxConcurrency: z.int().describe('Most deliveries at a time.'),
  rateLimit: z.number().describe('Most deliveries a second; null: as many as it takes.').nullable(),
  order: z
    .enum(endpointOrders)
    .describe('What is delivered one after the other: nothing, or the events of one issuer.'),
  maxBatch: z
    .int()
    .describe('Most events of one request, which is a JSON array then; null: one event each.')
    .nullable(),
  start: z.string().describe('The cursor after which its deliveries began.'),
  createdAt: isoTime('When it was made.'),
  health: healthSchema,
})

/** An endpoint with a secret that was just made. */
export const endpointWithSecretSchema = endpointSchema.extend({
  secret: z.string().meta({
    description: 'Signs the webhooks of this endpoint. It is in this answer only.',
    pattern: '^whsec_',
  }),
})

const members = endpointSchema.keyof().options

/** The members in their order, for the docs. */
export const ENDPOINT_SHAPE = `\`{${members.join(', ')}}\``

/** The endpoint as JSON: the members of the schema alone, so that a secret cannot leave with them. */
export function endpointView(
  endpoint: Endpoint,
  secrets: SecretBox,
  health: EndpointHealth,
): Record<string, unknown> {
  const headers = readableHeaders(endpoint, secrets)
  const { maxBatch = null, createdAtMs } = endpoint
  const known = { ...endpoint, headers, maxBatch, createdAt: isoMillis(createdAtMs), health }
  return Object.fromEntries(members.map((name) => [name, known[name]]))
}

/** The `ETag` of the endpoint as it is; its health is no part of it. */
export function entityTag({ version }: Endpoint): string {
  return `"${version}"`
}

/**
 * Judges the precondition of a request against the endpoint as it is now; a request without one has none.
 * @throws HttpProblem `precondition_failed`
 */
export function checkIfMatch(request: IncomingMessage, endpoint: Endpoint): void {
  const wanted = request.headers['if-match']
  if (wanted === undefined || names(wanted, entityTag(endpoint))) return
  throw new HttpProblem(
    'precondition_failed',
    'the endpoint has changed since the ETag in If-Match; GET it again before you change it',
    { headers: { ETag: entityTag(endpoint) } },
  )
}

/** Whether `If-None-Match` names the endpoint as it is: the client has it already. */
export function isKnownToClient(request: IncomingMessage, endpoint: Endpoint): boolean {
  const known = request.headers['if-none-match']
  return known !== undefined && names(known, entityTag(endpoint))
}

/** A proxy that compresses makes tags weak; the endpoint that they name is the same one. */
function names(header: string, tag: string): boolean {
  const tags = header
    .replaceAll('W/"', '"')
    .split(',')
    .map((one) => one.trim())
  return tags.includes('*') || tags.includes(tag)
}
