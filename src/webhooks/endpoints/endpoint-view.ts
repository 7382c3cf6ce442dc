/**
 * An endpoint as its owner sees it, and the tag of its state. Owns the shape of contract §6, and what `If-Match` means.
 * Refuses to show a secret: it is shown once, by the route that makes it.
 */
import type { IncomingMessage } from 'node:http'
import { isoMillis } from '../../core/dates.ts'
import { HttpProblem } from '../../http/problem.ts'
import type { Endpoint } from '../../registry/endpoints.ts'

/** The members in their order, for the docs. */
export const ENDPOINT_SHAPE =
  '`{id, tenant, url, description, status, disabledReason, filter, headers, maxConcurrency, rateLimit, order, start, createdAt}`'

/** The JSON form. */
export function endpointView(endpoint: Endpoint) {
  const { id, tenant, url, description, status, disabledReason, filter, headers } = endpoint
  const { maxConcurrency, rateLimit, order, start, createdAtMs } = endpoint
  return {
    id,
    tenant,
    url,
    description,
    status,
    disabledReason,
    filter,
    headers,
    maxConcurrency,
    rateLimit,
    order,
    start,
    createdAt: isoMillis(createdAtMs),
  }
}

/** The `ETag` of the endpoint as it is. */
export function entityTag({ version }: Endpoint): string {
  return `"${version}"`
}

/**
 * Judges the precondition of a request against the endpoint as it is now; a request without one has none.
 * @throws HttpProblem `precondition_failed`
 */
export function checkIfMatch(request: IncomingMessage, endpoint: Endpoint): void {
  const wanted = request.headers['if-match']
  if (wanted === undefined) return
  const tags = wanted.split(',').map((tag) => tag.trim())
  if (tags.includes('*') || tags.includes(entityTag(endpoint))) return
  throw new HttpProblem(
    'precondition_failed',
    'the endpoint is no longer as If-Match says; GET it and look at what has changed',
    { headers: { ETag: entityTag(endpoint) } },
  )
}
